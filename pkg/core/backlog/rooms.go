package backlog

import (
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/order"
	"github.com/narwhal-scheduler/narwhal/pkg/core/tables"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// rooms are the nodes on which new room appeared since all asks that could be tried
// were tried. A parked class fits no other node, so a search compares what it wants
// with these only, and whole parts of the backlog with the most that there is on any
// of them.
type rooms struct {
	tree   order.Tree[*freshNode]
	on     []*freshNode // by slot of the node
	epoch  uint64       // counts appearances of room
	Learnt uint64       // the stamp when something was last learnt of classes
	Spare  []*freshNode
}

// A freshNode is a node with new room.
type freshNode struct {
	*ledger.Node
	links order.Links[*freshNode]
	most  resources.Amounts // free on any node of the subtree
}

// Before orders by the numbers of nodes.
func (f *freshNode) Before(other *freshNode) bool { return f.Slot < other.Slot }

// Links are the place among the rooms.
func (f *freshNode) Links() *order.Links[*freshNode] { return &f.links }

// usable is what asks may use of the node at most. Room that is kept for some of
// them counts: others may come before those.
func (f *freshNode) usable() resources.Amounts {
	if !f.Schedulable {
		return nil
	}
	return f.Free
}

// Summarise works out the most free in a subtree.
func (f *freshNode) Summarise() bool {
	own, left, right := f.usable(), f.links.Left, f.links.Right
	width := len(own)
	for _, child := range [2]*freshNode{left, right} {
		if child != nil {
			width = max(width, len(child.most))
		}
	}
	changed := len(f.most) != width
	for len(f.most) < width {
		f.most = append(f.most, 0)
	}
	f.most = f.most[:width]
	for i := range f.most {
		kind := resources.Kind(i)
		most := max(own.Of(kind), 0)
		if left != nil {
			most = max(most, left.most.Of(kind))
		}
		if right != nil {
			most = max(most, right.most.Of(kind))
		}
		changed = changed || f.most[i] != most
		f.most[i] = most
	}
	return changed
}

// Appear notes that there is new room on a node.
func (s *rooms) Appear(n *ledger.Node) {
	s.epoch++
	if f := s.of(n); f != nil {
		s.tree.Touch(f)
		return
	}
	f := s.takeSpare()
	f.Node = n
	*tables.At(&s.on, n.Slot) = f
	s.tree.Insert(f)
}

// of is what is noted of a node; nil if there is no new room.
func (s *rooms) of(n *ledger.Node) *freshNode {
	if int(n.Slot) < len(s.on) && s.on[n.Slot] != nil && s.on[n.Slot].Node == n {
		return s.on[n.Slot]
	}
	return nil
}

// takeSpare is an entry of no node.
func (s *rooms) takeSpare() *freshNode {
	last := len(s.Spare) - 1
	if last < 0 {
		return &freshNode{}
	}
	f := s.Spare[last]
	s.Spare = s.Spare[:last]
	return f
}

// Change notes that the room on a node is less than it was, or kept for asks.
func (s *rooms) Change(n *ledger.Node) {
	if f := s.of(n); f != nil {
		s.tree.Touch(f)
	}
}

// Remove forgets a node that is gone.
func (s *rooms) Remove(n *ledger.Node) {
	if f := s.of(n); f != nil {
		s.tree.Remove(f)
		s.on[n.Slot], f.Node = nil, nil
		s.Spare = append(s.Spare, f)
	}
}

// Most is what is free at most, kind by kind, on any of the nodes; false if there
// are none.
func (s *rooms) Most() (resources.Amounts, bool) {
	if top := s.tree.Root(); top != nil {
		return top.most, true
	}
	return nil, false
}

// Fit reports whether a class fits on any of the nodes.
func (s *rooms) Fit(c *Class) bool {
	if c.checked == s.epoch {
		return false
	}
	if s.fitBelow(s.tree.Root(), c) {
		return true
	}
	c.checked = s.epoch
	return false
}

func (s *rooms) fitBelow(top *freshNode, c *Class) bool {
	if top == nil || !c.Amounts.FitsIn(top.most) {
		return false
	}
	return top.Schedulable && top.HasRoom(c.Amounts, c.Importance) ||
		s.fitBelow(top.links.Left, c) || s.fitBelow(top.links.Right, c)
}

// SparesMax is how many entries of nodes are kept to be used again (see BenchmarkReuseOfRoom).
const SparesMax = 256

// Clear forgets the nodes.
func (s *rooms) Clear() {
	for f := range s.tree.All {
		s.Spare = append(s.Spare, f)
	}
	s.tree = order.Tree[*freshNode]{}
	for _, f := range s.Spare {
		if f.Node != nil {
			s.on[f.Slot] = nil
			f.Node, f.links = nil, order.Links[*freshNode]{}
		}
	}
	if len(s.Spare) > SparesMax {
		clear(s.Spare[SparesMax:])
		s.Spare = s.Spare[:SparesMax]
	}
}
