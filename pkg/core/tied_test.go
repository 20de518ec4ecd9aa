package core_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// zones is a resource manager that spreads asks evenly over three zones, of which two are one node. It hears of a placement
// only after the call of Schedule that made it, and says, or does not say, what has ties.
type zones struct {
	p     *core.Partition
	nodes map[api.NodeID]int
	runs  [3]int
	asked int
}

func newZones(nodes int, says bool) *zones {
	z := &zones{nodes: map[api.NodeID]int{}}
	options := api.Options{Kinds: testKinds(), Constraints: func(key api.AllocationKey) string { return string(key[:1]) }}
	options.Feasible = func(_ api.AllocationKey, n api.NodeID, _ bool) error {
		z.asked++
		if z.runs[z.nodes[n]] > min(z.runs[0], z.runs[1], z.runs[2]) {
			return errors.New("too many in its zone")
		}
		return nil
	}
	if says {
		options.Tied = func(api.AllocationKey, api.NodeID) []string { return []string{"s", "unknown"} }
	}
	z.p = core.NewPartition(options, api.Config{Name: "default", Root: api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{{Name: "q"}}}})
	z.p.Apply(start, api.AddApplication{ID: "a", Queue: "root.q"})
	for i := range nodes {
		id := api.NodeID(fmt.Sprintf("n%02d", i))
		z.nodes[id] = min(i, 2)
		z.p.Apply(start, api.AddNode{ID: id, Capacity: resources.Amounts{80}})
	}
	return z
}

// schedule places what can be placed now, and returns how many were.
func (z *zones) schedule(t *testing.T) (count int) {
	t.Helper()
	for more := true; more; {
		var fx api.Effects
		fx, more = z.p.Schedule(start)
		for _, e := range fx {
			if placed, is := e.(api.Placed); is {
				z.runs[z.nodes[placed.Node]]++
				count++
			}
		}
		assert.Assert(t, max(z.runs[0], z.runs[1], z.runs[2])-min(z.runs[0], z.runs[1], z.runs[2]) <= 1, "%v", z.runs)
		assert.NilError(t, z.p.Verify())
	}
	return count
}

// TestAsksWithTies: asks that are spread over zones are placed at once, each where it may run beside those
// before it. Where the resource manager does not say that they have ties, most of them wait.
func TestAsksWithTies(t *testing.T) {
	const asks = 60
	for _, nodes := range []int{3, 30} {
		z := newZones(nodes, true)
		for i := range asks {
			z.p.Apply(start, ask("a", fmt.Sprint("s-", i), 1))
		}
		assert.Equal(t, z.schedule(t), asks)
		assert.DeepEqual(t, z.runs, [3]int{asks / 3, asks / 3, asks / 3})
		assert.Assert(t, z.asked <= asks*nodes, "%d questions", z.asked)
	}
}

// TestEndOfWhatHasTies: when an allocation ends, or could not be bound, an ask that fits its node no more is tried elsewhere.
func TestEndOfWhatHasTies(t *testing.T) {
	for says, want := range map[bool]int{true: 1, false: 0} {
		for _, end := range []si.TerminationType{si.TerminationType_STOPPED_BY_RM, api.SchedulingFailed} {
			z := newZones(3, says)
			for i := range 3 {
				runs := ask("a", fmt.Sprint("r-", i), 80)
				runs.Allocation.Node = api.NodeID(fmt.Sprintf("n%02d", i))
				if i == 0 {
					runs.Allocation.Amounts = resources.Amounts{1}
				}
				z.p.Apply(start, runs)
			}
			z.runs = [3]int{2, 1, 1}
			z.p.Apply(start, ask("a", "s-0", 2))
			assert.Equal(t, z.schedule(t), 0)
			z.runs = [3]int{0, 0, 0} // others end, of which the core does not know
			z.p.Apply(start, api.ReleaseAllocation{Application: "a", Key: "r-2", Termination: end})
			z.p.Apply(start, api.DrainNode{ID: "n02"})
			assert.Equal(t, z.schedule(t), want, "it says so: %t", says)
		}
	}
}

// TestSameMessageAsksAnew: a message about an ask that says nothing new has the resource manager asked again, since its
// answers may have changed: also about the others of its class.
func TestSameMessageAsksAnew(t *testing.T) {
	z := newZones(3, true)
	z.runs = [3]int{0, 0, 1} // the other nodes are drained
	z.p.Apply(start, api.DrainNode{ID: "n00"})
	z.p.Apply(start, api.DrainNode{ID: "n01"})
	for i := range 2 {
		z.p.Apply(start, ask("a", fmt.Sprint("s-", i), 1))
	}
	assert.Equal(t, z.schedule(t), 0)
	z.runs = [3]int{1, 1, 1}
	assert.Equal(t, z.schedule(t), 0)
	z.p.Apply(start, ask("a", "s-1", 1))
	assert.Equal(t, z.schedule(t), 1)
}
