package archive

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// queuesOf are the queues of a random world.
var queuesOf = []api.QueuePath{"root", "root.a", "root.b"}

// TestHistoryAgainstTwin compares points with what a second version counts from the views
// and events of a whole random history.
func TestHistoryAgainstTwin(t *testing.T) {
	if testing.Short() {
		t.Skip("large, and played without the race detector")
	}
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := newWorld(t, seed, Config{History: time.Hour})
			if seed%2 == 1 {
				w.book.history.values = 20_000 // so that queues have fewer points
			}
			var known [3][]Point
			sampled := map[time.Time]int{} // of points, how many moments were before
			for range 60 {
				w.live(8)
				w.now = w.now.Add(time.Duration(w.IntN(9)) * time.Second)
				before := len(w.book.history.cluster.all())
				w.book.Sample(w.now, w.moments[len(w.moments)-1].view)
				if len(w.book.history.cluster.all()) > before {
					sampled[w.now] = len(w.moments)
				}
				for i, queue := range queuesOf {
					known[i] = w.book.History(queue, time.Time{})
				}
			}
			assert.Assert(t, len(known[0]) > 10)
			if seed%2 == 1 {
				assert.Assert(t, len(known[1]) < len(known[0]))
			}
			for i, queue := range queuesOf {
				assert.DeepEqual(t, known[i], naivePoints(w.moments, queue, known[i], sampled))
			}
		})
	}
}

// naivePoints works out points from the beginning. It is told only when they are.
func naivePoints(moments []moment, queue api.QueuePath, at []Point, sampled map[time.Time]int) (out []Point) {
	first := moments[:sampled[at[0].At]]
	for i := range at {
		until := moments[:sampled[at[i].At]]
		p := naivePoint(until[len(until)-1].view, queue)
		p.At = at[i].At
		if i > 0 { // before the first nothing is counted
			for _, m := range until[len(first):] {
				naiveFlow(&p, m, queue)
			}
		}
		first, out = until, append(out, p)
	}
	return out
}

func naivePoint(view *api.View, queue api.QueuePath) Point {
	q := view.Root
	for _, child := range view.Root.Queues {
		if child.Path == queue {
			q = child
		}
	}
	p := Point{Used: q.Used, Guaranteed: q.Guaranteed}
	if queue == "root" {
		p.Capacity, p.Occupied = view.Capacity, view.Occupied
	} else {
		p.Used, p.Guaranteed = withoutZeros(q.Used), withoutZeros(q.Guaranteed)
	}
	for reason := range api.Reasons {
		var asks int64
		for _, app := range view.Applications {
			for _, ask := range app.Asks {
				if within(app.Queue, queue) && ask.Reason == reason {
					asks++
				}
			}
		}
		if asks > 0 {
			p.Pending = append(p.Pending, Waiting{reason, asks})
		}
	}
	return p
}

func withoutZeros(a resources.Amounts) resources.Amounts {
	last := 0
	for i := range a {
		if a[i] != 0 {
			last = i + 1
		}
	}
	return append(resources.Amounts{}, a[:last]...)
}

func within(queue, above api.QueuePath) bool {
	return queue == above || strings.HasPrefix(string(queue), string(above)+".")
}

func naiveFlow(p *Point, m moment, queue api.QueuePath) {
	for _, effect := range m.Effects {
		switch e := effect.(type) {
		case api.Placed:
			if within(appAt(&m, e.Allocation.Application).Queue, queue) {
				p.Placements++
			}
		case *api.EvictionRequested:
			if e.Application == "" && queue == "root" || e.Application != "" && within(appAt(&m, e.Application).Queue, queue) {
				p.Preemptions++
			}
		}
	}
}

// cluster is a view with so many leaves, each of which uses four kinds, has a guarantee
// and asks that wait for three reasons.
func cluster(leaves int, tick int64) *api.View {
	amounts := func(n int64) resources.Amounts { return resources.Amounts{n, n + 1, n + 2, n + 3} }
	root := &api.QueueView{Path: "root", Used: amounts(tick)}
	view := &api.View{Root: root, Capacity: amounts(1 << 40)}
	for i := range leaves {
		path := api.QueuePath(fmt.Sprintf("root.team-%d", i))
		root.Queues = append(root.Queues, &api.QueueView{Path: path, Leaf: true, Used: amounts(tick + int64(i)), Guaranteed: amounts(5)})
		asks := make([]api.AskView, 3)
		for i := range asks {
			asks[i] = api.AskView{Allocation: new(api.Allocation), Waiting: new(api.Waiting)}
		}
		asks[0].Reason, asks[1].Reason, asks[2].Reason = api.NoNodeFits, api.QuotaExceeded, api.RoomIsMade
		view.Applications = append(view.Applications, &api.ApplicationView{Queue: path, Asks: asks})
	}
	return view
}

// held is how many points of the cluster there are, and how many numbers of queues.
func (h *history) held() (points, numbers int) {
	for _, s := range h.queues.all() {
		numbers += s.size()
	}
	return h.cluster.len(), numbers
}

// TestHistoryIsBounded samples each second, for three times the length of a history. What
// is held stays below its bound with ten queues, and with ten times as many as fit.
func TestHistoryIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("large, and played without the race detector")
	}
	const values = 1 << 18
	for _, leaves := range []int{10, 100, 1000, 10_000} {
		t.Run(fmt.Sprint(leaves), func(t *testing.T) {
			s := newStage(t, Config{History: historyPoints * time.Second})
			s.history.values = values
			view, most := cluster(leaves, 0), 0
			for tick := range int64(3 * historyPoints) {
				view.Root.Queues[0].Used = resources.Amounts{tick}
				if leaves > 1000 { // the asks of all make the test slow
					view.Applications = view.Applications[:1]
				}
				s.Sample(start.Add(time.Duration(tick)*time.Second), view)
				points, numbers := s.history.held()
				assert.Assert(t, points <= historyPoints && numbers <= values+values/8, "%d points, %d numbers", points, numbers)
				most = max(most, numbers)
			}
			points, _ := s.history.held()
			assert.Equal(t, points, historyPoints)
			assert.Assert(t, leaves == 10 || most > values/2, "only %d numbers are used", most)
			of := s.History("root.team-0", time.Time{})
			assert.Assert(t, len(of) >= 8, "%d points", len(of))
			t.Logf("%d leaves: %d points of each, %d numbers", leaves, len(of), most)
		})
	}
}

// TestHistoryOfTenThousandQueues uses the bound that is in effect.
func TestHistoryOfTenThousandQueues(t *testing.T) {
	if testing.Short() {
		t.Skip("large, and played without the race detector")
	}
	s := newStage(t, Config{})
	view := cluster(10_000, 1)
	step := stepOf(DefaultHistory)
	for tick := range 2 * historyPoints {
		if tick%30 == 0 || tick < 5 {
			s.Sample(start.Add(time.Duration(tick)*step), view)
		}
	}
	_, numbers := s.history.held()
	assert.Assert(t, numbers <= historyValues*9/8)
	of := s.History("root.team-9999", time.Time{})
	assert.Assert(t, len(of) >= 25, "%d points", len(of))
	t.Logf("%d points of each, %d numbers", len(of), numbers)
}

// TestHistoryGoesBackNoFurther leaves a gap of twice the length: nothing from before is
// there after it. A clock that goes back adds nothing.
func TestHistoryGoesBackNoFurther(t *testing.T) {
	s := newStage(t, Config{History: historyPoints * time.Second})
	view := cluster(1, 0)
	s.Sample(start, view)
	s.Sample(start, view)
	s.Sample(start.Add(-time.Minute), view)
	assert.Equal(t, len(s.History("root", time.Time{})), 1)
	s.Sample(start.Add(2*historyPoints*time.Second), view)
	for _, queue := range []api.QueuePath{"root", "root.team-0"} {
		points := s.History(queue, time.Time{})
		assert.Equal(t, len(points), 1)
		assert.Assert(t, points[0].At.Equal(start.Add(2*historyPoints*time.Second)))
	}
	assert.Equal(t, len(s.History("root", start.Add(4*historyPoints*time.Second))), 0)
}

// TestQueueGoesAndComes has no points while the queue is away, and counts what happened
// there for the queue above all the same.
func TestQueueGoesAndComes(t *testing.T) {
	s := newStage(t, Config{History: historyPoints * time.Second})
	view, without := cluster(2, 0), cluster(1, 0)
	s.begin("app") // in root.a
	at := start
	sample := func(view *api.View) {
		at = at.Add(time.Second)
		s.Sample(at, view)
	}
	sample(view)
	s.do(api.Placed{Allocation: s.allocation("app", "k1")})
	sample(without)
	sample(without)
	sample(view)
	assert.Equal(t, len(s.History("root.team-1", time.Time{})), 2)
	assert.Equal(t, len(s.History("root.team-0", time.Time{})), 4)
	placed := func() (out []int64) {
		for _, p := range s.History("root", time.Time{}) {
			out = append(out, p.Placements)
		}
		return out
	}
	assert.DeepEqual(t, placed(), []int64{0, 1, 0, 0})
}

// TestEventsBeforeTheFirstSampleAreNotKept keeps a book small that is never sampled.
func TestEventsBeforeTheFirstSampleAreNotKept(t *testing.T) {
	s := newStage(t, Config{})
	s.begin("app")
	s.do(api.Placed{Allocation: s.allocation("app", "k1")})
	assert.Equal(t, len(s.history.byLeaf), 0)
	assert.Equal(t, s.history.whole, flow{})
}

// TestFlowsAreBounded places pods in ten times as many queues as are told apart, with no
// sample in between.
func TestFlowsAreBounded(t *testing.T) {
	h := newHistory(time.Hour)
	h.seen = true
	for i := range 10 * flowsMax {
		h.count(api.QueuePath(fmt.Sprint("root.q", i)), flow{placements: 1})
	}
	assert.Equal(t, len(h.byLeaf), flowsMax)
	assert.Equal(t, h.whole.placements, int64(10*flowsMax))
}

func TestMerge(t *testing.T) {
	at := func(seconds int, used, placed int64) Point {
		return Point{At: time.Unix(int64(seconds), 0), Used: resources.Amounts{used}, Placements: placed, Preemptions: 1}
	}
	points := []Point{at(0, 1, 10), at(5, 2, 10), at(9, 3, 10), at(10, 4, 10), at(35, 5, 10)}
	kept := slices.Clone(points)
	merged := Merge(points, 10*time.Second)
	want := []Point{at(9, 3, 30), at(10, 4, 10), at(35, 5, 10)}
	want[0].Preemptions = 3
	assert.DeepEqual(t, merged, want)
	assert.DeepEqual(t, points, kept)
	assert.Equal(t, len(Merge(nil, time.Second)), 0)
}

// TestQueuesAboveHaveAll places a pod and has asks wait three levels below the root: each
// queue above counts them, and none beside it.
func TestQueuesAboveHaveAll(t *testing.T) {
	s := newStage(t, Config{History: historyPoints * time.Second})
	leaf := &api.QueueView{Path: "root.a.b.c", Leaf: true}
	beside := &api.QueueView{Path: "root.a.bb", Leaf: true}
	b := &api.QueueView{Path: "root.a.b", Queues: []*api.QueueView{leaf}}
	root := &api.QueueView{Path: "root", Queues: []*api.QueueView{{Path: "root.a", Queues: []*api.QueueView{b, beside}}}}
	asks := []api.AskView{{Allocation: &api.Allocation{}, Waiting: &api.Waiting{Reason: api.NoNodeFits}}, {Allocation: &api.Allocation{}, Waiting: &api.Waiting{Reason: api.NoNodeFits}}}
	view := &api.View{Root: root, Applications: []*api.ApplicationView{{ID: "app", Queue: leaf.Path, Asks: asks}}}
	s.Sample(start, view)
	s.do(&api.ApplicationAccepted{ID: "app", Queue: leaf.Path})
	s.do(api.Placed{Allocation: s.allocation("app", "k1")}, &api.EvictionRequested{Allocation: s.allocation("app", "k1")})
	s.Sample(start.Add(time.Second), view)
	for queue, want := range map[api.QueuePath]int64{"root": 1, "root.a": 1, "root.a.b": 1, leaf.Path: 1, beside.Path: 0} {
		points := s.History(queue, time.Time{})
		assert.Equal(t, len(points), 2, queue)
		assert.Equal(t, points[1].Placements, want, queue)
		assert.Equal(t, points[1].Preemptions, want, queue)
		assert.Equal(t, len(points[1].Pending), int(want), queue)
		if want > 0 {
			assert.DeepEqual(t, points[1].Pending, []Waiting{{api.NoNodeFits, 2}})
		}
	}
}
