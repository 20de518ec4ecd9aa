package core

import (
	"fmt"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

func (p *Partition) findNode(id NodeID) *node {
	p.likeNode.id = id
	n, _ := p.nodes.Get(&p.likeNode)
	return n
}

func (p *Partition) refuseNode(id NodeID, format string, args ...any) {
	p.tell(&NodeRejected{id, fmt.Sprintf(format, args...)})
}

func (p *Partition) addNode(c AddNode) {
	if c.ID == "" {
		p.refuseNode(c.ID, "a node without an ID")
		return
	}
	if p.findNode(c.ID) != nil {
		p.refuseNode(c.ID, "node %s is registered already", c.ID)
		return
	}
	if kind, negative := c.Capacity.Negative(); negative {
		p.refuseNode(c.ID, "node %s has a negative capacity of %s", c.ID, p.kinds.Name(kind))
		return
	}
	if p.capacity.Overflows(c.Capacity) {
		p.refuseNode(c.ID, "node %s has more capacity than can be counted", c.ID)
		return
	}
	n := &node{id: c.ID, slot: p.takeSlot(), attributes: c.Attributes, schedulable: !c.Drained, capacity: c.Capacity}
	p.nodes.ReplaceOrInsert(n)
	p.capacity.Add(n.capacity)
	p.sharesStale = true
	p.tell(&NodeAdded{n.id, n.capacity.Clone(), n.attributes, n.schedulable, p.capacity.Clone()})
	n.recount()
	for _, r := range p.homeless[n.id] {
		p.settleForeign(r, n)
	}
	delete(p.homeless, n.id)
	n.wanted = p.stranded[n.id]
	delete(p.stranded, n.id)
	p.relieved(n)
}

// takeSlot is a number that no node has, less than there were nodes at once.
func (p *Partition) takeSlot() int32 {
	last := len(p.nodeSlots) - 1
	if last < 0 {
		return int32(p.nodes.Len())
	}
	slot := p.nodeSlots[last]
	p.nodeSlots = p.nodeSlots[:last]
	return slot
}

func (p *Partition) updateNode(c UpdateNode) {
	n := p.findNode(c.ID)
	if n == nil {
		p.refuseNode(c.ID, "node %s to be updated is not registered", c.ID)
		return
	}
	if c.Capacity != nil {
		if kind, negative := c.Capacity.Negative(); negative {
			p.refuseNode(c.ID, "node %s keeps its capacity: the new one of %s is negative", c.ID, p.kinds.Name(kind))
			return
		}
		if p.capacity.Minus(n.capacity).Overflows(c.Capacity) {
			p.refuseNode(c.ID, "node %s keeps its capacity: the new one is more than can be counted", c.ID)
			return
		}
		p.setCapacity(n, c.Capacity)
	}
	if c.Attributes != nil {
		n.attributes = c.Attributes
		n.view = nil
		p.tell(&NodeAttributes{n.id, n.attributes})
	}
	p.relieved(n)
}

func (p *Partition) setCapacity(n *node, capacity resources.Amounts) {
	if n.capacity.Equal(capacity) {
		return
	}
	p.capacity.Sub(n.capacity)
	p.capacity.Add(capacity)
	p.sharesStale = true
	n.capacity = capacity
	n.recount()
	n.tolerate()
	p.tell(&NodeResized{n.id, capacity.Clone(), p.capacity.Clone()})
}

func (p *Partition) setSchedulable(id NodeID, schedulable bool) {
	n := p.findNode(id)
	if n == nil {
		verb := "drained"
		if schedulable {
			verb = "made schedulable"
		}
		p.refuseNode(id, "node %s to be %s is not registered", id, verb)
		return
	}
	if n.schedulable == schedulable {
		return
	}
	n.schedulable = schedulable
	n.view = nil
	if !schedulable {
		if n.reserved != nil {
			p.unreserve(n.reserved)
		}
		p.clearNominations(n, "the node takes nothing new")
	}
	p.tell(&NodeSchedulable{n.id, schedulable})
	p.relieved(n)
}

// removeNode takes a node off the books. Foreign allocations stay known, in
// case the node comes back.
func (p *Partition) removeNode(id NodeID) {
	n := p.findNode(id)
	if n == nil {
		p.refuseNode(id, "node %s to be removed is not registered", id)
		return
	}
	n.schedulable = false
	if n.links.In() {
		p.open.Remove(n)
	}
	if n.reserved != nil {
		p.unreserve(n.reserved)
	}
	for _, r := range n.wanted {
		p.unreserve(r)
	}
	p.clearNominations(n, "the node is gone")
	p.nodes.Delete(n)
	n.gone = true
	p.changed(n)
	p.nodeSlots = append(p.nodeSlots, n.slot)
	p.capacity.Sub(n.capacity)
	p.sharesStale = true
	own := byKey(n.own)
	for _, r := range own {
		p.unplace(r)
		p.forget(r)
		p.ended(r, CauseNodeRemoved, fmt.Sprintf("node %s was removed", id))
	}
	for _, r := range own {
		p.rest(r.application)
	}
	for _, r := range byKey(n.foreign) {
		n.discharge(r)
		r.going = nil // nobody is told to go from a node that is not there
		p.occupied.Sub(r.Amounts)
		p.tell(ForeignRemoved{r.Allocation})
		p.homeless[id] = append(p.homeless[id], r)
	}
	for _, r := range n.wanted {
		w := r.waiting()
		w.reason, w.detail, w.plan = NodeUnknown, "", nil // the node may come back as another one
		r.application.view = nil
		p.stranded[id] = append(p.stranded[id], r)
	}
	p.tell(&NodeRemoved{id, p.capacity.Clone()})
}

// settleNode brings the place of a node in the order up to date.
func (p *Partition) settleNode(n *node) {
	p.changed(n)
	score := n.scored(p.weights, p.packing)
	p.open.Settle(n, n.open(), score != n.score, true, func() { n.score = score })
}

// relieved is called when a node may have become of use: room came free, or it
// was opened. Asks that wait for a node are tried again.
func (p *Partition) relieved(n *node) {
	p.settleNode(n)
	p.disturb(n)
	if n.schedulable {
		p.shapes.offer(n)
		p.rouseBy(n)
	}
	p.recallAside(n)
}

// disturb has the asks that are bound to a node tried again.
func (p *Partition) disturb(n *node) {
	if !n.dirty && (len(n.wanted) > 0 || n.reserved != nil || len(n.nominated) > 0) {
		n.dirty = true
		p.dirty = append(p.dirty, n)
	}
}
