package core

import (
	"cmp"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// viewUnplaced lists the foreign allocations of unknown nodes by key.
func (l *ledger) viewUnplaced() []*api.Allocation {
	if l.unplacedView == nil && len(l.unplaced) > 0 {
		for _, waiting := range l.unplaced {
			l.unplacedView = append(l.unplacedView, allocations(waiting)...)
		}
		slices.SortFunc(l.unplacedView, func(a, b *api.Allocation) int { return cmp.Compare(a.Key, b.Key) })
	}
	return slices.Clip(l.unplacedView)
}

func (n *node) viewed() *api.NodeView {
	if n.view != nil {
		return n.view
	}
	n.view = &api.NodeView{
		ID: n.id, Attributes: n.attributes, Schedulable: n.schedulable,
		Capacity: n.capacity.Clone(), Allocated: n.allocated.Clone(), Occupied: n.occupied.Clone(), Available: n.free.Clone(),
		Allocations: allocations(n.own), ForeignAllocations: allocations(n.foreign),
		Slot: n.slot, UpdatedAt: n.updatedAt,
	}
	for _, r := range n.claims {
		if held := r.reservation(); held != nil {
			n.view.Reservations = append(n.view.Reservations, *held)
		} else {
			n.view.Nominated = append(n.view.Nominated, r.Key)
			n.view.NominatedAmounts.Add(r.Amounts)
		}
	}
	for r := range n.allOn {
		if e := r.eviction; e != nil {
			n.view.Evictions = append(n.view.Evictions, api.Eviction{
				Key: r.Key, For: e.ask, Since: e.since, Overdue: e.overdue, Late: e.late, NodeOnly: e.nodeOnly, BlocksUntil: e.guard.until, Reported: e.reported, Dismissed: e.dismissed, Trigger: e.trigger, Class: e.class,
			})
		}
	}
	slices.SortFunc(n.view.Evictions, func(a, b api.Eviction) int { return cmp.Compare(a.Key, b.Key) })
	return n.view
}

func allocations(list []*request) []*api.Allocation {
	out := make([]*api.Allocation, len(list))
	for i, r := range list {
		out[i] = r.Allocation
	}
	return out
}
