package core_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// TestQuotaGoesToBoundAsksInOrder has the quota of a queue come free while agents of several
// nodes wait for it, of different priorities on each node: the most important of all get it,
// also where no callback is asked between two placements on a node.
func TestQuotaGoesToBoundAsksInOrder(t *testing.T) {
	for seed := range uint64(500) {
		c := rand.New(rand.NewPCG(seed, 57))
		free := 1 + c.IntN(6)
		p := core.NewPartition(api.Options{Kinds: testKinds()}, api.Config{
			Name: "default", Root: api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{
				{Name: "a", Max: resources.Limits{int64(free)}},
			}},
		})
		p.Apply(start, api.AddApplication{ID: "a", Queue: "root.a"})
		for i := range 4 {
			p.Apply(start, api.AddNode{ID: api.NodeID(fmt.Sprint("n", i)), Capacity: resources.Amounts{100}})
		}
		p.Apply(start, api.AddAllocation{Allocation: &api.Allocation{
			Key: "full", Application: "a", Node: "n0", Amounts: resources.Amounts{int64(free)}, Priority: 1000, Created: start,
		}})
		priorities := c.Perm(12)
		for _, priority := range priorities {
			p.Apply(start, api.AddAllocation{Allocation: &api.Allocation{
				Key: api.AllocationKey(fmt.Sprint(priority)), Application: "a", Amounts: resources.Amounts{1}, Priority: int32(priority),
				Required: api.NodeID(fmt.Sprint("n", c.IntN(4))), Created: start,
			}})
		}
		p.Schedule(start)
		p.Apply(start, api.ReleaseAllocation{Application: "a", Key: "full"})
		var placed, want []string
		for more := true; more; {
			var fx api.Effects
			fx, more = p.Schedule(start)
			for _, e := range fx {
				if e, ok := e.(api.Placed); ok {
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
