package core_test

import (
	"fmt"
	"math/bits"
	"strings"
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// perPlacement is what scheduling looked at for one placement, rounded up.
type perPlacement struct{ nodes, queues, applications, asks uint64 }

func costOf(l load) perPlacement {
	return costIn(l.build(api.Options{}, api.Fair))
}

// costWithLimits is the same where every application is of a user and a group with limits.
func costWithLimits(l load) perPlacement { return costIn(l.buildLimited(1 << 40)) }

func costIn(p *core.Partition) perPlacement {
	p.React() // puts the nodes in order
	before := p.View().Work
	run(p)
	after := p.View().Work
	n := after.Placements - before.Placements
	up := func(now, then uint64) uint64 { return (now - then + n - 1) / n }
	return perPlacement{
		up(after.Nodes, before.Nodes), up(after.Queues, before.Queues),
		up(after.Applications, before.Applications), up(after.Asks, before.Asks),
	}
}

// TestWorkGrowsLogarithmically pins what one placement looks at, counted
// exactly: a hundred or a thousand times as much of anything adds a few steps
// for each doubling and nothing else.
func TestWorkGrowsLogarithmically(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	for _, c := range []struct {
		name         string
		small, large load
		of           func(perPlacement) uint64
		size         func(load) int
	}{
		{
			"asks",
			load{1000, 1000, 1, 1},
			load{1000, 100_000, 1, 1},
			func(c perPlacement) uint64 { return c.asks }, func(l load) int { return l.asks },
		},
		{
			"nodes",
			load{1000, 5000, 1, 1},
			load{100_000, 5000, 1, 1},
			func(c perPlacement) uint64 { return c.nodes }, func(l load) int { return l.nodes },
		},
		{
			"queues",
			load{1000, 5000, 1, 1},
			load{1000, 5000, 1000, 1000},
			func(c perPlacement) uint64 { return c.queues }, func(l load) int { return l.queues },
		},
		{
			"applications",
			load{1000, 8000, 1, 1},
			load{1000, 8000, 1, 4000},
			func(c perPlacement) uint64 { return c.applications }, func(l load) int { return l.applications },
		},
		{
			"users with limits",
			load{1000, 8000, 1, 40},
			load{1000, 8000, 1, 4000},
			func(c perPlacement) uint64 { return c.applications }, func(l load) int { return l.applications },
		},
		{
			"queues with limits of users",
			load{1000, 8000, 10, 4000},
			load{1000, 8000, 1000, 4000},
			func(c perPlacement) uint64 { return c.queues }, func(l load) int { return l.queues },
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			costOf := costOf
			if strings.Contains(c.name, "limits") {
				costOf = costWithLimits
			}
			small, large := costOf(c.small), costOf(c.large)
			doublings := bits.Len(uint(c.size(c.large) / c.size(c.small)))
			t.Logf("%+v to %+v", small, large)
			assert.Assert(t, c.of(large) <= c.of(small)+6*uint64(doublings),
				"%d looked at with %v, %d with %v", c.of(small), c.small, c.of(large), c.large)
		})
	}
}

// TestPlacementAllocatesOnlyItself pins the garbage of a placement in a partition whose
// lists have grown: the bound allocation, and one slice of events for each batch.
func TestPlacementAllocatesOnlyItself(t *testing.T) {
	const batch = 64
	l := load{200, 4096, 1, 1}
	p := l.build(api.Options{BatchMax: batch}, api.FIFO)
	run(p)
	p.Apply(start, api.ReleaseAllocation{Application: "app00000"})
	for i := range l.asks {
		p.Apply(start, ask("app00000", fmt.Sprint("again-", i), 100, 128<<20, 1))
	}
	perBatch := testing.AllocsPerRun(l.asks/batch-2, func() { p.Schedule(start) })
	assert.Assert(t, perBatch <= batch+1, "%v allocations for %d placements", perBatch, batch)
}

// TestFullClusterCostsNothing: asks that cannot fit are looked at once for each
// class, and not again while nothing changes.
func TestFullClusterCostsNothing(t *testing.T) {
	for _, classes := range []int{1, 200, 2000} {
		t.Run(fmt.Sprint(classes, " classes"), func(t *testing.T) {
			p := cluster(100, 1, api.Options{ReserveDelay: -1})
			p.Apply(start, api.AddApplication{ID: "a", Queue: "root.q0000"})
			for i := range 5000 {
				p.Apply(start, ask("a", fmt.Sprint("k", i), 20_000, 1<<30+int64(i%classes), 1))
			}
			before := p.View().Work
			run(p)
			learnt := p.View().Work
			assert.Equal(t, learnt.Attempts-before.Attempts, uint64(classes))
			for range 10 {
				run(p)
			}
			idle := p.View().Work
			assert.Assert(t, idle.Queues <= learnt.Queues+10, "more than one look at the top for each call")
			idle.Queues = learnt.Queues
			assert.DeepEqual(t, idle, learnt)

			// A small change that helps no ask has no ask tried.
			p.Apply(start, api.UpdateNode{ID: "n000001", Capacity: resources.Amounts{17_000, 64 << 30, 110}})
			run(p)
			assert.Equal(t, p.View().Work.Attempts, learnt.Attempts)

			// Room for one is found at once.
			p.Apply(start, api.UpdateNode{ID: "n000001", Capacity: resources.Amounts{20_000, 64 << 30, 110}})
			fx, _ := p.Schedule(start)
			assert.Equal(t, placements(fx), 1)
			assert.NilError(t, p.Verify())
		})
	}
}

// TestClassesAreForgotten sends asks of ever new sizes, some of which wait for
// quota and are taken back: few classes are remembered, and what was learnt of one
// says nothing of the next.
func TestClassesAreForgotten(t *testing.T) {
	p := core.NewPartition(api.Options{Kinds: testKinds(), ReserveDelay: -1}, api.Config{Name: "default", Root: api.QueueConfig{
		Name: "root", Queues: []api.QueueConfig{{Name: "a", Max: resources.Limits{1000}}, {Name: "b"}},
	}})
	p.Apply(start, api.AddNode{ID: "n", Capacity: resources.Amounts{1 << 40, 1 << 40, 1 << 40}})
	p.Apply(start, api.AddApplication{ID: "limited", Queue: "root.a"})
	p.Apply(start, api.AddApplication{ID: "free", Queue: "root.b"})
	for i := range 5000 {
		p.Apply(start, ask("limited", "over", int64(2000+i), 1))
		p.Apply(start, ask("limited", "within", int64(1+i%900), int64(i)))
		p.Apply(start, ask("free", "free", int64(3000+i), 2))
		fx, more := p.Schedule(start)
		assert.Equal(t, more, false)
		assert.Equal(t, placements(fx), 2, "round %d", i)
		if i%50 == 0 {
			assert.NilError(t, p.Verify())
		}
		for app, keys := range map[api.ApplicationID][]api.AllocationKey{"limited": {"over", "within"}, "free": {"free"}} {
			for _, key := range keys {
				p.Apply(start, api.ReleaseAllocation{Application: app, Key: key, Termination: si.TerminationType_STOPPED_BY_RM})
			}
		}
	}
	assert.NilError(t, p.Verify())
	assert.Assert(t, p.KnownClasses() < 1000, "%d classes are remembered", p.KnownClasses())
}

// TestRefusalsDoNotHoldUpCommands: a batch ends when the resource manager has
// been asked often enough, and the next one goes on from there.
func TestRefusalsDoNotHoldUpCommands(t *testing.T) {
	const nodes, asks = 100, 200
	asked := 0
	p := cluster(nodes, 1, api.Options{ReserveDelay: -1, Feasible: func(api.AllocationKey, api.NodeID, bool) error {
		asked++
		return errTaint
	}})
	p.Apply(start, api.AddApplication{ID: "a", Queue: "root.q0000"})
	for i := range asks {
		p.Apply(start, ask("a", fmt.Sprint("k", i), 1, 1, 1))
	}
	for more := true; more; {
		before := asked
		_, more = p.Schedule(start)
		assert.Assert(t, asked-before < 4096+nodes, "%d times in one batch", asked-before)
		assert.NilError(t, p.Verify())
	}
	assert.Equal(t, asked, nodes*asks)
}
