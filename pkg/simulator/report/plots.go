package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/plot"
	"github.com/narwhal-scheduler/narwhal/pkg/simulator"
)

// coloursMax is how many queues have a colour of their own; the rest is drawn
// together. marksMax is how many incidents are drawn.
const coloursMax, marksMax = 8, 60

// plots are the charts of a result: utilisation, pending pods, how queues stand with their
// guarantees, and what they have of each resource.
func plots(r *simulator.Result) []chart {
	base := chart{step: r.Series.Step.Duration(), end: r.Time.Duration(), marks: marks(r)}
	charts := []chart{utilisation(base, r), pending(base, r)}
	if r.Series.Preemption != nil {
		charts = append(charts, victims(base, r), underWay(base, r))
	}
	var shared []chart
	for _, i := range r.Important() {
		if i >= len(r.Series.Resources) || slices.Max(append(slices.Clone(r.Series.Resources[i].Used), 0)) == 0 {
			continue
		}
		if c := guarantees(base, r, i); len(c.Lines) > 0 {
			charts = append(charts, c)
		}
		shared = append(shared, shares(base, r, i))
	}
	return append(charts, shared...)
}

func marks(r *simulator.Result) []plot.Mark {
	var all []plot.Mark
	for i, h := range r.Incidents {
		if i == marksMax {
			break
		}
		verbs := map[string]string{"fail": "failed", "return": "back", "drain": "drained", "undrain": "undrained", "refuse": "refused"}
		text := fmt.Sprintf("%d %s", len(h.Nodes), verbs[h.What])
		switch {
		case h.Queue != "":
			text = "limits of " + shortName(h.Queue)
		case len(h.Nodes) == 0:
			text = strings.TrimSpace(h.What + " " + h.Detail)
		}
		all = append(all, plot.Mark{At: float64(h.At.Duration()), Text: text})
	}
	return all
}

func utilisation(c chart, r *simulator.Result) chart {
	c.Title = "Utilisation"
	c.Note = "What queues use of the capacity that is there, the mean of each " + stepText(r) + "."
	c.unit, c.sign = "% of capacity", "%"
	for n, i := range r.Important() {
		if i >= len(r.Series.Resources) {
			continue
		}
		if s := r.Series.Resources[i]; slices.Max(append(slices.Clone(s.Used), 0)) > 0 {
			c.Lines = append(c.Lines, line{Name: s.Kind, Class: colour(n), values: percent(s.Used, s.Capacity)})
		}
	}
	return c.upTo100()
}

// nearlyFull is from how many percent on an axis goes up to 100.
const nearlyFull = 50

// upTo100 lets the axis go up to 100 percent if that is not far from what happened; and if
// it is, the note says that the axis is shorter.
func (c chart) upTo100() chart {
	if most := c.highest(); most < nearlyFull && !c.Empty() {
		c.Note += " The axis is scaled to what happened: mind its numbers."
	} else {
		c.top = 100
	}
	return c
}

func stepText(r *simulator.Result) string {
	return simulator.Clock(r.Series.Step.Duration())
}

func pending(c chart, r *simulator.Result) chart {
	c.Title = "Pending pods"
	c.Note = "Pods that wait for a place, the most in each " + stepText(r) + "."
	c.unit, c.whole = "pods", true
	c.Lines = append(c.Lines, line{Name: "all queues", Class: "other", area: true, values: counts(r.Series.Pending)})
	for i, q := range ranked(r, func(q simulator.QueueSeries) []int64 { return q.Pending }) {
		if i < coloursMax && slices.Max(append(slices.Clone(q.Pending), 0)) > 0 {
			c.Lines = append(c.Lines, line{Name: shortName(q.Path), Class: colour(i), values: counts(q.Pending)})
		}
	}
	if len(c.Lines) == 2 {
		c.Lines = c.Lines[:1] // one queue is all there is to see
	}
	return c
}

// victims are the evicted pods, by trigger.
func victims(c chart, r *simulator.Result) chart {
	c.Title = "Victims"
	c.Note = "Pods evicted up to then, by trigger, on top of each other."
	if one := r.Series.Preemption.ByTrigger; len(one) == 1 {
		c.Note = "Pods evicted up to then, by " + one[0].Trigger + "."
	}
	c.unit, c.whole, c.stack = "pods", true, true
	for _, s := range r.Series.Preemption.ByTrigger {
		c.Lines = append(c.Lines, line{Name: "by " + s.Trigger, Class: triggerColours[s.Trigger], values: counts(s.Victims)})
	}
	return c
}

// triggerColours are the same whichever triggers there are.
var triggerColours = map[string]string{
	preemptor.RequiredNode.String(): colour(0), preemptor.Priority.String(): colour(1),
	preemptor.Guarantee.String(): colour(2), preemptor.Quota.String(): colour(3),
}

// underWay is the room that is being made.
func underWay(c chart, r *simulator.Result) chart {
	s := r.Series.Preemption
	c.Title = "Room being made"
	c.Note = "Evicted pods that have not ended, and pods that wait for the room, the most in each " + stepText(r) + "."
	c.unit, c.whole = "pods", true
	for _, l := range []line{
		{Name: "evicted and not ended", Class: colour(7), area: true, values: counts(s.Releasing)},
		{Name: "nominated to a node", Class: colour(4), values: counts(s.Nominated)},
		{Name: "pods of daemonsets that wait", Class: colour(0), values: counts(s.Daemons)},
	} {
		if slices.Max(append(l.values, 0)) > 0 {
			c.Lines = append(c.Lines, l)
		}
	}
	return c
}

// guarantees is what queues use of what they are guaranteed of one kind, at any level.
func guarantees(c chart, r *simulator.Result, kind int) chart {
	s := r.Series.Resources[kind]
	unit := simulator.UnitOf(s.Kind, max(r.Resources[kind].Capacity, r.Resources[kind].Peak))
	c.Title = "Guarantees of " + s.Kind
	c.Note = "What each queue uses of its guarantee, with all queues below it, the mean of each " + stepText(r) +
		". Above the dashed line it has more than that."
	c.unit, c.sign, c.level, c.top = "% of the guarantee", "%", 100, 120
	queues := slices.DeleteFunc(slices.Clone(r.Queues), func(q simulator.QueueUse) bool { return q.Guaranteed[s.Kind] <= 0 })
	lines := make([]line, len(queues))
	for i, q := range queues {
		used := below(r, q.Path, s.Kind)
		whole := make([]int64, len(used))
		for n := range whole {
			whole[n] = q.Guaranteed[s.Kind]
		}
		name := fmt.Sprintf("%s, guaranteed %s %s", shortName(q.Path), unit.Format(q.Guaranteed[s.Kind]), unit.Name)
		lines[i] = line{Name: name, values: percent(used, whole)}
	}
	slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(total(b.values), total(a.values)) })
	if left := len(lines) - coloursMax; left > 0 {
		c.Note += fmt.Sprintf(" Shown are the %d queues that used most of theirs; %d more are in the table of queues.", coloursMax, left)
	}
	for i, l := range lines[:min(len(lines), coloursMax)] {
		l.Class = colour(i)
		c.Lines = append(c.Lines, l)
	}
	return c
}

// below is what a queue and those below it use over time.
func below(r *simulator.Result, path, kind string) []int64 {
	used := make([]int64, len(r.Series.Running))
	for _, q := range r.Series.Queues {
		if q.Path == path || strings.HasPrefix(q.Path, path+".") {
			used = sum(used, q.Used[kind])
		}
	}
	return used
}

// capacityShown is from how many percent of the capacity on its line is drawn too.
const capacityShown = 40

// shares is what the queues have of one kind, foreign pods at the bottom.
func shares(c chart, r *simulator.Result, kind int) chart {
	s, of := r.Series.Resources[kind], r.Resources[kind]
	unit := simulator.UnitOf(s.Kind, max(of.Capacity, of.Peak))
	c.Title = "Queues: " + s.Kind
	c.Note = "What each queue uses, on top of each other, the mean of each " + stepText(r) + "."
	c.unit, c.stack, c.whole = unit.Name, true, unit.Value(1) == 1
	scaled := func(values []int64) []float64 {
		out := make([]float64, len(values))
		for i, v := range values {
			out[i] = unit.Value(v)
		}
		return out
	}
	if slices.Max(append(slices.Clone(s.Foreign), 0)) > 0 {
		c.Lines = append(c.Lines, line{Name: "foreign pods", Class: "foreign", values: scaled(s.Foreign)})
	}
	var rest []int64
	for i, q := range ranked(r, func(q simulator.QueueSeries) []int64 { return q.Used[s.Kind] }) {
		used := q.Used[s.Kind]
		if i >= coloursMax {
			rest = sum(rest, used)
			continue
		}
		if slices.Max(append(slices.Clone(used), 0)) > 0 {
			c.Lines = append(c.Lines, line{Name: shortName(q.Path), Class: colour(i), values: scaled(used)})
		}
	}
	if rest != nil && slices.Max(rest) > 0 {
		c.Lines = append(c.Lines, line{Name: "other queues", Class: "other", values: scaled(rest)})
	}
	if c.highest() >= unit.Value(of.Capacity)*capacityShown/100 {
		c.over = []line{{Name: "capacity", Class: "capacity", values: scaled(s.Capacity)}}
	} else {
		c.Note += fmt.Sprintf(" The capacity is %s %s, far above.", unit.Format(of.Capacity), unit.Name)
	}
	return c
}

// ranked lists the leaf queues. If there are more than colours, those come first of which a
// chart shows the most; otherwise they stay as configured.
func ranked(r *simulator.Result, shown func(simulator.QueueSeries) []int64) []simulator.QueueSeries {
	queues := slices.Clone(r.Series.Queues)
	if len(queues) > coloursMax {
		slices.SortStableFunc(queues, func(a, b simulator.QueueSeries) int {
			return cmp.Compare(total(shown(b)), total(shown(a)))
		})
	}
	return queues
}

// total is the sum of values.
func total[T int64 | float64](values []T) (sum T) {
	for _, v := range values {
		sum += v
	}
	return sum
}

func shortName(path string) string { return strings.TrimPrefix(path, "root.") }

func colour(i int) string { return fmt.Sprintf("c%d", i%coloursMax) }

func sum(a, b []int64) []int64 {
	if len(a) < len(b) {
		a = append(slices.Clip(a), make([]int64, len(b)-len(a))...)
	}
	for i, v := range b {
		a[i] += v
	}
	return a
}

func counts(values []int64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = float64(v)
	}
	return out
}

// percent is a part of a whole, step by step; of nothing it is nothing.
func percent(part, whole []int64) []float64 {
	out := make([]float64, len(part))
	for i, v := range part {
		if i < len(whole) && whole[i] > 0 {
			out[i] = 100 * float64(v) / float64(whole[i])
		}
	}
	return out
}

// tileKinds is how many kinds have a tile.
const tileKinds = 3

// tiles are the few numbers that stand on top.
func tiles(r *simulator.Result) []tile {
	all := []tile{
		{simulator.Thousands(int64(r.Pods.Placed)), "pods placed"},
		{simulator.Thousands(int64(r.Pods.Pending)), "pending at the end"},
	}
	if w := r.Waiting; w != nil {
		all = append(all,
			tile{simulator.Clock(w.P50.Duration()), "50% waited at most"},
			tile{simulator.Clock(w.P99.Duration()), "99% waited at most"})
	}
	for n, i := range r.Important() {
		if n == tileKinds {
			break
		}
		u := r.Resources[i]
		all = append(all, tile{simulator.Percent(u.MeanPerMille), u.Kind + " used on average"})
	}
	if p := r.Preemption; p != nil && p.Victims > 0 {
		all = append(all, tile{simulator.Thousands(int64(p.Victims)), "pods evicted to make room"})
	}
	if n := r.Pods.Evicted - r.Pods.Preempted + r.Pods.Lost; n > 0 {
		all = append(all, tile{simulator.Thousands(int64(n)), "pods drained or lost"})
	}
	return all
}
