package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/plot"
	"github.com/narwhal-scheduler/narwhal/pkg/simulator"
)

// devices is a result with one kind, in two steps of ten seconds: root.a has two leaves, root.ab
// is a queue whose name only begins alike.
func devices() *simulator.Result {
	const kind = "devices"
	of := func(used ...int64) map[string][]int64 { return map[string][]int64{kind: used} }
	r := &simulator.Result{Time: 20_000, Resources: []simulator.ResourceUse{{Kind: kind, Capacity: 100, Peak: 44}}}
	r.Queues = []simulator.QueueUse{
		{Path: "root.a", Guaranteed: map[string]int64{kind: 10}}, {Path: "root.ab", Guaranteed: map[string]int64{kind: 40}},
	}
	r.Series = simulator.Series{
		Step: 10_000, Running: []int64{1, 1},
		Resources: []simulator.ResourceSeries{{Kind: kind, Capacity: []int64{100, 100}, Used: []int64{26, 44}, Foreign: []int64{0, 0}}},
		Queues: []simulator.QueueSeries{
			{Path: "root.a.x", Used: of(4, 10)}, {Path: "root.a.y", Used: of(2, 14)}, {Path: "root.ab", Used: of(20, 20)},
		},
	}
	return r
}

// TestGuaranteesOverTime: the queue that used most of its guarantee comes first, a queue has what is used below it and
// nothing of its neighbours, and the dashed line is at all of the guarantee.
func TestGuaranteesOverTime(t *testing.T) {
	c := guarantees(chart{}, devices(), 0)
	assert.Equal(t, c.level, 100.0)
	assert.Equal(t, len(c.Lines), 2)
	assert.Equal(t, c.Lines[0].Name, "a, guaranteed 10 units")
	assert.DeepEqual(t, c.Lines[0].values, []float64{60, 240})
	assert.Equal(t, c.Lines[1].Name, "ab, guaranteed 40 units")
	assert.DeepEqual(t, c.Lines[1].values, []float64{50, 50})

	r := devices()
	for i := range 20 {
		r.Queues = append(r.Queues, simulator.QueueUse{Path: fmt.Sprint("root.q", i), Guaranteed: map[string]int64{"devices": 100}})
	}
	c = guarantees(chart{}, r, 0)
	assert.Equal(t, len(c.Lines), coloursMax)
	assert.Equal(t, c.Lines[1].Name, "ab, guaranteed 40 units")
	assert.Assert(t, strings.HasSuffix(c.Note, "Shown are the 8 queues that used most of theirs; 14 more are in the table of queues."), c.Note)
}

// TestChartsShowTheirOwn: of many queues each chart shows those that it is about: the one of pending
// pods the queue of which most wait, although it uses least.
func TestChartsShowTheirOwn(t *testing.T) {
	r := devices()
	r.Series.Pending = []int64{50, 50}
	r.Series.Queues = nil
	for i := range int64(20) {
		r.Series.Queues = append(r.Series.Queues, simulator.QueueSeries{Path: fmt.Sprint("root.q", i), Used: map[string][]int64{"devices": {i, i}}, Pending: []int64{20 - i, 20 - i}})
	}
	c := pending(chart{}, r)
	assert.Equal(t, len(c.Lines), 1+coloursMax)
	assert.Equal(t, c.Lines[1].Name, "q0")
	c = shares(chart{}, r, 0)
	assert.Equal(t, c.Lines[0].Name, "q19")
	assert.Equal(t, c.Lines[coloursMax].Name, "other queues")
}

// TestCapacityLine: the capacity is a line where use comes near it, and words where it is far above.
func TestCapacityLine(t *testing.T) {
	c := shares(chart{}, devices(), 0)
	assert.Equal(t, c.highest(), 100.0)
	assert.DeepEqual(t, c.over[0].values, []float64{100, 100})
	assert.Assert(t, c.stack && !strings.Contains(c.Note, "far above"))

	r := devices()
	r.Resources[0].Capacity, r.Series.Resources[0].Capacity = 1000, []int64{1000, 1000}
	c = shares(chart{}, r, 0)
	assert.Equal(t, len(c.over), 0)
	assert.Equal(t, c.highest(), 44.0) // of the leaves on top of each other
	assert.Assert(t, strings.HasSuffix(c.Note, "The capacity is 1,000 units, far above."), c.Note)
}

// TestVictimsAreStacked: victims of all triggers are on top of each other, each in its own colour.
func TestVictimsAreStacked(t *testing.T) {
	r := devices()
	r.Series.Preemption = &simulator.PreemptionSeries{ByTrigger: []simulator.TriggerSeries{
		{Trigger: preemptor.Priority.String(), Victims: []int64{1, 5}}, {Trigger: preemptor.Quota.String(), Victims: []int64{0, 7}},
	}}
	c := victims(chart{}, r)
	assert.Equal(t, c.highest(), 12.0)
	assert.Assert(t, c.Lines[0].Class != c.Lines[1].Class)
	assert.Assert(t, strings.Contains(c.Note, "on top of each other"))
}

// TestTiles: pods that were evicted to make room do not count as drained or lost.
func TestTiles(t *testing.T) {
	r := devices()
	r.Pods.Evicted, r.Pods.Preempted, r.Pods.Lost = 9, 7, 1
	assert.Assert(t, slices.Contains(tiles(r), tile{"3", "pods drained or lost"}))
	r.Pods.Evicted, r.Pods.Lost = 7, 0
	assert.Assert(t, !slices.ContainsFunc(tiles(r), func(one tile) bool { return strings.HasSuffix(one.Text, "lost") }))
}

// TestMarksAreFew: of many incidents the first ones are drawn.
func TestMarksAreFew(t *testing.T) {
	r := devices()
	for i := range 10 * marksMax {
		r.Incidents = append(r.Incidents, simulator.IncidentRecord{At: simulator.Seconds(i), What: "drain", Nodes: []string{"a", "b"}})
	}
	all := marks(r)
	assert.Equal(t, len(all), marksMax)
	assert.DeepEqual(t, all[1], plot.Mark{At: float64(time.Millisecond), Text: "2 drained"})
}

// TestPoints: a value is that of a whole step, so its point is in the middle of the step; the line
// goes from the beginning to the end.
func TestPoints(t *testing.T) {
	c := chart{step: 10 * time.Second, end: 20 * time.Second}
	l := line{values: []float64{3, 5}}
	c.Lines = []line{l}
	at := func(d time.Duration, y float64) plot.Point { return plot.Point{X: float64(d), Y: y} }
	assert.DeepEqual(t, c.points(l), []plot.Point{at(0, 3), at(5*time.Second, 3), at(15*time.Second, 5), at(20*time.Second, 5)})
}

// TestTimeStep: the axis of time has round steps, and no more of them than asked for.
func TestTimeStep(t *testing.T) {
	for end, want := range map[time.Duration]time.Duration{
		0: time.Second, 6 * time.Second: time.Second, 7 * time.Second: 2 * time.Second, 4 * time.Hour: time.Hour, 7 * day: 2 * day, 9000 * day: 1440 * day,
	} {
		assert.Equal(t, timeStep(end, 6), want, "%v", end)
	}
}
