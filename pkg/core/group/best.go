package group

import (
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/backlog"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/question"
)

// A plan has a node for each ask of a group that starts. Where the resource manager knows which nodes suit an ask best, the
// ask may have a better one when its turn comes, as long as that takes no place from the others: a node that has
// room beside all that is still planned there, or the node of another ask of its class, which has the one of this ask
// then. So it depends on no preference whether a group starts.

// triedMax is how many of the nodes that suit an ask best are tried, since the resource manager may refuse some.
const triedMax = 4

// placements are the asks of a plan for which there are nodes, in order. Each is to be placed before the next one is taken, as what
// suits an ask best depends on the others that were placed.
func (g *groupPlan) placements(yield func(*ledger.Request, *ledger.Node) bool) {
	chooses := g.Options.Best != nil
	var before *backlog.Class // of the ask that was placed last
	for _, r := range g.order {
		if chooses {
			g.Order.Reposition(g.found[r]) // the group may have had claims there
		}
	}
	for _, r := range g.order {
		class := g.ClassOf(r)
		if chooses {
			g.choose(r, class != before)
		}
		n := g.found[r]
		if !yield(r, n) {
			return
		}
		if before = class; chooses {
			g.on[n].used.Sub(r.Amounts)
			g.Order.Reposition(n)
		}
	}
}

// choose gives an ask the node that suits it best, of those that it may have. It asks for that once. First says that none of its class
// was placed yet.
func (g *groupPlan) choose(r *ledger.Request, first bool) {
	stays := !g.mayLeave(r, first)
	mayHave := func(n *ledger.Node) bool {
		return g.found[r] == n || g.isWithin(r, n) && !avoids(r, n) && (!stays && g.mayMove(r, n) || g.equalOn(r, n) != nil)
	}
	for _, id := range g.Options.Best(r.Key, func(yield func(api.NodeID, int64) bool) {
		for n, points := range g.Order.WithRoom(r.Amounts) {
			if mayHave(n) && !yield(n.ID, points) {
				return
			}
		}
	}, triedMax) {
		n := g.FindNode(id)
		switch {
		case n == nil || !n.Schedulable || !r.Amounts.FitsIn(n.Room) || !mayHave(n): // it was not shown
		case g.found[r] == n || g.swap(r, n) || !stays && g.move(r, n):
			return
		}
	}
}

// mayLeave reports whether an ask may have a node on which none of its class is planned. It may not where the ask has ties to what was
// placed in this batch, as by affinity: the plan may keep members together, and the resource manager has not heard of them. Whether those of
// a class have ties is known once the first of them is placed, so this one does not leave the others.
func (g *groupPlan) mayLeave(r *ledger.Request, first bool) bool {
	n := g.found[r]
	return !g.Predicates.IsTied(r) && !(first && g.Options.Tied != nil && g.equalOn(r, n) != nil)
}

// equalOn is another ask of its class that is planned on a node and may have the node of an ask; nil if there is none.
func (g *groupPlan) equalOn(r *ledger.Request, n *ledger.Node) *ledger.Request {
	on := g.on[n]
	if on == nil {
		return nil
	}
	for _, other := range on.asks {
		if other != r && other.RunsOn == nil && g.ClassOf(other) == g.ClassOf(r) && !avoids(other, g.found[r]) {
			return other
		}
	}
	return nil
}

// swap gives an ask the node of another one of its class, and that one its node, if there is one. The resource manager
// has agreed to both, since it says the same of asks that are alike.
func (g *groupPlan) swap(r *ledger.Request, n *ledger.Node) bool {
	other := g.equalOn(r, n)
	if other == nil {
		return false
	}
	from, to := g.on[g.found[r]].asks, g.on[n].asks
	from[slices.Index(from, r)], to[slices.Index(to, other)] = other, r
	g.found[r], g.found[other] = n, g.found[r]
	return true
}

// mayMove reports whether a node has room for an ask beside all that is still planned there, and the resource manager can be
// asked about it: it has not heard of what was placed there, but is told of members.
func (g *groupPlan) mayMove(r *ledger.Request, n *ledger.Node) bool {
	if g.ClassOf(r).Refused.Has(n) {
		return false
	}
	on := g.on[n]
	if on == nil || len(on.asks) == 0 {
		return g.Options.Feasible == nil || n.PlacedIn != g.Batch
	}
	return on.used.IsZero() || r.Amounts.Plus(on.used).FitsIn(n.Room)
}

// move gives an ask a node beside all that is planned there, if the resource manager agrees.
func (g *groupPlan) move(r *ledger.Request, n *ledger.Node) bool {
	if !g.mayMove(r, n) || g.Predicates.Calls >= question.CallsMax {
		return false
	}
	from, to := g.on[g.found[r]], g.plannedOn(n)
	if g.ask(r, n, to) != nil {
		return false
	}
	from.asks = slices.DeleteFunc(from.asks, func(other *ledger.Request) bool { return other == r })
	from.used.Sub(r.Amounts)
	to.asks = append(to.asks, r)
	to.used.Add(r.Amounts)
	g.found[r] = n
	return true
}

// isWithin reports whether a node is in the domain of the plan, if it has one, or in that of the node which is planned for an ask, where few
// domains are preferred.
func (g *groupPlan) isWithin(r *ledger.Request, n *ledger.Node) bool {
	switch {
	case !g.isWithinParts(r, n):
		return false
	case g.within != nil && g.group.Terms.Balanced && g.finestLike(n) != g.finestLike(g.found[r]):
		return false
	case g.within != nil:
		return g.level.Of(n) == g.within
	case g.prefers != nil:
		return g.prefers.Of(n) == g.prefers.Of(g.found[r])
	}
	return true
}

// isWithinParts reports whether a node is in those domains that the parts of the group which an ask is in require.
func (g *groupPlan) isWithinParts(r *ledger.Request, n *ledger.Node) bool {
	for name := range r.Parts {
		if level := g.levels[name]; level != nil && level.Of(n) != level.Of(g.found[r]) {
			return false
		}
	}
	return true
}

// avoids reports whether a node is one where binding an ask has failed.
func avoids(r *ledger.Request, n *ledger.Node) bool { return r.Wait != nil && r.Wait.Avoid == n.ID }
