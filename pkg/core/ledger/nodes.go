package ledger

import (
	"cmp"
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// AddNode registers a node that is not known, with the foreign allocations and the asks that have waited for it.
// It costs what these are, and a place among the nodes.
func (l *Ledger) AddNode(c api.AddNode) *Node {
	n := &Node{ID: c.ID, Slot: l.nodeSlots.Take(), Schedulable: !c.Drained, Capacity: c.Capacity, Attributes: c.Attributes, UpdatedAt: l.NodesUpdated + 1} // what is known of one that had its number does not hold
	l.Nodes.ReplaceOrInsert(n)
	l.nodesByID[n.ID] = n
	l.Capacity.Add(n.Capacity)
	l.resized()
	l.Tell(&api.NodeAdded{ID: n.ID, Capacity: n.Capacity.Clone(), Attributes: n.Attributes, Schedulable: n.Schedulable, Total: l.Capacity.Clone()})
	n.Recount()
	l.PlaceForeign(n)
	if waiting := l.Absent[n.ID]; waiting != nil {
		n.Required = *waiting
		delete(l.Absent, n.ID)
	}
	return n
}

// resized notes that the capacity of all nodes has changed.
func (l *Ledger) resized() {
	l.Holds, l.SlotsDue = l.Holds+1, true
	l.Changes.Resized = true
}

// SetCapacity gives a node another capacity, and reports whether it is another one. What runs there stays.
func (l *Ledger) SetCapacity(n *Node, capacity resources.Amounts) bool {
	if n.Capacity.Equal(capacity) {
		return false
	}
	l.Capacity.Sub(n.Capacity)
	l.Capacity.Add(capacity)
	l.resized()
	n.Capacity = capacity
	n.Recount()
	n.AllowExcess()
	l.Tell(&api.NodeResized{ID: n.ID, Capacity: capacity.Clone(), Total: l.Capacity.Clone()})
	return true
}

// SetAttributes gives a node other attributes.
func (l *Ledger) SetAttributes(n *Node, attributes map[string]string) {
	n.Attributes = attributes
	n.View = nil
	l.Tell(&api.NodeAttributes{ID: n.ID, Attributes: n.Attributes})
}

// SetSchedulable lets a node take asks, or no more.
func (l *Ledger) SetSchedulable(n *Node, schedulable bool) {
	n.Schedulable = schedulable
	n.View = nil
}

// RemoveNode takes a node out of the ledger on which nothing is kept. What runs there is still booked on it, and is to
// be ended by the caller.
func (l *Ledger) RemoveNode(n *Node) {
	n.Schedulable, n.Gone = false, true
	l.Nodes.Delete(n)
	delete(l.nodesByID, n.ID)
	l.nodeSlots.GiveBack(n.Slot)
	l.Capacity.Sub(n.Capacity)
	l.resized()
}

// Bind lists an ask that has a required node with that node.
func (l *Ledger) Bind(r *Request) {
	if n := l.FindNode(r.Required); n != nil {
		n.Required.Add(r)
		l.Changes.Node(n, NodeRetry)
		return
	}
	r.Waiting().Reason = api.NodeUnknown
	set := l.Absent[r.Required]
	if set == nil {
		set = &AskSet{}
		l.Absent[r.Required] = set
	}
	set.Add(r)
}

// Unbind takes an ask off the list of its required node, if it has one.
func (l *Ledger) Unbind(r *Request) {
	if r.Required == "" {
		return
	}
	if n := l.FindNode(r.Required); n != nil {
		n.Required.Remove(r)
		return
	}
	if set := l.Absent[r.Required]; set != nil && set.Remove(r) {
		delete(l.Absent, r.Required)
	}
}

// AwaitNode has the asks that may run on a removed node only wait for one of that name, which may come back as
// another one.
func (l *Ledger) AwaitNode(n *Node) {
	if n.Required.Len() == 0 {
		return
	}
	for r := range n.Required.All {
		w := r.Waiting()
		w.GivesUp(api.NodeUnknown, "")
		w.Since, r.MadeRoom = time.Time{}, false
		l.Changes.Application(r.App, 0)
	}
	waiting := n.Required
	l.Absent[n.ID] = &waiting
	n.Required = AskSet{}
}

// ByKey is a copy of a list in an order that does not depend on history.
func ByKey(list []*Request) []*Request {
	sorted := slices.Clone(list)
	slices.SortFunc(sorted, func(a, b *Request) int { return cmp.Compare(a.Key, b.Key) })
	return sorted
}
