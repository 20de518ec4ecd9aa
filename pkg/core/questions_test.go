package core_test

import (
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A questioner is a resource manager that refuses the asks of application bad on every
// node, and counts what it is asked.
type questioner struct {
	asked, calls int
	pairs        map[string]int
	slice        int // further questions until a pause; zero is without end
	further      int
	again        bool // repeated questions are allowed
}

func (q *questioner) answer(key api.AllocationKey, node api.NodeID) error {
	q.asked++
	q.pairs[string(key)+" on "+string(node)]++
	if key[0] == 'b' {
		return errTaint
	}
	return nil
}

func (q *questioner) pace(kind api.Question) time.Duration {
	switch {
	case kind == api.RepeatedQuestion && !q.again:
		return time.Second
	case kind != api.FurtherQuestion || q.slice == 0:
		return 0
	case q.further == q.slice:
		q.further = 0
		return 5 * time.Millisecond
	}
	q.further++
	return 0
}

func (q *questioner) options() api.Options {
	q.pairs = map[string]int{}
	return api.Options{
		ReserveDelay: -1, Pace: q.pace,
		Feasible: func(key api.AllocationKey, node api.NodeID, _ bool) error {
			q.calls++
			return q.answer(key, node)
		},
	}
}

// refusedAsks sends asks that no node takes to the first queue of a cluster.
func refusedAsks(p *core.Partition, count int) {
	p.Apply(start, api.AddApplication{ID: "bad", Queue: "root.q0000"})
	for i := range count {
		p.Apply(start, ask("bad", fmt.Sprintf("b%03d", i), 1000, 1<<30, 1))
	}
}

// untilQuiet schedules at every moment something is due, for a while, and returns the
// last one.
func untilQuiet(t *testing.T, p *core.Partition, now time.Time, most time.Duration) time.Time {
	t.Helper()
	for end := now.Add(most); ; {
		_, more := p.Schedule(now)
		assert.NilError(t, p.Verify())
		if more {
			continue
		}
		at, ok := p.Due()
		if !ok || at.After(end) {
			return now
		}
		now = at
	}
}

// TestRefusalsHoldForTheClass: asks that the resource manager calls alike are asked
// about once for each node, others each on their own.
func TestRefusalsHoldForTheClass(t *testing.T) {
	const nodes, asks = 50, 40
	for _, alike := range []bool{true, false} {
		var q questioner
		options := q.options()
		options.Constraints = func(api.AllocationKey) string {
			if alike {
				return "gpu"
			}
			return ""
		}
		p := cluster(nodes, 1, options)
		refusedAsks(p, asks)
		untilQuiet(t, p, start, time.Second)
		if alike {
			assert.Equal(t, q.asked, nodes)
		} else {
			assert.Equal(t, q.asked, nodes*asks)
		}
		for _, a := range p.View().Applications[0].Asks {
			assert.Equal(t, a.Reason, api.Infeasible)
			assert.Equal(t, a.Detail, fmt.Sprintf("%v (%d nodes)", errTaint, nodes))
		}
	}
}

// TestNothingIsAskedTwiceOfFullNodes: asks that may preempt are refused on full nodes, by
// attempts and then where nodes would be reserved for them. While nothing changes no question
// comes twice, and in the end none at all.
func TestNothingIsAskedTwiceOfFullNodes(t *testing.T) {
	const nodes, asks = 100, 5
	questions, asked := map[string]int{}, 0
	answer := func(question string) error {
		questions[question]++
		asked++
		return errTaint
	}
	options := api.Options{
		Kinds: testKinds(),
		Feasible: func(key api.AllocationKey, node api.NodeID, allocate bool) error {
			return answer(fmt.Sprint(key, node, allocate))
		},
		Simulate: func(key api.AllocationKey, node api.NodeID, with, without []api.AllocationKey) error {
			return answer(fmt.Sprint(key, node, with, without))
		},
	}
	root := api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{{Name: "low"}, {Name: "high"}}}
	p := core.NewPartition(options, api.Config{Name: "default", Root: root})
	for _, app := range []api.ApplicationID{"low", "high"} {
		p.Apply(start, api.AddApplication{ID: app, Queue: api.QueuePath("root." + app)})
	}
	for i := range nodes {
		pod := ask("low", fmt.Sprintf("low-%02d", i), 10)
		pod.Allocation.Node = api.NodeID(fmt.Sprintf("n%02d", i))
		p.Apply(start, api.AddNode{ID: pod.Allocation.Node, Capacity: resources.Amounts{10}})
		p.Apply(start, pod)
	}
	for i := range asks {
		a := ask("high", fmt.Sprintf("high-%d", i), 5)
		a.Allocation.Priority = 10
		p.Apply(start, a)
	}
	last := untilQuiet(t, p, start, time.Minute)
	for question, times := range questions {
		assert.Equal(t, times, 1, question)
	}
	// Without the pod and with it. What fits in the place of each pod has no claim before an hour.
	assert.Equal(t, asked, 2*nodes*asks)
	last = untilQuiet(t, p, last, 2*time.Hour)
	assert.Equal(t, asked, 3*nodes*asks)
	untilQuiet(t, p, last, time.Hour)
	assert.Equal(t, asked, 3*nodes*asks)
}

// TestAFreedNodeThatDoesNotHelp: about one that is still too small, or takes nothing new,
// nothing is asked, and it is not looked at again before it changes.
func TestAFreedNodeThatDoesNotHelp(t *testing.T) {
	q := questioner{again: true}
	p := cluster(1, 1, q.options())
	for id, capacity := range map[api.NodeID]int64{"drained": 2000, "small": 900} {
		p.Apply(start, api.AddNode{ID: id, Capacity: resources.Amounts{capacity, 64 << 30, 110}})
		p.Apply(start, api.AddAllocation{Allocation: &api.Allocation{
			Key: api.AllocationKey("on " + id), Origin: api.Foreign, Node: id, Amounts: resources.Amounts{500},
		}})
	}
	p.Apply(start, api.DrainNode{ID: "drained"})
	refusedAsks(p, 1)
	now := untilQuiet(t, p, start, 10*time.Second)
	assert.DeepEqual(t, q.pairs, map[string]int{"b000 on n000000": 1})
	p.Apply(now, api.ReleaseAllocation{Key: "on drained"})
	p.Apply(now, api.ReleaseAllocation{Key: "on small"})
	looks := 0
	for due, ok := now, true; ok && due.Before(start.Add(50*time.Second)); due, ok = p.Due() {
		p.Schedule(due)
		looks++
	}
	assert.Equal(t, looks, 1) // at once
	assert.DeepEqual(t, q.pairs, map[string]int{"b000 on n000000": 1})
}

// TestAFreedNodeIsLookedAtOn: classes that were refused there are asked for, though they are many, or questions pause.
func TestAFreedNodeIsLookedAtOn(t *testing.T) {
	for _, test := range []struct {
		name  string
		asks  int
		pause time.Duration
	}{
		{name: "more classes than are asked for at once", asks: 200},
		{name: "questions pause", asks: 1, pause: 3 * time.Second},
	} {
		now, freed := start, start.Add(time.Minute)
		var agrees api.AllocationKey // the ask that is not refused
		p := oneQueue(api.Options{
			Kinds: testKinds(), ReserveDelay: -1, RetryMax: time.Hour,
			Feasible: func(key api.AllocationKey, _ api.NodeID, _ bool) error {
				if key == agrees {
					return nil
				}
				return errTaint
			},
			Pace: func(api.Question) time.Duration {
				if now.Before(freed) {
					return 0
				}
				return freed.Add(test.pause).Sub(now)
			},
		})
		p.Apply(now, api.AddNode{ID: "n", Capacity: resources.Amounts{8}})
		p.Apply(now, api.AddApplication{ID: "a", Queue: "root.q"})
		ends := ask("a", "ends", 1)
		ends.Allocation.Node = "n"
		p.Apply(now, ends)
		last := ""
		for i := range test.asks {
			last = fmt.Sprintf("k%03d", i)
			p.Apply(now, ask("a", last, 1))
		}
		untilQuiet(t, p, now, time.Second)
		agrees, now = api.AllocationKey(last), freed
		p.Apply(now, api.ReleaseAllocation{Application: "a", Key: "ends"})
		placed := 0
		for end := now.Add(10 * time.Second); placed == 0; {
			fx, more := p.Schedule(now)
			if placed = placements(fx); more {
				continue
			}
			due, ok := p.Due()
			assert.Assert(t, ok && !due.After(end), "%s: %s waits", test.name, last)
			now = due
		}
	}
}

// TestWhatNoEvictionChangesIsAskedOnce: an ask that may preempt is refused where there is room, whatever is taken away there.
// No attempt asks about that, not when the nodes are full either.
func TestWhatNoEvictionChangesIsAskedOnce(t *testing.T) {
	const nodes = 3
	asked, again := 0, 0
	p := oneQueue(api.Options{
		Kinds: testKinds(),
		Feasible: func(api.AllocationKey, api.NodeID, bool) error {
			asked++
			return errNever{errTaint}
		},
		Simulate: func(api.AllocationKey, api.NodeID, []api.AllocationKey, []api.AllocationKey) error {
			again++
			return errNever{errTaint}
		},
	})
	p.Apply(start, api.AddApplication{ID: "a", Queue: "root.q"})
	runs := func(i int, key string) {
		pod := ask("a", fmt.Sprint(key, i), 4)
		pod.Allocation.Node = api.NodeID(fmt.Sprint("n", i))
		p.Apply(start, pod)
	}
	for i := range nodes {
		p.Apply(start, api.AddNode{ID: api.NodeID(fmt.Sprint("n", i)), Capacity: resources.Amounts{8}})
		runs(i, "first-")
	}
	important := ask("a", "important", 4)
	important.Allocation.Priority = 1
	p.Apply(start, important)
	untilQuiet(t, p, start, time.Second)
	assert.Equal(t, asked, nodes)
	for i := range nodes {
		runs(i, "second-")
	}
	untilQuiet(t, p, start, 10*time.Second)
	assert.Equal(t, asked, nodes)
	assert.Equal(t, again, 0)
}

// errNever is a refusal that no eviction changes.
type errNever struct{ error }

func (errNever) Unresolvable() bool { return true }

// TestSeveralNodesAreAskedAtOnce: the first question is about one node, later ones
// about more and more.
func TestSeveralNodesAreAskedAtOnce(t *testing.T) {
	const nodes = 300
	var q questioner
	options := q.options()
	var sizes []int
	options.FeasibleOn = func(key api.AllocationKey, ids []api.NodeID, _ bool) []error {
		sizes = append(sizes, len(ids))
		answers := make([]error, len(ids))
		for i, id := range ids {
			answers[i] = q.answer(key, id)
		}
		return answers
	}
	p := cluster(nodes, 1, options)
	refusedAsks(p, 1)
	untilQuiet(t, p, start, time.Second)
	assert.Equal(t, q.asked, nodes)
	assert.Equal(t, q.calls, 1)
	assert.DeepEqual(t, sizes, []int{4, 16, 64, 64, 64, 64, 23})
}

// TestQuestionsGoOnWhereTheyStopped: the pace breaks questions off again and again;
// none is asked twice, and an ask of another queue is placed in the same batch in
// which the first pause begins.
func TestQuestionsGoOnWhereTheyStopped(t *testing.T) {
	const nodes, asks, slice = 60, 30, 25
	q := questioner{slice: slice}
	p := cluster(nodes, 2, q.options())
	refusedAsks(p, asks)
	p.Apply(start, api.AddApplication{ID: "good", Queue: "root.q0001"})
	p.Apply(start, ask("good", "g", 1000, 1<<30, 1))
	fx, _ := p.Schedule(start)
	assert.Equal(t, placements(fx), 1)
	assert.Assert(t, q.asked <= slice+4, "%d questions before another queue had its turn", q.asked)

	end := untilQuiet(t, p, start, 30*time.Second)
	assert.Equal(t, q.asked, nodes*asks+1)
	for pair, count := range q.pairs {
		assert.Equal(t, count, 1, pair)
	}
	assert.Assert(t, end.After(start), "nothing was put off")

	// The round after a minute waits for its share of the time, and then goes on.
	q.slice = 0
	end = untilQuiet(t, p, start.Add(time.Minute), 5*time.Second)
	assert.Equal(t, q.asked, nodes*asks+1)
	q.again = true
	untilQuiet(t, p, end, 5*time.Second)
	assert.Equal(t, q.asked, 2*nodes*asks+1)
}

// TestPausedAsksMayGo: asks whose questions are put off can be released, resized and
// reconfigured.
func TestPausedAsksMayGo(t *testing.T) {
	q := questioner{slice: 3}
	p := cluster(10, 1, q.options())
	refusedAsks(p, 6)
	p.Schedule(start)
	assert.NilError(t, p.Verify())
	p.Apply(start, api.ReleaseAllocation{Application: "bad", Key: "b000"})
	p.Apply(start, ask("bad", "b001", 500, 1<<30, 1))
	p.Apply(start, api.Reconfigure{Config: p.View().Config})
	assert.NilError(t, p.Verify())
	p.Apply(start, api.RemoveApplication{ID: "bad"})
	assert.NilError(t, p.Verify())
	untilQuiet(t, p, start, 2*time.Minute)
	assert.Equal(t, p.KnownClasses() < 70, true)
}

// TestReservationsDoNotMeet: asks of two classes whose time to reserve comes at once
// reserve different nodes.
func TestReservationsDoNotMeet(t *testing.T) {
	p := cluster(20, 1, api.Options{})
	p.Apply(start, api.AddApplication{ID: "a", Queue: "root.q0000"})
	for i := range 20 {
		p.Apply(start, ask("a", fmt.Sprint("runs", i), 10_000, 1<<30, 1))
	}
	p.Apply(start, ask("a", "x", 12_000, 1<<30, 1))
	p.Apply(start, ask("a", "y", 13_000, 1<<30, 1))
	untilQuiet(t, p, start, 3*time.Second)
	nodes := map[api.NodeID]api.AllocationKey{}
	for _, n := range p.View().Nodes {
		for _, r := range n.Reservations {
			nodes[n.ID] = r.Key
		}
	}
	assert.Equal(t, len(nodes), 2, "%v", nodes)
}

// TestTimersAreMovedAndCancelled: one pod that is resized often while its queue is over
// its max needs one timer, and what is gone none.
func TestTimersAreMovedAndCancelled(t *testing.T) {
	root := api.QueueConfig{Name: "root", Queues: []api.QueueConfig{
		{Name: "q", Max: []int64{2000}, Properties: api.QueueProperties{QuotaDelay: time.Hour}},
	}}
	p := core.NewPartition(api.Options{Kinds: testKinds()}, api.Config{
		Name: "default", Root: root, Preemption: api.PreemptionConfig{Quota: true},
	})
	p.Apply(start, api.AddNode{ID: "n", Capacity: []int64{16_000, 64 << 30, 110}})
	p.Apply(start, api.AddApplication{ID: "a", Queue: "root.q"})
	pod := ask("a", "pod", 4000, 1<<30, 1)
	pod.Allocation.Node = "n"
	p.Apply(start, pod)
	for i := range 20_000 {
		again := ask("a", "pod", 4000+int64(i%2), 1<<30, 1)
		p.Apply(start.Add(time.Duration(i)), again)
		p.Schedule(start.Add(time.Duration(i)))
	}
	assert.Equal(t, p.TimersSet(), 1)
	end := start.Add(2 * time.Hour)
	fx, _ := p.Schedule(end)
	assert.Equal(t, len(fx) > 0, true)
	p.Apply(end, api.ReleaseAllocation{Application: "a", Key: "pod"})
	p.Schedule(end)
	assert.Equal(t, p.TimersSet(), 1) // of the application that completes
	p.Apply(end, api.RemoveApplication{ID: "a"})
	p.Schedule(end)
	assert.Equal(t, p.TimersSet(), 0)
}
