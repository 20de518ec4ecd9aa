package core

import (
	"fmt"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

func (p *Partition) refuseNode(id api.NodeID, format string, args ...any) {
	p.tell(&api.NodeRejected{ID: id, Reason: fmt.Sprintf(format, args...)})
}

func (p *Partition) addNode(c api.AddNode) {
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
	n := &node{
		id: c.ID, slot: p.nodeSlots.Take(), schedulable: !c.Drained, capacity: c.Capacity, attributes: c.Attributes,
	}
	n.updatedAt = p.predicates.updated + 1 // what is known of the node that had the slot does not hold
	p.nodes.ReplaceOrInsert(n)
	p.nodesByID[n.id] = n
	p.capacity.Add(n.capacity)
	p.holds, p.slotsDue = p.holds+1, true
	p.largest.Raise(n.capacity)
	p.changes.resized = true
	p.tell(&api.NodeAdded{ID: n.id, Capacity: n.capacity.Clone(), Attributes: n.attributes, Schedulable: n.schedulable, Total: p.capacity.Clone()})
	n.recount()
	p.placeForeign(n)
	p.evictions.reportForeign(n)
	p.settling.extend()
	if !n.schedulable {
		p.settling.hold(n)
	}
	p.renominations.nodeReady(n)
	if waiting := p.absent[n.id]; waiting != nil {
		n.required = *waiting
		delete(p.absent, n.id)
	}
	p.learnKinds(n.capacity)
	p.changes.node(n, nodeFreed|nodeRetry|nodeUpdated)
}

func (p *Partition) updateNode(c api.UpdateNode) {
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
		p.setCapacity(n, c.Capacity)
	}
	if c.Attributes != nil {
		n.attributes = c.Attributes
		n.view = nil
		p.tell(&api.NodeAttributes{ID: n.id, Attributes: n.attributes})
		p.evictions.nodeReported(n)
	}
	n.revision++
	p.changes.node(n, nodeFreed|nodeRetry|nodeUpdated)
}

func (p *Partition) setCapacity(n *node, capacity resources.Amounts) {
	if n.capacity.Equal(capacity) {
		return
	}
	p.capacity.Sub(n.capacity)
	p.capacity.Add(capacity)
	p.holds, p.slotsDue = p.holds+1, true
	p.largest.Raise(capacity)
	p.changes.resized = true
	n.capacity = capacity
	n.recount()
	n.allowExcess()
	p.tell(&api.NodeResized{ID: n.id, Capacity: capacity.Clone(), Total: p.capacity.Clone()})
	p.learnKinds(capacity)
}

func (p *Partition) setSchedulable(id api.NodeID, schedulable bool) {
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
	if schedulable {
		p.settling.extend()
		n.held = false
	} else {
		p.kept.clearOn(n, "the node takes nothing new")
	}
	p.renominations.nodeReady(n)
	p.tell(&api.NodeSchedulable{ID: n.id, Schedulable: schedulable})
	p.changes.node(n, nodeFreed|nodeRetry|nodeUpdated)
}

// removeNode takes a node off the books. Foreign allocations stay known, in
// case the node comes back.
func (p *Partition) removeNode(id api.NodeID) {
	n := p.findNode(id)
	if n == nil {
		p.refuseNode(id, "node %s to be removed is not registered", id)
		return
	}
	n.schedulable = false
	for r := range n.required.all {
		p.kept.end(r, "the node is gone", api.EndOfRoom)
	}
	p.kept.clearOn(n, "the node is gone")
	p.nodes.Delete(n)
	delete(p.nodesByID, n.id)
	n.gone = true
	p.order.reposition(n)
	p.nodeSlots.GiveBack(n.slot)
	p.capacity.Sub(n.capacity)
	p.holds, p.slotsDue = p.holds+1, true
	p.changes.resized = true
	own := byKey(n.own)
	for _, r := range own {
		p.endAllocation(r, api.CauseNodeRemoved, fmt.Sprintf("node %s was removed", id))
	}
	for _, r := range own {
		p.completeLater(r.application)
	}
	for _, r := range n.foreign {
		p.evictions.cancel(r) // nothing is evicted from a node that is not there
	}
	p.unplaceForeign(n)
	p.awaitNode(n)
	p.changes.node(n, 0)
	p.tell(&api.NodeRemoved{ID: id, Total: p.capacity.Clone()})
}

// awaitNode has the asks that may run on a removed node only wait for it.
func (p *Partition) awaitNode(n *node) {
	if n.required.len() == 0 {
		return
	}
	for r := range n.required.all {
		w := r.waiting()
		w.reason, w.detail, w.plan = api.NodeUnknown, "", nil // the node may come back as another one
		w.since, r.madeRoom = time.Time{}, false
		p.changes.application(r.application, 0)
	}
	waiting := n.required
	p.absent[n.id] = &waiting
	n.required = askSet{}
}
