package core

import (
	"cmp"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// quorums decide which asks wait for others of their quorum, and place them together.
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
	name, least := quorumOf(r.Allocation)
	switch q := r.quorum; {
	case q == nil && name == "":
	case q != nil && q.name == name:
		if q.least != least {
			q.least, q.waits = least, false
			p.changes.quorum(q)
		}
	case r.node != nil:
		p.countQuorum(r, -1)
		p.leaveQuorum(r)
		p.enterQuorum(r)
		p.countQuorum(r, 1)
	default:
		if q != nil {
			p.let(r)
			q.resign(&p.ledger, r)
		}
		p.leaveQuorum(r)
		if p.enterQuorum(r); r.quorum != nil {
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
	if !work.timer.Set() {
		p.timers.Set(&work.timer, p.now.Add(p.options.RetryMax), due{what: dueGangs})
	}
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

// startQuorum places as many asks of a quorum as must start together, or none: then they are
// held back until something changes, and hold nothing meanwhile. What fits nowhere is passed
// over while enough others fit. The others are tried one by one once the quorum runs.
func (p cycle) startQuorum(r *request) outcome {
	if p.gangWork.tried != p.batch {
		p.gangWork.tried, p.gangWork.tries = p.batch, 0
	}
	if p.gangWork.tries++; p.gangWork.tries > wholeTriesMax {
		return flush
	}
	q := r.quorum
	plan := p.newQuorumPlan(q)
	result := plan.make(q.missing())
	if result == waits && plan.avoids { // better there again than not at all
		again := p.newQuorumPlan(q)
		again.avoids = false
		plan, result = again, again.make(q.missing())
	}
	switch result {
	case placed:
		for i, ask := range plan.chosen {
			p.place(ask, plan.nodes[i])
		}
		return placed
	case flush:
		return flush
	case waits, paused, busy:
	}
	quorums(p).hold(q, plan.detail)
	quorums(p).later(q)
	if q.misfit = !plan.overQuota; q.misfit && !q.hinted {
		p.hints.later()
	}
	return waits
}

// A quorumPlan finds nodes for enough asks of a quorum. It changes nothing.
type quorumPlan struct {
	gangPlan
	chosen  []*request // for which there are nodes, in their order
	planned map[*account]*resources.Sum
}

// newQuorumPlan begins a plan for the asks of a quorum that may run now: by priority, those
// that are alike together, the oldest first.
func (p cycle) newQuorumPlan(q *quorum) *quorumPlan {
	g := &quorumPlan{gangPlan: gangPlan{cycle: p, on: map[*node]*plannedNode{}}, planned: map[*account]*resources.Sum{}}
	var begins *application
	for r := range q.asks.all {
		if r.group == nil || keepsRoom(r) || r.heldBack() != nil {
			continue
		}
		if app := r.application; !app.ran && app != begins {
			if begins != nil {
				continue // there may be a limit of applications that has room for one
			}
			begins = app
		}
		g.asks = append(g.asks, r)
		g.avoids = g.avoids || r.wait != nil && r.wait.avoid != ""
	}
	slices.SortStableFunc(g.asks, func(a, b *request) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.class.key, b.class.key))
	})
	return g
}

// make finds nodes for some number of asks, the first in order that fit.
func (g *quorumPlan) make(count int) outcome {
	for rest := g.asks; len(rest) > 0 && len(g.chosen) < count; {
		alike := rest
		if other := slices.IndexFunc(rest, func(r *request) bool { return r.class != rest[0].class }); other > 0 {
			alike = rest[:other]
		}
		rest = rest[len(alike):]
		within := g.withinQuotas(alike[:min(len(alike), count-len(g.chosen))])
		if len(within) > 0 && g.placeAlike(within) == flush {
			return flush
		}
		got := len(g.nodes) - len(g.chosen)
		for _, r := range within[got:] {
			g.plan(r, -1)
		}
		g.chosen = append(g.chosen, within[:got]...)
	}
	if len(g.chosen) < count {
		g.detail = cmp.Or(g.detail, "too few of its members fit")
		return waits
	}
	g.overQuota = false
	return placed
}

// withinQuotas plans as many of some asks that are alike as the quotas have room for.
func (g *quorumPlan) withinQuotas(asks []*request) []*request {
	for i, r := range asks {
		g.plan(r, 1)
		for _, account := range r.application.accounts() {
			for ; account != nil; account = account.parent {
				if !account.hasRoom(g.planned[account].Amounts, r.claimant()) {
					g.overQuota, g.detail = true, "the quota of "+account.subject.String()
					g.plan(r, -1)
					return asks[:i]
				}
			}
		}
	}
	return asks
}

// plan counts an ask with all its accounts, or not any more.
func (g *quorumPlan) plan(r *request, more int) {
	for _, account := range r.application.accounts() {
		for ; account != nil; account = account.parent {
			if g.planned[account] == nil {
				g.planned[account] = &resources.Sum{}
			}
			if more > 0 {
				g.planned[account].Add(r.Amounts)
			} else {
				g.planned[account].Sub(r.Amounts)
			}
		}
	}
}
