package backlog

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/topology"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// An ask that nodes refuse is tried on all of them that have room: in the order of their scores, then of what is used of their
// domains, then by ID.
func TestNodesThatRefuseArePassedInOrder(t *testing.T) {
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 3))
		kinds := new(resources.Kinds)
		l := ledger.NewLedger(api.Options{Kinds: kinds})
		var o NodeOrder
		domains, visited := topology.New(l.AllNodes, func(n *ledger.Node) int64 { return o.Used(n) }), uint64(0)
		domains.Configure([][]string{{"rack"}})
		o = NewNodeOrder(&visited, domains)
		order := api.NodeOrder{Packing: true, Weights: map[string]int64{resources.VCore: 1}}
		if seed%2 == 0 {
			order.Devices = map[string]int64{resources.VCore: 1}
		}
		o.Configure(kinds, order)
		var nodes []*ledger.Node
		for i := range 20 {
			n := l.AddNode(api.AddNode{ID: api.NodeID(fmt.Sprintf("n%02d", i)), Capacity: resources.Amounts{4}, Attributes: map[string]string{"rack": []string{"", "a", "b", "c", "d"}[random.IntN(5)]}})
			n.Free = resources.Amounts{random.Int64N(5)}
			n.Room = n.Free
			nodes = append(nodes, n)
			o.Reposition(n)
		}
		ask := resources.Amounts{2}
		place := func(n *ledger.Node) tie { return o.of(n).tie }
		if o.Devices != nil {
			place = func(n *ledger.Node) tie { return o.Devices.of(ask).bySlot[n.Slot].tie }
		}
		var want, got []*ledger.Node
		for _, n := range nodes {
			if ask.FitsIn(n.Room) {
				want = append(want, n)
			}
		}
		slices.SortFunc(want, func(a, b *ledger.Node) int {
			return cmp.Or(cmp.Compare(place(a).score, place(b).score), compareUse(place(a).domain, place(b).domain), cmp.Compare(a.ID, b.ID))
		})
		for n := o.First(ask); n != nil; n = o.Next(n, ask) {
			got = append(got, n)
		}
		assert.Assert(t, slices.Equal(got, want), "seed %d", seed)
	}
}
