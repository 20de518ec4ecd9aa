package core

import (
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/tables"
)

// addForeign books what another scheduler placed, on its node only. The same key
// again means other amounts, another node, priority or tags: the last message
// counts. Whether it is static was decided when it was first seen. It returns the request.
func (l *ledger) addForeign(a *api.Allocation, known *request) *request {
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
		known = l.register(a, nil)
	}
	n := l.findNode(a.Node)
	if n == nil {
		l.unplace(known)
		return known
	}
	l.bookForeign(known, n)
	return known
}

// retag takes new tags and priority for a foreign allocation that stays where it is.
func (l *ledger) retag(r *request, a *api.Allocation) {
	updated := *r.Allocation
	updated.Tags, updated.Priority = a.Tags, a.Priority
	r.Allocation = &updated
	if r.node == nil {
		l.unplacedView = nil
	} else {
		l.tagsChanged(r)
	}
}

// tagsChanged has what depends on the tags of an allocation that runs looked at again, such as
// plans in which it is a victim.
func (l *ledger) tagsChanged(r *request) {
	r.node.view = nil
	r.node.revision++
	l.changes.node(r.node, nodeYields|nodeRetry)
}

// releaseForeign takes a foreign allocation off the books.
func (l *ledger) releaseForeign(r *request) {
	l.unbookForeign(r)
	l.forget(r)
}

// bookForeign charges a foreign allocation to its node.
func (l *ledger) bookForeign(r *request, n *node) {
	l.charge(r, n)
	n.allowExcess()
	l.occupied.Add(r.Amounts)
	l.changes.node(n, nodeFreed|nodeRetry)
	l.tell(api.ForeignAdded{Allocation: r.Allocation})
}

// unbookForeign takes a foreign allocation off its node, or off the list of those
// whose node is not known.
func (l *ledger) unbookForeign(r *request) {
	n := r.node
	if n == nil {
		l.unplacedView = nil
		list := tables.SwapRemove(l.unplaced[r.Node], r.on, onNode)
		if l.unplaced[r.Node] = list; len(list) == 0 {
			delete(l.unplaced, r.Node)
		}
		return
	}
	l.discharge(r)
	l.occupied.Sub(r.Amounts)
	l.changes.node(n, nodeFreed|nodeRetry)
	l.tell(api.ForeignRemoved{Allocation: r.Allocation})
}

// unplaceForeign keeps the foreign allocations of a node that is removed, in case it
// comes back.
func (l *ledger) unplaceForeign(n *node) {
	for _, r := range byKey(n.foreign) {
		l.discharge(r)
		l.occupied.Sub(r.Amounts)
		l.unplace(r)
		l.tell(api.ForeignRemoved{Allocation: r.Allocation})
	}
}

// unplace keeps a foreign allocation until its node is known.
func (l *ledger) unplace(r *request) {
	l.unplaced[r.Node] = addRequest(l.unplaced[r.Node], r, &r.on)
	l.unplacedView = nil
}

// placeForeign books the foreign allocations that waited for a node.
func (l *ledger) placeForeign(n *node) {
	for _, r := range l.unplaced[n.id] {
		l.bookForeign(r, n)
	}
	delete(l.unplaced, n.id)
	l.unplacedView = nil
}
