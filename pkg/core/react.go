package core

// react brings everything in line with the changes of the ledger since it was last
// called, and decides which asks are tried again. It is the only place that does so:
// booking and unbooking call nothing. Every Schedule begins with it, and it follows
// every placement.
func (p *Partition) react() {
	for !p.changes.none() {
		p.stamp++
		p.reactToNodes()
		p.reactToTaken()
		if len(p.changes.taskGroups) > 0 {
			p.reactToTaskGroups()
		}
		if len(p.changes.groups) > 0 {
			p.reactToGroups()
		}
		p.reactToQuotas()
		p.wakeHeld()
		p.settleOrders()
		if p.changes.resized {
			p.changes.resized, p.cluster = false, p.capacity.Clone()
			p.resizeShares(p.ofQueue(p.root))
		}
	}
}

// reactToNodes puts nodes in order, and has those asks tried again that may fit on a
// changed node now.
func (p *Partition) reactToNodes() {
	nodes := p.changes.nodes
	if len(nodes) == 0 {
		return
	}
	if len(p.retries.queue) > 0 || len(p.retries.excess) > 0 {
		p.retries.soon()
	}
	for i := range nodes { // the list may grow meanwhile
		n := nodes[i]
		what := n.change
		n.change = 0
		p.predicates.nodeChanged(n, what)
		if len(p.costs.known) > 0 {
			p.costs.nodeChanged(n)
		}
		if n.gone {
			p.rooms.remove(n)
			continue
		}
		p.order.reposition(n)
		p.rooms.change(n)
		if what&nodeRetry != 0 {
			p.retryBound(n)
		}
		p.slotsDue = p.slotsDue || what&nodeUpdated != 0 && len(p.slots.classes) > 0
		if what&nodeFreed != 0 {
			if n.schedulable && p.parked.Len() > 0 {
				p.rooms.appear(n)
			}
			p.refused.nodeFreed(n)
			p.wakeGroupsSoon()
		}
		if what&(nodeFreed|nodeYields) != 0 && n.schedulable && len(p.retries.byNode) > 0 {
			p.retries.nodeChanged(n)
		}
	}
	p.changes.nodes = append(nodes[:0], p.changes.nodes[len(nodes):]...)
}

// nodeChanged notes that what is known of a node does not hold any more.
func (p *predicates) nodeChanged(n *node, what nodeChange) {
	p.changed++
	n.changedAt = p.changed
	if what&nodeUpdated != 0 {
		p.updated++
		n.updatedAt = p.updated
		n.view = nil
	}
}

// retryBound has the asks tried again that are bound to a node.
func (p *Partition) retryBound(n *node) {
	if !n.retry && (n.required.len() > 0 || len(n.claims) > 0) {
		n.retry = true
		p.dirty = append(p.dirty, dirtyNode{node: n})
	}
}

// reactToTaken has attempts repeated for asks which had room that is taken now.
func (p *Partition) reactToTaken() {
	for _, r := range p.changes.placed {
		if r.node == nil || len(p.retries.byNode) == 0 {
			continue
		}
		p.retries.roomTaken(r)
	}
	clear(p.changes.placed)
	p.changes.placed = p.changes.placed[:0]
}

// reactToQuotas has what queues hold back looked at again, and watches the queues that are beyond
// their max.
func (p *Partition) reactToQuotas() {
	booked := false
	for again := true; again; { // claims that end free quota
		again = false
		for _, q := range p.changes.queues { // the list may grow meanwhile
			what := q.change
			if what&(quotaFreed|quotaLowered|quotaBooked) == 0 {
				continue
			}
			q.change = queueChanged
			p.quotas.watchUp(q, what&quotaBooked != 0)
			if what&(quotaLowered|quotaBooked) != 0 {
				again = p.kept.giveWay(nil, &q.account) || again
				booked = true
			}
			if what&quotaFreed != 0 {
				p.wakeGroupsSoon()
				p.changes.freeAll(&q.account)
			}
		}
		if booked && p.limited() {
			for _, app := range p.changes.applications {
				again = p.kept.giveWay(nil, app.byUser, app.byGroup) || again
			}
		}
	}
	if booked {
		p.kept.recheckLimits(p.changes.applications...)
	}
}

// wakeHeld has what accounts hold back looked at again that may hold more.
func (p *Partition) wakeHeld() {
	freed := p.changes.freed
	for _, account := range freed {
		account.freed = false
		blocked := p.blocked[account]
		delete(p.blocked, account)
		account.blocked = 0
		for _, l := range blocked {
			l.blocked = false
			l.settle()
			p.changes.queue(l.leaf.queue, 0)
		}
		for _, r := range account.held {
			if r.wait == nil || r.wait.heldBy != account {
				continue
			}
			r.wait.heldBy = nil
			if n := p.boundTo(r); n != nil {
				p.changes.node(n, nodeRetry)
			}
		}
		clear(account.held)
		account.held = account.held[:0]
	}
	clear(freed)
	p.changes.freed = freed[:0]
}

// settleOrders puts applications and queues in order.
func (p *Partition) settleOrders() {
	for _, app := range p.changes.applications {
		app.changed = false
		p.settleApplication(app)
	}
	clear(p.changes.applications)
	p.changes.applications = p.changes.applications[:0]
	for _, q := range p.changes.queues {
		q.change = 0
		p.settleQueue(q)
	}
	clear(p.changes.queues)
	p.changes.queues = p.changes.queues[:0]
}

// tied has the resource manager asked again about the asks to which an allocation has ties: answers
// about them may change on other nodes than its own when it comes or goes, by affinity, and where
// pods are spread over zones. Placed says that the resource manager does not know of it yet: then it
// is not asked about them before it does.
func (p *Partition) tied(r *request, placed bool) {
	if p.options.Tied == nil {
		return
	}
	for _, constraints := range p.options.Tied(r.Key) {
		for _, c := range p.classes.alike[constraints] {
			if placed {
				c.tiedIn = p.batch
			}
			p.refused.askAnew(c)
		}
	}
}
