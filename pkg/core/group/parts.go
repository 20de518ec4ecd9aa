package group

import (
	"cmp"
	"iter"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/topology"
)

// Inside a domain, members take as few of the domains below as they can: if one has room for all that are left, the one that fits
// best, else the one with the most room, and so on. In a domain without others below, the order of nodes decides.

// parts visits the nodes for asks of a class in groups: all that may be looked at, or those of the finest domains within the one
// that is looked at, one after the other.
func (g *groupPlan) parts(asks []*ledger.Request) iter.Seq[iter.Seq[*ledger.Node]] {
	r := asks[0]
	return func(yield func(iter.Seq[*ledger.Node]) bool) {
		if g.within == nil || g.emptied != nil {
			yield(g.candidates(r))
			return
		}
		left := int64(min(len(asks), g.count-len(g.found)))
		g.part(g.within, g.tallyOf(g.ClassOf(r)), left, r, yield)
	}
}

// part visits the nodes of a domain, of which so many asks are to run there.
func (g *groupPlan) part(d *topology.Domain, t *tally, left int64, r *ledger.Request, yield func(iter.Seq[*ledger.Node]) bool) bool {
	below := slices.Clone(d.Below())
	for len(below) > 0 {
		next := g.nextPart(below, t, left)
		if !g.part(below[next], t, left, r, yield) {
			return false
		}
		left -= max(t.in(below[next]), 0)
		below = slices.Delete(below, next, next+1)
	}
	return yield(slices.Values(g.inOrder(d.OwnNodes, r)))
}

// nextPart is which of some domains is taken first: the one that fits best of those with room for all that are left, or else the one with
// the most room.
func (g *groupPlan) nextPart(of []*topology.Domain, t *tally, left int64) (best int) {
	before := func(a, b *topology.Domain) bool {
		slotsA, slotsB := t.in(a), t.in(b)
		holdsA, holdsB := slotsA >= left && left > 0, slotsB >= left && left > 0
		switch {
		case holdsA != holdsB:
			return holdsA
		case holdsA:
			return cmp.Or(compareIdle(a, b), cmp.Compare(slotsA, slotsB), a.Compare(b)) < 0
		}
		return cmp.Or(cmp.Compare(slotsB, slotsA), compareIdle(a, b), a.Compare(b)) < 0
	}
	for i := range of {
		if before(of[i], of[best]) {
			best = i
		}
	}
	return best
}

// inOrder are those of some nodes that may have room for an ask: those on which the group has claims, then those with room in
// order, then those that have room if what is kept there for less important asks is taken.
func (g *groupPlan) inOrder(nodes iter.Seq[*ledger.Node], r *ledger.Request) (list []*ledger.Node) {
	slots := g.tallyOf(g.ClassOf(r))
	for n := range nodes {
		if n.Schedulable && (slots.On(n) > 0 || g.claims > 0 && g.keeps(n)) {
			list = append(list, n)
		}
	}
	rank := func(n *ledger.Node) int {
		switch {
		case g.claims > 0 && g.keeps(n):
			return 0
		case r.Amounts.FitsIn(n.Room):
			return 1
		}
		return 2
	}
	compare := g.Order.Compare(r.Amounts)
	slices.SortFunc(list, func(a, b *ledger.Node) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), compare(a, b)) })
	return list
}
