package ledger

import (
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/tables"
)

// AddForeign books what another scheduler placed, on its node only. The same key
// again means other amounts, another node, priority or tags: the last message
// counts. Whether it is static was decided when it was first seen. It returns the request.
func (l *Ledger) AddForeign(a *api.Allocation, known *Request) *Request {
	if known != nil {
		if known.Node == a.Node && known.Amounts.Equal(a.Amounts) {
			l.retag(known, a)
			return known
		}
		l.unbookForeign(known)
		updated := *known.Allocation
		updated.Amounts, updated.Node, updated.Tags, updated.Priority = a.Amounts, a.Node, a.Tags, a.Priority
		known.Allocation = &updated
	} else {
		known = l.Register(a, nil)
	}
	n := l.FindNode(a.Node)
	if n == nil {
		l.unplace(known)
		return known
	}
	l.bookForeign(known, n)
	return known
}

// retag takes new tags and priority for a foreign allocation that stays where it is.
func (l *Ledger) retag(r *Request, a *api.Allocation) {
	updated := *r.Allocation
	updated.Tags, updated.Priority = a.Tags, a.Priority
	r.Allocation = &updated
	if r.RunsOn == nil {
		l.UnplacedView = nil
	} else {
		l.TagsChanged(r)
	}
}

// TagsChanged has what depends on the tags of an allocation that runs looked at again, such as
// plans in which it is a victim.
func (l *Ledger) TagsChanged(r *Request) {
	r.RunsOn.View = nil
	r.RunsOn.Revision++
	l.Changes.Node(r.RunsOn, NodeYields|NodeRetry)
}

// ReleaseForeign takes a foreign allocation off the books.
func (l *Ledger) ReleaseForeign(r *Request) {
	l.unbookForeign(r)
	l.Forget(r)
}

// bookForeign charges a foreign allocation to its node.
func (l *Ledger) bookForeign(r *Request, n *Node) {
	l.charge(r, n)
	n.AllowExcess()
	l.Occupied.Add(r.Amounts)
	l.Changes.Node(n, NodeFreed|NodeRetry)
	l.Tell(api.ForeignAdded{Allocation: r.Allocation})
}

// unbookForeign takes a foreign allocation off its node, or off the list of those
// whose node is not known.
func (l *Ledger) unbookForeign(r *Request) {
	n := r.RunsOn
	if n == nil {
		l.UnplacedView = nil
		list := tables.SwapRemove(l.unplaced[r.Node], r.on, onNode)
		if l.unplaced[r.Node] = list; len(list) == 0 {
			delete(l.unplaced, r.Node)
		}
		return
	}
	l.discharge(r)
	l.Occupied.Sub(r.Amounts)
	l.Changes.Node(n, NodeFreed|NodeRetry)
	l.Tell(api.ForeignRemoved{Allocation: r.Allocation})
}

// UnplaceForeign keeps the foreign allocations of a node that is removed, in case it
// comes back.
func (l *Ledger) UnplaceForeign(n *Node) {
	for _, r := range ByKey(n.Foreign) {
		l.discharge(r)
		l.Occupied.Sub(r.Amounts)
		l.unplace(r)
		l.Tell(api.ForeignRemoved{Allocation: r.Allocation})
	}
}

// unplace keeps a foreign allocation until its node is known.
func (l *Ledger) unplace(r *Request) {
	l.unplaced[r.Node] = addRequest(l.unplaced[r.Node], r, &r.on)
	l.UnplacedView = nil
}

// PlaceForeign books the foreign allocations that waited for a node.
func (l *Ledger) PlaceForeign(n *Node) {
	for _, r := range l.unplaced[n.ID] {
		l.bookForeign(r, n)
	}
	delete(l.unplaced, n.ID)
	l.UnplacedView = nil
}
