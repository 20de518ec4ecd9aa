package core_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/devices"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/seeds"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// Nodes that are tried by what is scarce: every placement of random histories is on the node of
// least waste and price, by looking at all nodes, whatever selectors asks have and however nodes change. What
// prices are is for the twin of package scarcity.
func TestScarcityDecidesLikeTheNaiveTwin(t *testing.T) {
	compared, dear := 0, 0
	for seed := range seeds.Of(t, 300) {
		h := &history{chance: rand.New(rand.NewPCG(seed, 41)), now: start, selects: true}
		config := h.config()
		config.Preemption.Disabled = true
		config.Nodes.Scarcity = true
		twin := naive{weights: map[resources.Kind]int64{0: 3, 1: 1}, packing: true, devices: &devices.Policy{Beside: []resources.Kind{1, 0}}}
		if seed%2 == 0 {
			config.Nodes.Devices = map[string]int64{resources.Memory: 3}
			twin.devices = &devices.Policy{Devices: []devices.Kind{{Kind: 1, Size: 3}}, Beside: []resources.Kind{0}}
		}
		h.p = core.NewPartition(api.Options{Kinds: testKinds(), ReserveDelay: -1, BatchMax: 1}, config)
		twin.price = func(id api.NodeID, ask resources.Amounts) (int, int64) {
			class, price := h.p.PriceOf(id, ask)
			if price > 0 {
				dear++
			}
			return class, price
		}
		for i := range 120 {
			h.plainStep(i)
			compared += twin.compare(t, h, fmt.Sprintf("seed %d, step %d", seed, i))
			assert.NilError(t, h.p.Verify(), "seed %d, step %d", seed, i)
		}
	}
	t.Logf("%d placements compared, %d prices above zero", compared, dear)
	assert.Assert(t, compared > seeds.Part(t, 1300) && dear > compared)
}

// Whatever happens to a cluster: what is free of each class of nodes, and which asks wait, is counted exactly, and all laws hold.
func TestScarcityInRandomHistories(t *testing.T) {
	for seed := range seeds.Of(t, 200) {
		h := newHistory(rand.New(rand.NewPCG(seed, 43)))
		h.selects = true
		for i := range 160 {
			switch h.IntN(40) {
			case 0:
				h.devices, h.scarcity = map[string]int64{resources.Memory: int64(1 + h.IntN(4))}, true
			case 1:
				h.devices, h.scarcity = nil, true
			case 2:
				h.scarcity = false
			}
			h.step()
			assert.NilError(t, h.broken, "seed %d, step %d", seed, i)
			assert.NilError(t, h.p.Verify(), "seed %d, step %d", seed, i)
		}
		h.settle(t)
	}
}

// What a placement looks at grows with the logarithm of the nodes, though prices change all the time.
func TestScarcityLooksAtFewNodes(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	looked := func(nodes int) uint64 {
		p := core.NewPartition(api.Options{Kinds: testKinds(), ReserveDelay: -1}, api.Config{
			Name: "default", Root: api.QueueConfig{Name: "root", Queues: []api.QueueConfig{{Name: "a"}}},
			Nodes: api.NodeOrder{Devices: map[string]int64{"pods": 1000}, Scarcity: true},
		})
		for i := range nodes {
			zone := map[string]string{"zone": string(rune('a' + i%4))}
			p.Apply(start, api.AddNode{ID: api.NodeID(fmt.Sprint("n", i)), Capacity: resources.Amounts{4000, 4000, 400_000}, Attributes: zone})
		}
		p.Apply(start, api.AddApplication{ID: "app", Queue: "root.a"})
		add := func(from, to int) {
			for i := from; i < to; i++ {
				a := ask("app", fmt.Sprint("k", i), int64(1+i%3), 1, int64(300*(1+i%3)))
				if i%5 == 0 {
					a.Allocation.Tags = map[string]string{api.TagNodeSelector: "zone=b|c"}
				}
				p.Apply(start, a)
				run(p)
			}
		}
		add(0, 300)
		before := p.View().Work.Nodes
		add(300, 1300)
		assert.NilError(t, p.Verify())
		return (p.View().Work.Nodes - before) / 1000
	}
	small, large := looked(100), looked(4000)
	t.Logf("%d with 100 nodes, %d with 4,000", small, large)
	assert.Assert(t, large <= small+120, "%d with 100 nodes, %d with 4,000", small, large)
	assert.Assert(t, small < 300, "%d", small)
}

// A cluster that is restored from a view knows what waits and what runs, so it weighs what is scarce like the one that
// it was made from, but for how long ago asks came.
func TestScarcityIsRestored(t *testing.T) {
	kinds := testKinds()
	p := core.NewPartition(api.Options{Kinds: kinds, ReserveDelay: -1}, api.Config{
		Name: "default", Root: api.QueueConfig{Name: "root", Queues: []api.QueueConfig{{Name: "a"}}}, Nodes: api.NodeOrder{Scarcity: true},
	})
	for i := range 8 {
		p.Apply(start, api.AddNode{ID: api.NodeID(fmt.Sprint("n", i)), Capacity: resources.Amounts{10, 10, 10}, Attributes: map[string]string{"zone": fmt.Sprint(i % 4)}})
	}
	p.Apply(start, api.AddApplication{ID: "app", Queue: "root.a"})
	for i := range 30 {
		a := ask("app", fmt.Sprint("k", i), 3, 1, 1)
		if i%2 == 0 && i < 16 { // which run all
			a.Allocation.Tags = map[string]string{api.TagNodeSelector: "zone=1"}
		}
		p.Apply(start, a)
	}
	run(p)
	again := core.Restore(api.Options{Kinds: kinds}, start, p.View())
	for i := range 8 {
		id := api.NodeID(fmt.Sprint("n", i))
		_, want := p.PriceOf(id, resources.Amounts{1, 1, 1})
		_, got := again.PriceOf(id, resources.Amounts{1, 1, 1})
		assert.Equal(t, got, want, id)
		assert.Assert(t, want > 0)
	}
}
