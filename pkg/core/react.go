package core

import "github.com/narwhal-scheduler/narwhal/pkg/core/ledger"

// react brings everything in line with the changes of the ledger since it was last
// called, and decides which asks are tried again. It is the only place that does so:
// booking and unbooking call nothing. Every Schedule begins with it, and it follows
// every placement.
func (p *Partition) react() {
	for !p.Changes.None() {
		p.NextStamp()
		p.reactToNodes()
		p.order.WeighAgain()
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
	if !p.Changes.AnyNode() {
		return
	}
	if len(p.retries.Queue) > 0 || len(p.retries.Excess) > 0 {
		p.retries.Soon()
	}
	freed, updated := false, []*ledger.Node(nil)
	for n, what := range p.TakeNodes {
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
		if what&ledger.NodeUpdated != 0 {
			updated = append(updated, n)
			if len(p.slots.Unplaced) > 0 {
				p.MayHelpSlots()
			}
		}
		if what&ledger.NodeFreed != 0 {
			if n.Schedulable && p.Parked.Len() > 0 {
				p.Rooms.Appear(n)
			}
			p.refused.NodeFreed(n)
			freed = true
		}
		if what&(ledger.NodeFreed|ledger.NodeYields) != 0 && n.Schedulable && len(p.retries.ByNode) > 0 {
			p.retries.NodeChanged(n)
		}
	}
	for _, n := range updated { // when all of them are in their domains
		p.groups.NodeUpdated(n)
	}
	if freed {
		p.groups.WakeSoon() // when it is known what fits on all of them
	}
}

// retryBound has the asks tried again that are bound to a node.
func (p *Partition) retryBound(n *ledger.Node) {
	if n.Required.Len() > 0 || len(n.Claims) > 0 {
		p.addDirty(dirtyNode{Node: n})
	}
}

// reactToTaken has attempts repeated for asks which had room that is taken now.
func (p *Partition) reactToTaken() {
	for r := range p.Changes.TakePlaced {
		if r.RunsOn != nil && len(p.retries.ByNode) > 0 {
			p.retries.RoomTaken(r)
		}
	}
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
	for account := range p.Changes.TakeFreed {
		p.QuotaFreed()
		p.LetGo(account)
		for r := range account.LetGo {
			if n := p.boundTo(r); n != nil {
				p.Changes.Node(n, ledger.NodeRetry)
			}
		}
	}
}

// settleOrders puts applications and queues in order.
func (p *Partition) settleOrders() {
	for app := range p.Changes.TakeApplications {
		p.SettleApplication(app)
	}
	for q := range p.Changes.TakeQueues {
		p.SettleQueue(q)
	}
}
