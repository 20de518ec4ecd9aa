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

// An ask that nodes refuse is tried on all of them that have room: in the order of their scores, with the price of their classes where
// something is scarce, then by class, then of what is used of their domains, then by ID.
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
		order.Scarcity = seed%3 == 0
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
		if s := o.scarce(); s != nil {
			for range random.IntN(10) {
				s.Arrive([]string{"", "rack=a", "rack=b|c"}[random.IntN(3)], ask)
			}
			o.WeighAgain()
		}
		place := func(n *ledger.Node) (is tie, class int) { return o.of(n).tie, 0 }
		if o.Devices != nil {
			place = func(n *ledger.Node) (is tie, class int) {
				class, price := o.PriceOf(n, ask)
				is = o.Devices.of(ask).bySlot[n.Slot].tie
				is.score += price
				return is, class
			}
		}
		var want, got []*ledger.Node
		for _, n := range nodes {
			if ask.FitsIn(n.Room) {
				want = append(want, n)
			}
		}
		slices.SortFunc(want, func(a, b *ledger.Node) int {
			x, classX := place(a)
			y, classY := place(b)
			return cmp.Or(cmp.Compare(x.score, y.score), cmp.Compare(classX, classY), compareUse(x.domain, y.domain), cmp.Compare(a.ID, b.ID))
		})
		for n := o.First(ask); n != nil; n = o.Next(n, ask) {
			got = append(got, n)
		}
		assert.Assert(t, slices.Equal(got, want), "seed %d", seed)
	}
}
