package core

import "github.com/narwhal-scheduler/narwhal/pkg/core/ledger"

// react brings everything in line with the changes of the ledger since it was last
// called, and decides which asks are tried again. It is the only place that does so:
// booking and unbooking call nothing. Every Schedule begins with it, and it follows
// every placement.
func (p *Partition) react() {
	for !p.Changes.None() {
		p.Stamp++
		p.reactToNodes()
		p.reactToTaken()
		p.groups.React()
		p.reactToQuotas()
		p.wakeHeld()
		p.settleOrders()
		if p.Changes.Resized {
			p.Resize()
		}
	}
}

// reactToNodes puts nodes in order, and has those asks tried again that may fit on a
// changed node now.
func (p *Partition) reactToNodes() {
	nodes := p.Changes.Nodes
	if len(nodes) == 0 {
		return
	}
	if len(p.retries.Queue) > 0 || len(p.retries.Excess) > 0 {
		p.retries.Soon()
	}
	for i := range nodes { // the list may grow meanwhile
		n := nodes[i]
		what := n.Change
		n.Change = 0
		p.predicates.NodeChanged(n, what&ledger.NodeUpdated != 0)
		if len(p.costs.Known) > 0 {
			p.costs.NodeChanged(n)
		}
		if n.Gone {
			p.Rooms.Remove(n)
			continue
		}
		p.order.Reposition(n)
		p.Rooms.Change(n)
		if what&ledger.NodeRetry != 0 {
			p.retryBound(n)
		}
		p.SlotsDue = p.SlotsDue || what&ledger.NodeUpdated != 0 && len(p.slots.Unplaced) > 0
		if what&ledger.NodeFreed != 0 {
			if n.Schedulable && p.Parked.Len() > 0 {
				p.Rooms.Appear(n)
			}
			p.refused.NodeFreed(n)
			p.groups.WakeSoon()
		}
		if what&(ledger.NodeFreed|ledger.NodeYields) != 0 && n.Schedulable && len(p.retries.ByNode) > 0 {
			p.retries.NodeChanged(n)
		}
	}
	p.Changes.Nodes = append(nodes[:0], p.Changes.Nodes[len(nodes):]...)
}

// retryBound has the asks tried again that are bound to a node.
func (p *Partition) retryBound(n *ledger.Node) {
	if !n.Retry && (n.Required.Len() > 0 || len(n.Claims) > 0) {
		n.Retry = true
		p.dirty = append(p.dirty, dirtyNode{Node: n})
	}
}

// reactToTaken has attempts repeated for asks which had room that is taken now.
func (p *Partition) reactToTaken() {
	for _, r := range p.Changes.Placed {
		if r.RunsOn == nil || len(p.retries.ByNode) == 0 {
			continue
		}
		p.retries.RoomTaken(r)
	}
	clear(p.Changes.Placed)
	p.Changes.Placed = p.Changes.Placed[:0]
}

// reactToQuotas has what queues hold back looked at again, and watches the queues that are beyond
// their max.
func (p *Partition) reactToQuotas() {
	booked := false
	for again := true; again; { // claims that end free quota
		again = false
		for _, q := range p.Changes.Queues { // the list may grow meanwhile
			what := q.Change
			if what&(ledger.QuotaFreed|ledger.QuotaLowered|ledger.QuotaBooked) == 0 {
				continue
			}
			q.Reacted()
			p.quotas.WatchUp(q, what&ledger.QuotaBooked != 0)
			if what&(ledger.QuotaLowered|ledger.QuotaBooked) != 0 {
				again = p.kept.GiveWay(nil, &q.Account) || again
				booked = true
			}
			if what&ledger.QuotaFreed != 0 {
				p.groups.WakeSoon()
				p.Changes.FreeAll(&q.Account)
			}
		}
		if booked && p.Limited() {
			for _, app := range p.Changes.Applications {
				again = p.kept.GiveWay(nil, app.ByUser, app.ByGroup) || again
			}
		}
	}
	if booked {
		p.kept.RecheckLimits(p.Changes.Applications...)
	}
}

// wakeHeld has what accounts hold back looked at again that may hold more.
func (p *Partition) wakeHeld() {
	freed := p.Changes.Freed
	if len(freed) > 0 {
		p.QuotaFreed()
	}
	for _, account := range freed {
		account.Freed = false
		p.LetGo(account)
		for r := range account.LetGo {
			if n := p.boundTo(r); n != nil {
				p.Changes.Node(n, ledger.NodeRetry)
			}
		}
	}
	clear(freed)
	p.Changes.Freed = freed[:0]
}

// settleOrders puts applications and queues in order.
func (p *Partition) settleOrders() {
	for _, app := range p.Changes.Applications {
		app.Changed = false
		p.SettleApplication(app)
	}
	clear(p.Changes.Applications)
	p.Changes.Applications = p.Changes.Applications[:0]
	for _, q := range p.Changes.Queues {
		q.Change = 0
		p.SettleQueue(q)
	}
	clear(p.Changes.Queues)
	p.Changes.Queues = p.Changes.Queues[:0]
}
