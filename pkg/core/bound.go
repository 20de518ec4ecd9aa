package core

import (
	"cmp"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/question"
	"github.com/narwhal-scheduler/narwhal/pkg/core/timers"
)

// An ask is bound to a node when it may run there only, or has a claim there. Bound asks are
// tried whenever their node changes, before any ordinary ask.

// A dirtyNode is a node whose bound asks are to be tried, with the place of the first of
// them in the order of asks: it may get what the bound asks of other nodes want too, such
// as quota. Rest says that those before that one were tried.
type dirtyNode struct {
	*ledger.Node
	first ledger.AskRank
	ask   *ledger.Request // the first
	rest  bool
}

// addDirty has the bound asks of a node tried, once.
func (p *Partition) addDirty(d dirtyNode) {
	if at := p.isDirty.Of(d.Slot, d.Node); !*at {
		*at = true
		p.dirty = append(p.dirty, d)
	}
}

// rankDirty works out the places of the nodes that have come since it was last called, and
// puts them in order among the others. So the order does not depend on when, and in which
// order, nodes have changed.
func (p *Partition) rankDirty() {
	compare := func(a, b dirtyNode) int {
		return cmp.Or(a.first.Compare(b.first), strings.Compare(string(a.ID), string(b.ID)))
	}
	from := p.ranked
	p.ranked = len(p.dirty)
	for i := from; i < len(p.dirty); i++ {
		if d := &p.dirty[i]; !d.rest {
			p.kept.Settle(d.Node) // not in its turn: questions may pause before
			d.first, d.ask = d.FirstBound()
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
		if p.Left <= 0 {
			return true
		}
		p.rankDirty()
		if wait := p.predicates.Wait(api.FurtherQuestion); wait > 0 {
			p.Timers.Set(&p.bound, p.Now.Add(wait), timers.Due{What: timers.Bound})
			return false
		}
		n := p.dirty[0].Node
		p.dirty[0] = dirtyNode{}
		p.dirty = p.dirty[1:]
		p.ranked--
		if n.Gone {
			continue
		}
		p.isDirty.Drop(n.Slot) // what is done here may change it again
		if p.tryBound(n) == question.Flush {
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
func (p *Partition) tryBound(n *ledger.Node) question.Outcome {
	if p.tryRequired(n) == question.Flush {
		return question.Flush
	}
	p.react()
	if p.placeAbove(n) == question.Flush {
		return question.Flush
	}
	return p.tryClaims(n)
}

// placeAbove tries the asks first that fit on a node and are more important
// than one that may run anywhere and has a claim there. They may run on other nodes, so
// those that are still more important come before them. So do those that fit on other nodes
// only and want the same quota.
func (p *Partition) placeAbove(n *ledger.Node) question.Outcome {
	at := len(n.Claims) - 1
	for at >= 0 && n.Claims[at].Required != "" {
		at--
	}
	if at < 0 || !n.Schedulable {
		return question.Waits
	}
	above := n.Claims[at].Importance
	for {
		r := p.NextAbove(n, above)
		if r == nil && !n.SharesQuota(nil) {
			return question.Waits
		}
		first := p.Next(p.skips)
		switch {
		case first == nil:
		case r == nil && first.Importance > above && n.SharesQuota(first),
			r != nil && first.Importance > r.Importance:
			r = first
		}
		if r == nil {
			return question.Waits
		}
		if p.Left <= 0 || p.try(r) == question.Flush {
			return question.Flush
		}
		p.react()
	}
}

// tryClaims tries the asks that may run anywhere and have claims on a node, in the order of these.
// Each is placed, waits on, or loses the claim because it cannot use it beside those before it any
// more. More important ones of other nodes come between them: they may get the quota.
func (p *Partition) tryClaims(n *ledger.Node) question.Outcome {
	if !n.Schedulable {
		return question.Waits
	}
	for _, r := range slices.Clone(n.Claims) {
		if r.Claim() == nil || r.Claim().Node != n || r.Required != "" || r.IsHeld() || r.StartsTogether() && !r.Claim().Lost {
			continue // lost by what was done for those before it, or placed with its whole group
		}
		if p.before(r) != nil {
			p.tryRest(n, r)
			return question.Waits
		}
		if r.Claim().Lost {
			if p.tryLost(r) == question.Flush {
				return question.Flush
			}
			continue
		}
		p.Work.Attempts++
		if p.awaitsRoom(r, n) {
			continue
		}
		switch result, err := p.predicates.Check(r, n, true); {
		case result == question.Flush:
			return question.Flush
		case result == question.Placed:
			p.place(r, n)
		case r.Reserved():
			p.refusedOnItsNode(r, err)
		case !p.predicates.FeasibleAfterEvictions(r, n):
			p.kept.Clear(r, err.Error(), api.EndByRefusal)
			p.attempts.KeepBack(r, p.Now.Add(p.Options.RetryMax), "")
		}
	}
	return question.Waits
}

// tryLost tries those that take the place of a member that its group has lost, before others take their quota.
func (p *Partition) tryLost(r *ledger.Request) question.Outcome {
	if first := p.groups.FirstOf(r.StartsWith); first != nil {
		return p.startTogether(first)
	}
	return question.Waits
}

// before is the first bound ask of the other nodes that are to be tried, if it comes before an
// ask.
func (p *Partition) before(r *ledger.Request) *ledger.Request {
	if len(p.dirty) == 0 {
		return nil
	}
	p.rankDirty()
	if p.dirty[0].first.Compare(r.Rank()) >= 0 {
		return nil
	}
	return p.dirty[0].ask
}

// compete reports whether two asks want the same quota which is not enough for all that wait for
// it, or what is left of the same limit.
func compete(r, other *ledger.Request) bool {
	others := other.App.Accounts()
	for i, a := range r.App.Accounts() {
		for ; a != nil; a = a.Parent {
			if len(a.Max) > 0 && others[i].IsUnder(a) && (a.Subject != nil || !a.HasRoom(a.Pending.Amounts, r.Importance)) {
				return true
			}
		}
	}
	return false
}

// tryRest has the bound asks of a node from one on tried at the place of that one.
func (p *Partition) tryRest(n *ledger.Node, r *ledger.Request) {
	p.addDirty(dirtyNode{Node: n, first: r.Rank(), ask: r, rest: true})
}

// awaitsRoom reports whether an ask that has a claim cannot be placed yet. If the room will not
// come free, the ask loses the claim.
func (p *Partition) awaitsRoom(r *ledger.Request, n *ledger.Node) bool {
	short, free := r.WithoutRoom(), n.FreeFor(r)
	p.Changes.Application(r.App, 0)
	switch {
	case short == nil && r.Amounts.FitsIn(free) && r.HeldBack() == nil:
		return false
	case r.Reserved():
		p.awaitsTurn(r, short)
	case !r.Amounts.FitsInSum(free, n.Releasing.Amounts):
		p.kept.Clear(r, n.WhyLost(), api.EndOfRoom)
	case r.LostQuota():
		p.kept.Clear(r, r.WhyNoQuota(), api.EndOfQuota)
	case short != nil:
		p.await(r, &short.Account)
	}
	return true
}

// awaitsTurn notes why an ask waits that has a claim for which nothing is evicted. One that a limit
// holds back loses it, as nothing is on its way to it.
func (p *Partition) awaitsTurn(r *ledger.Request, short *ledger.Queue) {
	switch {
	case r.HeldBack() != nil:
		p.kept.End(r, "a limit holds it back", api.EndOfQuota)
	case short != nil:
		r.Wait.Says(api.QuotaExceeded, string(short.Path))
		p.await(r, &short.Account)
	default:
		r.Wait.Says(api.NoNodeFits, "")
	}
}
