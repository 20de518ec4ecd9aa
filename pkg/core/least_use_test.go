package core_test

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// TestWhatAsksForNothingCounts: allocations that ask for their place alone are spread over nodes, or fill them, by what
// they are known to use at least. Neither nodes nor queues are charged for it.
func TestWhatAsksForNothingCounts(t *testing.T) {
	const nodes, asks = 30, 60
	kinds := new(resources.Kinds)
	for _, name := range []string{resources.VCore, resources.Memory, "pods"} {
		_, err := kinds.Intern(name)
		assert.NilError(t, err)
	}
	most := func(least resources.Amounts, packing bool) (most int) {
		config := api.Config{Name: "default", Root: api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{{Name: "q"}}}}
		config.Nodes.Packing = packing
		p := core.NewPartition(api.Options{Kinds: kinds, Least: least}, config)
		for i := range nodes {
			p.Apply(start, api.AddNode{ID: api.NodeID(fmt.Sprint("n", i)), Capacity: resources.Amounts{4000, 8 << 30, 110}})
		}
		p.Apply(start, api.AddApplication{ID: "a", Queue: "root.q"})
		for i := range asks {
			p.Apply(start, ask("a", fmt.Sprint("p", i), 0, 0, 1))
		}
		p.Schedule(start)
		assert.NilError(t, p.Verify())
		v := p.View()
		assert.DeepEqual(t, v.Root.Used, resources.Amounts{0, 0, asks})
		for _, n := range v.Nodes {
			most = max(most, len(n.Allocations))
		}
		for i := range asks {
			p.Apply(start, api.ReleaseAllocation{Application: "a", Key: api.AllocationKey(fmt.Sprint("p", i))})
		}
		assert.NilError(t, p.Verify())
		return most
	}
	least := resources.Amounts{100, 200 << 20}
	assert.Equal(t, most(nil, false), asks, "nothing is known of what they use")
	assert.Equal(t, most(least, false), asks/nodes)
	assert.Equal(t, most(least, true), asks)
}
