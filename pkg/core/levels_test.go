package core_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/devices"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/seeds"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// labelsOf are attributes of a node: of two blocks with two racks each, and some that are missing.
func labelsOf(i int) map[string]string {
	labels := map[string]string{}
	for at, key := range []string{"block", "rack"} {
		if value := i >> (2 * at) % 4; value > 0 {
			labels[key] = fmt.Sprint(value % 2)
		}
	}
	return labels
}

// Where nodes are packed, of those that are alike the one is taken whose domain is the fullest: every placement of
// random histories of equal nodes is that of a twin that looks at all of them. Nodes change their domains meanwhile.
func TestSingleAsksLeaveDomainsWhole(t *testing.T) {
	compared := 0
	for seed := range seeds.Of(t, 150) {
		h := &history{chance: rand.New(rand.NewPCG(seed, 71)), now: start}
		config := api.Config{Name: "default", Root: api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{{Name: "default"}}}}
		config.Levels, config.Preemption.Disabled = [][]string{{"block", "rack"}}, true
		config.Nodes = api.NodeOrder{Packing: true, Weights: map[string]int64{"vcore": 3, "memory": 1}}
		twin := naive{weights: map[resources.Kind]int64{0: 3, 1: 1}, packing: true, levels: config.Levels[0]}
		if seed%3 == 0 {
			config.Nodes.Devices = map[string]int64{resources.Memory: 1}
			twin.devices = &devices.Policy{Devices: []devices.Kind{{Kind: 1, Size: 1}}, Beside: []resources.Kind{0}}
		}
		h.p = core.NewPartition(api.Options{Kinds: testKinds(), ReserveDelay: -1, BatchMax: 1}, config)
		for i := range 16 {
			h.p.Apply(h.now, api.AddNode{ID: api.NodeID(fmt.Sprint("n", i)), Attributes: labelsOf(i), Capacity: resources.Amounts{4, 4, 9}})
		}
		h.p.Apply(h.now, api.AddApplication{ID: "app"})
		for i := range 80 {
			h.now = h.now.Add(time.Millisecond)
			h.wholeStep(i)
			compared += twin.compare(t, h, fmt.Sprintf("seed %d, step %d", seed, i))
			assert.NilError(t, h.p.Verify())
		}
	}
	assert.Assert(t, compared > seeds.Part(t, 2000))
}

// wholeStep asks, ends something that runs, or changes a node.
func (h *history) wholeStep(i int) {
	node := api.NodeID(fmt.Sprint("n", h.IntN(16)))
	switch one := h.IntN(12); {
	case one < 6:
		size := int64(1 + h.IntN(4))
		h.p.Apply(h.now, api.AddAllocation{Allocation: &api.Allocation{
			Key: api.AllocationKey(fmt.Sprint("a", i)), Application: "app", Amounts: resources.Amounts{size, size, 1}, Created: h.now,
		}})
	case one < 9:
		h.p.Apply(h.now, api.ReleaseAllocation{Application: "app", Key: api.AllocationKey(fmt.Sprint("a", h.IntN(i+1)))})
	case one == 9:
		h.p.Apply(h.now, api.UpdateNode{ID: node, Attributes: labelsOf(h.IntN(16))})
	case one == 10:
		h.p.Apply(h.now, api.DrainNode{ID: node})
	default:
		h.p.Apply(h.now, api.UndrainNode{ID: node})
	}
}
