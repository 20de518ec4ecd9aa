package core

import (
	"fmt"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
)

func (p *Partition) refuseNode(id api.NodeID, format string, args ...any) {
	p.Tell(&api.NodeRejected{ID: id, Reason: fmt.Sprintf(format, args...)})
}

func (p *Partition) addNode(c api.AddNode) {
	if c.ID == "" {
		p.refuseNode(c.ID, "a node without an ID")
		return
	}
	if p.FindNode(c.ID) != nil {
		p.refuseNode(c.ID, "node %s is registered already", c.ID)
		return
	}
	if kind, negative := c.Capacity.Negative(); negative {
		p.refuseNode(c.ID, "node %s has a negative capacity of %s", c.ID, p.Kinds.Name(kind))
		return
	}
	n := p.AddNode(c)
	p.evictions.ReportForeign(n)
	p.settling.Extend()
	if !n.Schedulable {
		p.settling.Hold(n)
	}
	p.renominations.NodeReady(n)
	p.learnKinds(n.Capacity)
	p.Changes.Node(n, ledger.NodeFreed|ledger.NodeRetry|ledger.NodeUpdated)
}

func (p *Partition) updateNode(c api.UpdateNode) {
	n := p.FindNode(c.ID)
	if n == nil {
		p.refuseNode(c.ID, "node %s to be updated is not registered", c.ID)
		return
	}
	if c.Capacity != nil {
		if kind, negative := c.Capacity.Negative(); negative {
			p.refuseNode(c.ID, "node %s keeps its capacity: the new one of %s is negative", c.ID, p.Kinds.Name(kind))
			return
		}
		if p.SetCapacity(n, c.Capacity) {
			p.learnKinds(c.Capacity)
		}
	}
	if c.Attributes != nil {
		p.SetAttributes(n, c.Attributes)
		p.evictions.NodeReported(n)
	}
	p.Changes.Node(n, ledger.NodeFreed|ledger.NodeRetry|ledger.NodeUpdated)
}

func (p *Partition) setSchedulable(id api.NodeID, schedulable bool) {
	n := p.FindNode(id)
	if n == nil {
		verb := "drained"
		if schedulable {
			verb = "made schedulable"
		}
		p.refuseNode(id, "node %s to be %s is not registered", id, verb)
		return
	}
	if n.Schedulable == schedulable {
		return
	}
	p.SetSchedulable(n, schedulable)
	if schedulable {
		p.settling.Extend()
		p.settling.Release(n)
	} else {
		p.kept.ClearOn(n, "the node takes nothing new")
	}
	p.renominations.NodeReady(n)
	p.Tell(&api.NodeSchedulable{ID: n.ID, Schedulable: schedulable})
	p.Changes.Node(n, ledger.NodeFreed|ledger.NodeRetry|ledger.NodeUpdated)
}

// removeNode takes a node off the books. Foreign allocations stay known, in
// case the node comes back.
func (p *Partition) removeNode(id api.NodeID) {
	n := p.FindNode(id)
	if n == nil {
		p.refuseNode(id, "node %s to be removed is not registered", id)
		return
	}
	p.SetSchedulable(n, false)
	for r := range n.Required.All {
		p.kept.End(r, "the node is gone", api.EndOfRoom)
	}
	p.kept.ClearOn(n, "the node is gone")
	p.RemoveNode(n)
	p.order.Reposition(n)
	own := ledger.ByKey(n.Own)
	for _, r := range own {
		p.endAllocation(r, api.CauseNodeRemoved, fmt.Sprintf("node %s was removed", id))
	}
	for _, r := range own {
		p.completeLater(r.App)
	}
	for _, r := range n.Foreign {
		p.evictions.Cancel(r) // nothing is evicted from a node that is not there
	}
	p.UnplaceForeign(n)
	p.AwaitNode(n)
	p.Changes.Node(n, 0)
	p.Tell(&api.NodeRemoved{ID: id, Total: p.Capacity.Clone()})
}
