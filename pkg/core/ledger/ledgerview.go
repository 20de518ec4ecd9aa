package ledger

import (
	"cmp"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// ViewUnplaced lists the foreign allocations of unknown nodes by key.
func (l *Ledger) ViewUnplaced() []*api.Allocation {
	if l.UnplacedView == nil && len(l.unplaced) > 0 {
		for _, waiting := range l.unplaced {
			l.UnplacedView = append(l.UnplacedView, allocations(waiting)...)
		}
		slices.SortFunc(l.UnplacedView, func(a, b *api.Allocation) int { return cmp.Compare(a.Key, b.Key) })
	}
	return slices.Clip(l.UnplacedView)
}

// Viewed is a node for readers. It is made anew after a change only.
func (n *Node) Viewed() *api.NodeView {
	if n.View != nil {
		return n.View
	}
	n.View = &api.NodeView{
		ID: n.ID, Attributes: n.Attributes, Schedulable: n.Schedulable,
		Capacity: n.Capacity.Clone(), Allocated: n.allocated.Clone(), Occupied: n.occupied.Clone(), Available: n.Free.Clone(),
		Allocations: allocations(n.Own), ForeignAllocations: allocations(n.Foreign),
		Slot: n.Slot, UpdatedAt: n.UpdatedAt,
	}
	for _, r := range n.Claims {
		if held := r.Reservation(); held != nil {
			n.View.Reservations = append(n.View.Reservations, *held)
		} else {
			n.View.Nominated = append(n.View.Nominated, r.Key)
			n.View.NominatedAmounts.Add(r.Amounts)
		}
	}
	for r := range n.AllOn {
		if e := r.Eviction; e != nil {
			n.View.Evictions = append(n.View.Evictions, api.Eviction{
				Key: r.Key, For: e.Ask, Since: e.Since, Overdue: e.Overdue, Late: e.Late, NodeOnly: e.NodeOnly, BlocksUntil: e.Guard.Until, Reported: e.Reported, Dismissed: e.Dismissed, Trigger: e.Trigger, Class: e.Class,
			})
		}
	}
	slices.SortFunc(n.View.Evictions, func(a, b api.Eviction) int { return cmp.Compare(a.Key, b.Key) })
	return n.View
}

// Running is what runs of an application, as views show it.
func (a *Application) Running() []*api.Allocation { return allocations(a.Allocations) }

// allocations are those of some requests.
func allocations(list []*Request) []*api.Allocation {
	out := make([]*api.Allocation, len(list))
	for i, r := range list {
		out[i] = r.Allocation
	}
	return out
}

// Candidate is an allocation as the preemptor sees it.
func (r *Request) Candidate() preemptor.Candidate {
	return preemptor.Candidate{
		Key: string(r.Key), Amounts: r.Amounts, Priority: r.Priority, Created: r.Created,
		Required:  r.Required != "",
		Foreign:   r.IsForeign(),
		Static:    r.Origin == api.Static,
		Owner:     r.Owns(),
		OptedOut:  r.OptedOut(),
		Protected: r.IsReplaced() || !r.Foreign() && r.App.Queue.Properties.PreemptionPolicy == api.PreemptionDisabled,
		Releasing: r.Eviction != nil && !r.Eviction.Overdue,
		Overdue:   r.Eviction != nil && r.Eviction.Overdue,
		Late:      r.Eviction != nil && r.Eviction.Late,
		QoS:       r.QoS(),
		Settled:   r.Settled,
	}
}

// Candidates are all allocations of a node as the preemptor sees them.
func (n *Node) Candidates() []preemptor.Candidate {
	on := make([]preemptor.Candidate, 0, len(n.Own)+len(n.Foreign))
	for r := range n.AllOn {
		on = append(on, r.Candidate())
	}
	return on
}
