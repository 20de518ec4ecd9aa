package core

import (
	"cmp"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// An ask is bound to a node when it may run there only, or has a claim there. Bound asks are
// tried whenever their node changes, before any ordinary ask.

// A dirtyNode is a node whose bound asks are to be tried, with the place of the first of
// them in the order of asks: it may get what the bound asks of other nodes want too, such
// as quota. Rest says that those before that one were tried.
type dirtyNode struct {
	*node
	first askRank
	ask   *request // the first
	rest  bool
}

// rankDirty works out the places of the nodes that have come since it was last called, and
// puts them in order among the others. So the order does not depend on when, and in which
// order, nodes have changed.
func (p *Partition) rankDirty() {
	compare := func(a, b dirtyNode) int {
		return cmp.Or(a.first.compare(b.first), strings.Compare(string(a.id), string(b.id)))
	}
	from := p.ranked
	p.ranked = len(p.dirty)
	for i := from; i < len(p.dirty); i++ {
		if d := &p.dirty[i]; !d.rest {
			p.kept.settle(d.node) // not in its turn: questions may pause before
			d.first, d.ask = d.firstBound()
		}
	}
	if from == 0 {
		slices.SortFunc(p.dirty, compare)
		return
	}
	for i := from; i < len(p.dirty); i++ {
		d := p.dirty[i]
		at, _ := slices.BinarySearchFunc(p.dirty[:i], d, compare)
		copy(p.dirty[at+1:i+1], p.dirty[at:i])
		p.dirty[at] = d
	}
}

// placeBound places bound asks on nodes that have changed, and stops while questions
// pause. It reports whether there may be more to place now.
func (p *Partition) placeBound() (more bool) {
	p.ranked = 0
	for len(p.dirty) > 0 {
		if p.left <= 0 {
			return true
		}
		p.rankDirty()
		if wait := p.predicates.wait(api.FurtherQuestion); wait > 0 {
			p.timers.Set(&p.bound, p.now.Add(wait), due{what: dueBound})
			return false
		}
		n := p.dirty[0].node
		p.dirty[0] = dirtyNode{}
		p.dirty = p.dirty[1:]
		p.ranked--
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
// order, then those that may run anywhere and have claims.
func (p *Partition) tryBound(n *node) outcome {
	if p.tryRequired(n) == flush {
		return flush
	}
	p.react()
	if p.placeAbove(n) == flush {
		return flush
	}
	return p.tryClaims(n)
}

// placeAbove tries the asks first that fit on a node and are more important
// than one that may run anywhere and has a claim there. They may run on other nodes, so
// those that are still more important come before them. So do those that fit on other nodes
// only and want the same quota.
func (p *Partition) placeAbove(n *node) outcome {
	at := len(n.claims) - 1
	for at >= 0 && n.claims[at].Required != "" {
		at--
	}
	if at < 0 || !n.schedulable {
		return waits
	}
	above := n.claims[at].importance
	for {
		r := p.nextAbove(n, above)
		if r == nil && !n.sharesQuota(nil) {
			return waits
		}
		first := p.next(p.skips)
		switch {
		case first == nil:
		case r == nil && first.importance > above && n.sharesQuota(first),
			r != nil && first.importance > r.importance:
			r = first
		}
		if r == nil {
			return waits
		}
		if p.left <= 0 || p.try(r) == flush {
			return flush
		}
		p.react()
	}
}

// tryClaims tries the asks that may run anywhere and have claims on a node, in the order of these.
// Each is placed, waits on, or loses the claim because it cannot use it beside those before it any
// more. More important ones of other nodes come between them: they may get the quota.
func (p *Partition) tryClaims(n *node) outcome {
	if !n.schedulable {
		return waits
	}
	for _, r := range slices.Clone(n.claims) {
		if r.claim() == nil || r.claim().node != n || r.Required != "" || r.isHeld() || r.startsTogether() {
			continue // lost by what was done for those before it, or placed with its whole group
		}
		if p.before(r) != nil {
			p.tryRest(n, r)
			return waits
		}
		p.work.Attempts++
		if p.awaitsRoom(r, n) {
			continue
		}
		switch result, err := p.predicates.check(r, n, true); {
		case result == flush:
			return flush
		case result == placed:
			p.place(r, n)
		case r.reserved():
			p.refusedOnItsNode(r, err)
		case !p.predicates.feasibleAfterEvictions(r, n):
			p.kept.clear(r, err.Error(), api.EndByRefusal)
			p.attempts.keepBack(r, p.now.Add(p.options.RetryMax), "")
		}
	}
	return waits
}

// before is the first bound ask of the other nodes that are to be tried, if it comes before an
// ask.
func (p *Partition) before(r *request) *request {
	if len(p.dirty) == 0 {
		return nil
	}
	p.rankDirty()
	if p.dirty[0].first.compare(r.rank()) >= 0 {
		return nil
	}
	return p.dirty[0].ask
}

// compete reports whether two asks want the same quota which is not enough for all that wait for
// it, or what is left of the same limit.
func compete(r, other *request) bool {
	others := other.application.accounts()
	for i, a := range r.application.accounts() {
		for ; a != nil; a = a.parent {
			if len(a.max) > 0 && others[i].isUnder(a) && (a.subject != nil || !a.hasRoom(a.pending.Amounts, r.importance)) {
				return true
			}
		}
	}
	return false
}

// tryRest has the bound asks of a node from one on tried at the place of that one.
func (p *Partition) tryRest(n *node, r *request) {
	if !n.retry {
		n.retry = true
		p.dirty = append(p.dirty, dirtyNode{node: n, first: r.rank(), ask: r, rest: true})
	}
}

// awaitsRoom reports whether an ask that has a claim cannot be placed yet. If the room will not
// come free, the ask loses the claim.
func (p *Partition) awaitsRoom(r *request, n *node) bool {
	short, free := r.withoutRoom(), n.freeFor(r)
	p.changes.application(r.application, 0)
	switch {
	case short == nil && r.Amounts.FitsIn(free) && r.heldBack() == nil:
		return false
	case r.reserved():
		p.awaitsTurn(r, short)
	case !r.Amounts.FitsInSum(free, n.releasing.Amounts):
		p.kept.clear(r, n.whyLost(), api.EndOfRoom)
	case r.lostQuota():
		p.kept.clear(r, r.whyNoQuota(), api.EndOfQuota)
	case short != nil:
		p.await(r, &short.account)
	}
	return true
}

// awaitsTurn notes why an ask waits that has a claim for which nothing is evicted. One that a limit
// holds back loses it, as nothing is on its way to it.
func (p *Partition) awaitsTurn(r *request, short *queue) {
	w := r.wait
	switch {
	case r.heldBack() != nil:
		p.kept.end(r, "a limit holds it back", api.EndOfQuota)
	case short != nil:
		w.reason, w.detail = api.QuotaExceeded, string(short.path)
		p.await(r, &short.account)
	default:
		w.reason, w.detail = api.NoNodeFits, ""
	}
}
