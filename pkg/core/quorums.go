package core

// quorums decide which asks wait for others of their quorum.
type quorums struct{ *Partition }

// react settles which asks are held back.
func (p quorums) react() {
	for _, q := range p.changes.quorums {
		q.change = false
		p.settle(q)
	}
	clear(p.changes.quorums)
	p.changes.quorums = p.changes.quorums[:0]
}

// settle has the asks of a quorum tried once there are enough of them, or enough run. While it
// waits for a change that may help, they stay held back.
func (p quorums) settle(q *quorum) {
	missing := q.missing()
	switch hold := missing > 0 && (q.asks.len() < missing || q.waits); {
	case hold && !q.holds:
		p.hold(q, awaitsMembers)
	case !hold && q.holds:
		q.holds, q.waits = false, false
		for r := range q.asks.all {
			p.let(r)
		}
	}
}

// hold takes the asks of a quorum out of their orders.
func (p quorums) hold(q *quorum, detail string) {
	q.holds, q.detail = true, detail
	for r := range q.asks.all {
		if keepsRoom(r) {
			continue
		}
		if r.group != nil {
			p.extract(r)
		}
		members{&p.ledger}.holdBack(r, AwaitsGang, detail)
	}
}

// let puts an ask in order that was held back, unless its binding failed just now.
func (p quorums) let(r *request) {
	if !r.isHeld() {
		return
	}
	w := r.wait
	if w.held = false; !w.delayed {
		w.reason, w.detail = NotTried, ""
		p.insert(r)
	}
}

// retag takes what new tags say of the quorum of a request.
func (p quorums) retag(r *request) {
	m := members{&p.ledger}
	name, least := quorumOf(r.Allocation)
	switch q := r.quorum; {
	case q == nil && name == "":
	case q != nil && q.name == name:
		if q.least != least {
			q.least, q.waits = least, false
			p.changes.quorum(q)
		}
	case r.node != nil:
		m.countQuorum(r, -1)
		m.leaveQuorum(r)
		m.enterQuorum(r)
		m.countQuorum(r, 1)
	default:
		if q != nil {
			p.let(r)
			q.resign(&p.ledger, r)
		}
		m.leaveQuorum(r)
		if m.enterQuorum(r); r.quorum != nil {
			if r.group != nil && r.quorum.holds && !keepsRoom(r) {
				p.extract(r)
			}
			r.quorum.join(&p.ledger, r)
		}
	}
}

// later has a quorum tried again: soon after something has changed that may help, or when the
// outside may have changed.
func (p quorums) later(q *quorum) {
	work := &p.gangWork
	if q.waits = true; !q.listed {
		q.listed = true
		work.quorums = append(work.quorums, q)
	}
	gangs(p).before(p.now.Add(p.options.RetryMax))
}

// wake has all quorums that wait tried again.
func (p quorums) wake() {
	waiting := p.gangWork.quorums
	p.gangWork.quorums = nil
	for _, q := range waiting {
		q.listed, q.waits = false, false
		p.changes.quorum(q)
	}
}

// hint tells the resource manager of the members of quorums that fit no nodes.
func (p quorums) hint() {
	for _, q := range p.gangWork.quorums {
		if !q.waits || !q.misfit || q.hinted {
			continue
		}
		q.hinted = true
		for r := range q.asks.all {
			if r.isHeld() && !p.hints.tellOf(r) {
				break
			}
		}
	}
}
