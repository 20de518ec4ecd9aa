package core_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/devices"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/seeds"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// leastWaste is the open node with room on which an ask wastes least, by looking at all.
func (n naive) leastWaste(ask resources.Amounts) (best api.NodeID, found bool) {
	var least, mostUsed int64
	var first string
	var leastClass int
	for _, node := range n.view.Nodes {
		if !node.Schedulable || len(node.Reservations) > 0 || !ask.FitsIn(node.Available) {
			continue
		}
		on := slices.Concat(node.Allocations, node.ForeignAllocations)
		slices.SortFunc(on, func(a, b *api.Allocation) int {
			return cmp.Or(a.Placed.Compare(b.Placed), strings.Compare(string(a.Key), string(b.Key)))
		})
		of := devices.Node{Capacity: node.Capacity, Free: node.Available, Room: 1<<28 + n.score(node).Int64()}
		of.Tables = n.devices.Tables(node.Capacity, func(yield func(resources.Amounts) bool) {
			for _, a := range on {
				if !yield(a.Amounts) {
					return
				}
			}
		})
		cost, class := n.devices.Cost(&of, ask), 0
		if n.price != nil {
			var price int64
			class, price = n.price(node.ID, ask)
			cost += price
		}
		domain, use := n.domain(node)
		if !found || cmp.Or(cmp.Compare(cost, least), cmp.Compare(class, leastClass), cmp.Compare(mostUsed, use), strings.Compare(domain, first)) < 0 {
			best, least, leastClass, mostUsed, first, found = node.ID, cost, class, use, domain, true
		}
	}
	return best, found
}

// Nodes that are tried by their devices: every placement of random histories is that of a twin
// that looks at all nodes, and the orders are exact after every step. Amounts of which the
// order was dropped meanwhile are among them.
func TestDevicesDecideLikeTheNaiveTwin(t *testing.T) {
	compared := 0
	for seed := range seeds.Of(t, 300) {
		h := &history{chance: rand.New(rand.NewPCG(seed, 31)), now: start}
		config := h.config()
		config.Preemption.Disabled = true
		twin := naive{weights: map[resources.Kind]int64{0: 3, 1: 1}, packing: true}
		if seed%2 == 0 {
			config.Nodes.Devices = map[string]int64{resources.Memory: 3}
			twin.devices = &devices.Policy{Devices: []devices.Kind{{Kind: 1, Size: 3}}, Beside: []resources.Kind{0}}
		} else {
			config.Nodes.Devices = map[string]int64{"pods": 1, resources.Memory: 2}
			twin.devices = &devices.Policy{Devices: []devices.Kind{{Kind: 1, Size: 2}, {Kind: 2, Size: 1}}, Beside: []resources.Kind{0}}
		}
		h.p = core.NewPartition(api.Options{Kinds: testKinds(), ReserveDelay: -1, BatchMax: 1}, config)
		for i := range 120 {
			h.plainStep(i)
			compared += twin.compare(t, h, fmt.Sprintf("seed %d, step %d", seed, i))
			assert.NilError(t, h.p.Verify(), "seed %d, step %d", seed, i)
		}
	}
	t.Logf("%d placements compared", compared)
	assert.Assert(t, compared > seeds.Part(t, 1300))
}

// Whatever happens to a cluster, with room that is made, reservations, predicates, restarts and
// configurations that change the kinds: the orders are exact, and all laws hold.
func TestDevicesInRandomHistories(t *testing.T) {
	for seed := range seeds.Of(t, 200) {
		h := newHistory(rand.New(rand.NewPCG(seed, 37)))
		for i := range 160 {
			switch h.IntN(40) {
			case 0:
				h.devices = map[string]int64{resources.Memory: int64(1 + h.IntN(4))}
			case 1:
				h.devices = map[string]int64{resources.Memory: 2, "pods": 1}
			case 2:
				h.devices = nil
			}
			h.step()
			assert.NilError(t, h.broken, "seed %d, step %d", seed, i)
			assert.NilError(t, h.p.Verify(), "seed %d, step %d", seed, i)
		}
		h.settle(t)
	}
}

// Orders are made anew when they have missed more changes than are kept, or were dropped for
// others. Here there are twelve times as many changes as are kept, and three times as many
// amounts as there may be orders.
func TestDeviceOrdersAreBounded(t *testing.T) {
	const nodes, orders = 4, 3
	p := core.NewPartition(api.Options{Kinds: testKinds(), ReserveDelay: -1}, api.Config{
		Name: "default", Root: api.QueueConfig{Name: "root", Queues: []api.QueueConfig{{Name: "a"}}},
		Nodes: api.NodeOrder{Devices: map[string]int64{resources.Memory: 1000}},
	})
	p.SetRankedMax(orders * nodes)
	for i := range nodes {
		p.Apply(start, api.AddNode{ID: api.NodeID(fmt.Sprint("n", i)), Capacity: resources.Amounts{100, 4000, 100}})
	}
	p.Apply(start, api.AddApplication{ID: "app", Queue: "root.a"})
	twin := naive{weights: map[resources.Kind]int64{0: 1}, packing: true, devices: &devices.Policy{
		Devices: []devices.Kind{{Kind: 1, Size: 1000}}, Beside: []resources.Kind{0},
	}}
	var running []api.AllocationKey
	most, now := 0, start
	for i := range 6000 {
		now = now.Add(time.Millisecond)
		size := int64(300 + 200*(i%2))
		switch {
		case i%1500 < 1490:
		case i < 3000:
			size = 700 // the same every time: its order is kept, and misses most changes
		default:
			size = int64(100 * (i % 10))
		}
		key := api.AllocationKey(fmt.Sprint("k", i))
		a := &api.Allocation{Key: key, Application: "app", Amounts: resources.Amounts{1, size, 1}}
		p.Apply(now, api.AddAllocation{Allocation: a})
		twin.view = p.View()
		want, found := twin.leastWaste(a.Amounts)
		assert.Assert(t, found, "%d", i)
		fx, _ := p.Schedule(now)
		at := slices.IndexFunc(fx, func(e api.Event) bool { _, is := e.(api.Placed); return is })
		assert.Assert(t, at >= 0, "%d", i)
		assert.Equal(t, fx[at].(api.Placed).Node, want, "%d", i)
		if running = append(running, key); len(running) > 20 {
			p.Apply(now, api.ReleaseAllocation{Application: "app", Key: running[0], Termination: si.TerminationType_STOPPED_BY_RM})
			running = running[1:]
		}
		most = max(most, p.DeviceOrders())
	}
	assert.NilError(t, p.Verify())
	assert.Equal(t, most, orders)
}

// Asks of three amounts take turns. What a placement looks at grows with the logarithm of the
// nodes, once there are orders for all of them.
func TestDeviceOrdersLookAtFewNodes(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	looked := func(nodes int) uint64 {
		p := core.NewPartition(api.Options{Kinds: testKinds(), ReserveDelay: -1}, api.Config{
			Name: "default", Root: api.QueueConfig{Name: "root", Queues: []api.QueueConfig{{Name: "a"}}},
			Nodes: api.NodeOrder{Devices: map[string]int64{"pods": 1000}},
		})
		for i := range nodes {
			p.Apply(start, api.AddNode{ID: api.NodeID(fmt.Sprint("n", i)), Capacity: resources.Amounts{4000, 4000, 400_000}})
		}
		p.Apply(start, api.AddApplication{ID: "app", Queue: "root.a"})
		add := func(from, to int) {
			for i := from; i < to; i++ {
				p.Apply(start, ask("app", fmt.Sprint("k", i), int64(1+i%3), 1, int64(300*(1+i%3))))
				run(p)
			}
		}
		add(0, 300)
		before := p.View().Work.Nodes
		add(300, 1300)
		return (p.View().Work.Nodes - before) / 1000
	}
	small, large := looked(100), looked(4000)
	t.Logf("%d with 100 nodes, %d with 4,000", small, large)
	assert.Assert(t, large <= small+80, "%d with 100 nodes, %d with 4,000", small, large)
	assert.Assert(t, small < 200, "%d", small)
}
