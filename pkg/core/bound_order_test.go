package core_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// TestQuotaGoesToBoundAsksInOrder has the quota of a queue come free while agents of several
// nodes wait for it, of different priorities on each node: the most important of all get it,
// also where no callback is asked between two placements on a node.
func TestQuotaGoesToBoundAsksInOrder(t *testing.T) {
	for seed := range uint64(500) {
		c := rand.New(rand.NewPCG(seed, 57))
		free := 1 + c.IntN(6)
		p := core.NewPartition(core.Options{Kinds: testKinds()}, core.Config{
			Name: "default", Root: core.QueueConfig{Name: "root", Parent: true, Queues: []core.QueueConfig{
				{Name: "a", Max: resources.Limits{int64(free)}},
			}},
		})
		p.Apply(start, core.AddApplication{ID: "a", Queue: "root.a"})
		for i := range 4 {
			p.Apply(start, core.AddNode{ID: core.NodeID(fmt.Sprint("n", i)), Capacity: resources.Amounts{100}})
		}
		p.Apply(start, core.AddAllocation{Allocation: &core.Allocation{
			Key: "full", Application: "a", Node: "n0", Amounts: resources.Amounts{int64(free)}, Priority: 1000, Created: start,
		}})
		priorities := c.Perm(12)
		for _, priority := range priorities {
			p.Apply(start, core.AddAllocation{Allocation: &core.Allocation{
				Key: core.AllocationKey(fmt.Sprint(priority)), Application: "a", Amounts: resources.Amounts{1}, Priority: int32(priority),
				Required: core.NodeID(fmt.Sprint("n", c.IntN(4))), Created: start,
			}})
		}
		p.Schedule(start)
		p.Apply(start, core.ReleaseAllocation{Application: "a", Key: "full"})
		var placed, want []string
		for more := true; more; {
			var fx core.Effects
			fx, more = p.Schedule(start)
			for _, e := range fx {
				if e, ok := e.(core.Placed); ok {
					placed = append(placed, string(e.Key))
				}
			}
		}
		for i := range free {
			want = append(want, fmt.Sprint(11-i))
		}
		slices.Sort(placed)
		slices.Sort(want)
		assert.DeepEqual(t, placed, want)
		assert.NilError(t, p.Verify())
	}
}
