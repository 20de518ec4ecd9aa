package core

import (
	"fmt"
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// An ask is bound to a node when it may run there only, when it holds a reservation
// there, or when it is nominated to it. Bound asks are tried whenever their node
// changes, before any ordinary ask.

// awaitQuota lists a bound ask to be tried again when there is quota in the queue.
func (p cycle) awaitQuota(r *request, q *queue) {
	if p.boundTo(r) == nil || r.waiting().quota == q {
		return
	}
	r.wait.quota = q
	q.waiters = append(q.waiters, r)
}

// placeBound places bound asks on nodes that have changed, and stops while questions
// pause. It reports whether there may be more to place now.
func (p cycle) placeBound() (more bool) {
	for len(p.dirty) > 0 {
		if p.left <= 0 {
			return true
		}
		if wait := p.predicates.wait(FurtherQuestion); wait > 0 {
			p.timers.Set(&p.bound, p.now.Add(wait), due{what: dueBound})
			return false
		}
		n := p.dirty[0]
		p.dirty[0] = nil
		p.dirty = p.dirty[1:]
		n.retry = false // what is done here may change it again
		if n.gone {
			continue
		}
		if p.tryBound(n) == flush {
			p.retryBound(n)
			return true
		}
		p.react()
	}
	p.dirty = nil
	return false
}

// tryBound tries the asks of one node: those that may run here only by their
// order, then the one that holds a reservation, or the nominated ones. Room that is
// on its way for one ask is kept from those after it.
func (p cycle) tryBound(n *node) outcome {
	var kept resources.Amounts
	for _, r := range n.required.list() {
		if r.wait != nil && r.wait.delayed {
			continue
		}
		if p.tryOn(r, n, kept.Plus(n.nominatedAbove(r.Priority))) == flush {
			return flush
		}
		if r.node == nil && r.isServed() {
			kept.Add(r.Amounts)
		}
	}
	p.react()
	if p.placeAbove(n) == flush {
		return flush
	}
	if n.reserved != nil && n.schedulable && !n.claimed() {
		return p.tryOn(n.reserved, n, nil)
	}
	return p.tryNominated(n)
}

// placeAbove tries the asks first that fit on a node and are more important
// than one that may run anywhere and is bound to it. They may run on other nodes, so
// those that are still more important come before them.
func (p cycle) placeAbove(n *node) outcome {
	lowest := n.reserved
	if len(n.nominated) > 0 {
		lowest = n.nominated[len(n.nominated)-1]
	}
	if lowest == nil || !n.schedulable {
		return waits
	}
	above := lowest.nominationPriority()
	for {
		r := p.nextAbove(n, above)
		if r == nil {
			return waits
		}
		if first := p.next(p.skips); first != nil && first.class.rootPriority > r.class.rootPriority {
			r = first
		}
		if p.left <= 0 || p.try(r) == flush {
			return flush
		}
		p.react()
	}
}

// tryOn places a bound ask, or notes why it cannot be placed. In that case an ask that
// may run here only reserves the node, if it could ever hold the ask, and room is made.
func (p cycle) tryOn(r *request, n *node, kept resources.Amounts) outcome {
	p.work.Attempts++
	w := r.waiting()
	p.changes.application(r.application, 0)
	if q := r.withoutRoom(); q != nil {
		w.reason, w.detail = QuotaExceeded, string(q.path)
		w.plan = nil // what was kept for it is of use to those after it
		p.awaitQuota(r, q)
		return waits
	}
	free := n.free
	if len(kept) > 0 {
		free = free.Minus(kept)
	}
	fits := r.Amounts.FitsIn(free)
	switch {
	case !fits && r.Required == "":
		w.reason, w.detail = NoNodeFits, ""
		return waits
	case !fits && r.planHolds(n, p.now):
		return waits
	}
	// Nothing is evicted for an ask that the resource manager would then refuse.
	switch result, err := p.predicates.check(r, n, fits); {
	case result == flush:
		return flush
	case result == waits:
		p.refusedOnItsNode(r, err)
		return waits
	case !fits:
		w.reason = NodeFull
		if r.Amounts.FitsIn(n.capacity) {
			p.reservations.claim(r, n)
		}
		p.makeRoom(r, n, kept)
		return waits
	}
	p.place(r, n)
	return placed
}

// refusedOnItsNode lets go of the node of a bound ask that the resource manager
// refuses there. One that may run on no other is asked about again later.
func (p cycle) refusedOnItsNode(r *request, err error) {
	p.reservations.unreserve(r)
	w := r.waiting()
	w.plan = nil
	w.reason, w.detail = Infeasible, err.Error()
	if r.Required != "" {
		w.due.retry = p.now.Add(p.options.RetryMax)
		p.setTimer(r)
	}
}

// planHolds reports whether the last plan for an ask would come out the same: the
// node has not changed, and if it was too early for one, it still is.
func (r *request) planHolds(n *node, now time.Time) bool {
	w := r.wait
	return w.plan != nil && w.planned == n.revision &&
		(w.plan.Reason != preemptor.TooYoung || w.plan.Again.After(now))
}

// isServed reports whether room is on its way for an ask, so that no other may
// have it.
func (r *request) isServed() bool {
	return r.wait != nil && r.wait.plan != nil &&
		(r.wait.plan.Reason == preemptor.Chosen || r.wait.plan.Reason == preemptor.WaitsForReleasing)
}

// makeRoom plans which allocations make room for an ask that must run on a node and
// does not fit, and evicts the victims. What is kept for the asks before it is not
// free for this one.
func (p cycle) makeRoom(r *request, n *node, kept resources.Amounts) {
	w := r.waiting()
	if r.neverPreempts() {
		w.plan, w.detail = nil, "nothing is to be evicted for it"
		return
	}
	reserved := p.now
	if held := w.reservation; held != nil {
		reserved = held.At
	}
	on := preemptor.Node{Kinds: p.kinds, Free: n.free.Minus(kept), On: n.candidates()}
	p.predicates.addBudgets(&on)
	plan := preemptor.Plan(p.now, p.preemption.planFor(preemptor.RequiredNode),
		preemptor.Ask{Key: string(r.Key), Amounts: r.Amounts, Priority: r.Priority, Reserved: reserved}, on)
	p.counts.Plans++
	w.planned, w.detail = n.revision, plan.Summary(p.kinds)
	if plan.Reason == preemptor.WaitsForReleasing && r.isServed() {
		return // the record of what was chosen says more
	}
	w.plan, w.plannedAt = &plan, p.now
	switch plan.Reason {
	case preemptor.Chosen:
		p.tell(&PreemptionPlanned{r.Application, r.Key, r.application.queue.path, n.id, &plan})
		for i := range plan.Victims {
			p.evictions.requestFor(&plan.Victims[i], r, &plan)
		}
		w.planned = n.revision
	case preemptor.WaitsForReleasing:
	case preemptor.TooYoung:
		w.due.retry = plan.Again
		p.setTimer(r)
	default:
		p.reportOnce(r, fmt.Sprintf("no room on required node %s: %s", n.id, w.detail))
	}
}

// tryNominated tries the nominated asks of a node, the first in order first.
// Each is placed, waits on, or loses the nomination because there is no room
// for it beside those before it any more.
func (p cycle) tryNominated(n *node) outcome {
	var kept resources.Amounts
	for _, r := range slices.Clone(n.nominated) {
		if r.nominated() == nil {
			continue // lost by what was done for those before it
		}
		p.work.Attempts++
		if p.awaitsRoom(r, n, kept) {
			if r.nominated() != nil {
				kept.Add(r.Amounts)
			}
			continue
		}
		switch result, err := p.predicates.check(r, n, true); {
		case result == flush:
			return flush
		case result == waits && p.predicates.feasibleAfterEvictions(r, n):
			kept.Add(r.Amounts)
		case result == waits:
			p.nominations.clear(r, err.Error())
			p.attempts.backOff(r, p.options.RetryMax)
		default:
			p.place(r, n)
		}
	}
	return waits
}

// awaitsRoom reports whether a nominated ask cannot be placed yet. If the room will not
// come free, the ask loses the nomination.
func (p cycle) awaitsRoom(r *request, n *node, kept resources.Amounts) bool {
	short := r.withoutRoom()
	free := n.free.Minus(kept).Minus(n.claims(r.Priority))
	switch {
	case short == nil && r.Amounts.FitsIn(free) && n.schedulable:
		return false
	case !r.Amounts.FitsIn(free.Plus(n.releasing)):
		p.nominations.clear(r, n.whyLost())
	case short != nil && r.quotaToFree() != nil:
		p.nominations.clear(r, fmt.Sprintf("the quota of queue %s is taken", short.path))
	case short != nil:
		p.awaitQuota(r, short)
	}
	return true
}

// readyNode is the node that an ask is nominated to, if the room is there.
func (r *request) readyNode() *node {
	held := r.nominated()
	if held == nil || !held.node.openTo(r.class.rootPriority) ||
		!r.Amounts.FitsIn(held.node.roomFor(r.class.rootPriority).Plus(r.Amounts)) {
		return nil
	}
	return held.node
}

// whyLost says why a nominated ask does not get its room.
func (n *node) whyLost() string {
	if count, _ := n.overdue(); count > 0 {
		return "an eviction is overdue"
	}
	return "its room is taken"
}
