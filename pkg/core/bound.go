package core

import (
	"fmt"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// An ask is bound to a node when it may run there only, when it holds a reservation
// there, or when it is nominated to it. Bound asks are tried whenever their node
// changes, before any ordinary ask.

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
// order, then the one that holds a reservation, or the nominated ones.
func (p cycle) tryBound(n *node) outcome {
	if p.tryRequired(n) == flush {
		return flush
	}
	p.react()
	if p.placeAbove(n) == flush {
		return flush
	}
	if n.reserved != nil && n.schedulable && !n.claimed() {
		return p.tryReserved(n.reserved, n)
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

// tryReserved places the ordinary ask that holds a reservation, or notes why it cannot
// be placed.
func (p cycle) tryReserved(r *request, n *node) outcome {
	p.work.Attempts++
	w := r.waiting()
	p.changes.application(r.application, 0)
	if q := r.withoutRoom(); q != nil {
		w.reason, w.detail = QuotaExceeded, string(q.path)
		p.awaitQuota(r, q)
		return waits
	}
	if !r.Amounts.FitsIn(n.free) {
		w.reason, w.detail = NoNodeFits, ""
		return waits
	}
	switch result, err := p.predicates.check(r, n, true); result {
	case flush:
		return flush
	case waits:
		p.refusedOnItsNode(r, err)
		return waits
	}
	p.place(r, n)
	return placed
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
	case !r.Amounts.FitsIn(free.Plus(n.releasing.Amounts)):
		p.nominations.clear(r, n.whyLost())
	case short != nil && r.quotaToFree() != nil:
		p.nominations.clear(r, fmt.Sprintf("the quota of queue %s is taken", short.path))
	case short != nil:
		p.awaitQuota(r, short)
	}
	return true
}

// whyLost says why a nominated ask does not get its room.
func (n *node) whyLost() string {
	if count, _ := n.overdue(); count > 0 {
		return "an eviction is overdue"
	}
	return "its room is taken"
}
