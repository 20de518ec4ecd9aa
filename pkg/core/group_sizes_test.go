package core_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/seeds"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// TestRoomForMembersOfSeveralSizes has a group with members of one to four units come to a few nodes, on which less important asks run. Room is made
// for it only where it can start, and nearly always where it can, as tried in every way.
func TestRoomForMembersOfSeveralSizes(t *testing.T) {
	for _, surplus := range []int{0, 2} {
		found, missed := 0, 0
		for seed := range seeds.Of(t, 4000) {
			w := &sizesWorld{Rand: rand.New(rand.NewPCG(seed, 5))}
			least, asks := w.play(surplus)
			view := w.p.View()
			var starts int
			all := make([]*api.NodeView, len(view.Nodes)) // as if all had left
			for i, n := range view.Nodes {
				starts += len(n.Nominated)
				for _, a := range n.Allocations {
					if a.Tags != nil {
						starts++
					}
				}
				empty := *n
				empty.Available = n.Capacity
				all[i] = &empty
			}
			switch can := packs(all, asks, least); {
			case starts > 0:
				assert.Assert(t, can && starts >= least, "seed %d: %d of %d, and all of them: %v", seed, starts, least, can)
				found++
			case can:
				missed++
			}
		}
		t.Logf("%d more than must start: found %d, missed %d", surplus, found, missed)
		assert.Assert(t, missed*150 <= found, "%d of %d", missed, found)
	}
}

// A sizesWorld is nodes on which asks of any size run.
type sizesWorld struct {
	*rand.Rand
	p *core.Partition
}

// play fills the nodes, has the group come, and schedules until it is done. So many of the asks must start.
func (w *sizesWorld) play(surplus int) (least int, asks []*api.Allocation) {
	w.p = core.NewPartition(api.Options{Kinds: testKinds(), ReserveDelay: -1}, api.Config{
		Name: "default", Nodes: api.NodeOrder{Packing: w.IntN(2) == 0},
		Root: api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{{Name: "default"}}},
	})
	w.p.Apply(start, api.AddApplication{ID: "a"})
	for i := range 2 + w.IntN(3) {
		free, id := int64(2+w.IntN(5)), api.NodeID(fmt.Sprint("n", i))
		w.p.Apply(start, api.AddNode{ID: id, Capacity: resources.Amounts{free, 100}})
		for free > 0 {
			runs := ask("a", fmt.Sprint(id, "-", free), min(free, int64(1+w.IntN(3))), 1)
			runs.Allocation.Node = id
			if free -= runs.Allocation.Amounts[0]; w.IntN(5) > 0 {
				w.p.Apply(start, runs)
			}
		}
	}
	least = 2 + w.IntN(4)
	for i := range least + w.IntN(1+surplus) {
		member := ask("a", fmt.Sprint("m", i), int64(1+w.IntN(4)), 1)
		member.Allocation.Priority, member.Allocation.Tags = 10, quorumTags("g", least)
		w.p.Apply(start, member)
		asks = append(asks, member.Allocation)
	}
	schedule(w.p, start)
	return least, asks
}
