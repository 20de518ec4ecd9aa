package group

import (
	"cmp"
	"iter"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemption"
	"github.com/narwhal-scheduler/narwhal/pkg/core/question"
	"github.com/narwhal-scheduler/narwhal/pkg/core/topology"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// placeAlike finds nodes for asks of one class: in the first of the domains that it looks at, then in the others.
func (g *groupPlan) placeAlike(asks []*ledger.Request) question.Outcome {
	for {
		for nodes := range g.parts(asks) {
			if result := g.placeOn(nodes, &asks); result != question.Waits {
				return result
			}
		}
		switch {
		case g.balances: // better uneven than not at all
			g.balances = false
		case g.avoids: // better there again than not at all
			g.avoids = false
		default:
			g.detail = cmp.Or(g.detail, "no node has room for the rest of it")
			return question.Waits
		}
	}
}

// placeOnClaims gives asks the nodes where room was made for them, if that is there by now.
func (g *groupPlan) placeOnClaims(asks []*ledger.Request) question.Outcome {
	if g.claims == 0 || g.emptied != nil {
		return question.Waits
	}
	for _, r := range asks {
		if g.found[r] != nil || !r.EvictsWhole() || len(g.found) == g.count {
			continue
		}
		n, in := r.Claim().Node, g.within
		if !n.Schedulable || in != nil && !g.Order.Domains.Has(in, n) {
			continue
		}
		if g.fill(n, &[]*ledger.Request{r}) == question.Flush {
			return question.Flush
		}
	}
	return question.Placed
}

// placeOn finds nodes for asks of one class among some: the first in order, one after the other, and
// from the first again while there is room. Where nodes are packed, each is filled first.
func (g *groupPlan) placeOn(nodes iter.Seq[*ledger.Node], asks *[]*ledger.Request) question.Outcome {
	for {
		var with []*ledger.Node
		for n := range nodes {
			before := len(*asks)
			if g.fill(n, asks) == question.Flush {
				return question.Flush
			}
			if len(*asks) == 0 || len(g.found) == g.count {
				return question.Placed
			}
			if len(*asks) < before {
				with = append(with, n)
			}
		}
		if len(with) == 0 {
			return question.Waits
		}
		nodes = slices.Values(with)
	}
}

// isFull reports whether as many asks have a node as were to find one in the domain that is looked at.
func (g *groupPlan) isFull() bool { return g.most > 0 && len(g.found) >= g.most }

// keeps reports whether the group has a claim on a node.
func (g *groupPlan) keeps(n *ledger.Node) bool {
	return slices.ContainsFunc(n.Claims, func(r *ledger.Request) bool { return r.StartsWith == g.group && r.Wait.Claim.Whole })
}

// candidates visits the nodes where the group has claims, then those with room in order, then those
// that have room if what is kept there for less important asks is taken.
func (g *groupPlan) candidates(r *ledger.Request) iter.Seq[*ledger.Node] {
	return func(yield func(*ledger.Node) bool) {
		for _, e := range g.emptied {
			if (g.within == nil || g.Order.Domains.Has(g.within, e.Node)) && !yield(e.Node) {
				return
			}
		}
		if g.emptied != nil {
			return
		}
		if g.claims > 0 && !g.visit(g.keeps, yield) {
			return
		}
		for n := g.Order.First(r.Amounts); n != nil; n = g.Order.Next(n, r.Amounts) {
			if !yield(n) {
				return
			}
		}
		if g.Importances.Below(r.Importance) {
			g.visit(func(n *ledger.Node) bool { return n.Yields(r.Importance) && !r.Amounts.FitsIn(n.Room) }, yield)
		}
	}
}

// visit visits those nodes that take asks for which a condition holds, by ID.
func (g *groupPlan) visit(holds, yield func(*ledger.Node) bool) (more bool) {
	for n := range g.AllNodes {
		if n.Schedulable && holds(n) && !yield(n) {
			return false
		}
	}
	return true
}

// plannedOn is what is planned on a node.
func (g *groupPlan) plannedOn(n *ledger.Node) *plannedNode {
	on := g.on[n]
	if on == nil {
		on = &plannedNode{}
		g.on[n] = on
	}
	return on
}

// fill puts the first of some asks on a node if it fits, or, where nodes are packed, as many
// as fit.
func (g *groupPlan) fill(n *ledger.Node, asks *[]*ledger.Request) question.Outcome {
	on := g.plannedOn(n)
	for len(*asks) > 0 && len(g.found) < g.count && !g.isFull() {
		r := (*asks)[0]
		if on.class != g.ClassOf(r) {
			on.class, on.room, on.agreed = g.ClassOf(r), g.roomOn(n, r).Minus(on.used), false
		}
		if !r.Amounts.FitsIn(on.room) || g.avoids && r.Wait != nil && r.Wait.Avoid == n.ID {
			return question.Waits
		}
		if !g.hasQuota(r) {
			*asks = (*asks)[1:] // others of its class may be of other applications
			continue
		}
		if result := g.fits(r, n, on); result != question.Placed {
			return result
		}
		g.charge(r)
		on.used.Add(r.Amounts)
		on.room.Sub(r.Amounts)
		on.asks = append(on.asks, r)
		g.found[r], g.order = n, append(g.order, r)
		*asks = (*asks)[1:]
		if !g.Order.Packing && g.emptied == nil {
			break
		}
	}
	return question.Placed
}

// roomOn is what a node has for an ask beside what is kept from it. When all has left that may leave, members that run stay, and the group
// has the turn of the one for which room is kept.
func (g *groupPlan) roomOn(n *ledger.Node, r *ledger.Request) resources.Amounts {
	isKept := func(other *ledger.Request) bool { return isKeptFrom(g.group, r.Importance, other, g.found) }
	if g.emptied == nil {
		return roomNow(g.group, n, isKept)
	}
	room := n.WhenLeft()
	for _, member := range n.Own {
		if member.StartsWith == g.group {
			room = room.Minus(member.Amounts)
		}
	}
	turn := g.Holder
	return roomWith(n, room, func(other *ledger.Request) bool {
		givesWay := turn != nil && turn != g.group && other.StartsWith == turn && other.Wait.Claim.Whole
		return !givesWay && isKept(other)
	})
}

// roomNow is what is free on a node for members of a group beside what is kept from them, but at least what roomClaimed says.
func roomNow(of *ledger.Group, n *ledger.Node, isKept func(*ledger.Request) bool) resources.Amounts {
	room := roomWith(n, n.Free, isKept)
	if claimed := roomClaimed(of, n, isKept); len(claimed) > 0 {
		room = room.Clone()
		room.Raise(claimed)
	}
	return room
}

// roomWith is what is left of some amounts on a node beside those claims there that are kept.
func roomWith(n *ledger.Node, room resources.Amounts, isKept func(*ledger.Request) bool) resources.Amounts {
	for _, other := range n.Claims {
		if isKept(other) {
			room = room.Minus(other.Amounts)
		}
	}
	return room
}

// roomClaimed is what is free on a node for the claims of a group there, beside those of others that come before them: those
// that come after wait for the group, even if they are kept from what it has not claimed.
func roomClaimed(of *ledger.Group, n *ledger.Node, isKept func(*ledger.Request) bool) (claimed resources.Amounts) {
	free, room := n.Free, resources.Amounts{}
	for _, r := range n.Claims {
		if r.StartsWith != of || !r.Wait.Claim.Whole || isKept(r) {
			free = free.Minus(r.Amounts)
			continue
		}
		claimed = claimed.Plus(r.Amounts)
		room = free
	}
	for kind := range claimed {
		claimed[kind] = min(claimed[kind], room.Of(resources.Kind(kind)))
	}
	return claimed
}

// isKeptFrom reports whether the claim of an ask is kept from a member of a group: those of one group take what is kept for any of
// them, but for what evictions make for a more important one that has found no node.
func isKeptFrom(of *ledger.Group, importance int32, other *ledger.Request, found map[*ledger.Request]*ledger.Node) bool {
	if other.StartsWith == of && other.Wait.Claim.Whole {
		return other.Importance > importance && other.Wait.Claim.Evicts && found[other] == nil
	}
	return other.Importance >= importance
}

// fits reports whether an ask for which there is room may run on a node beside what is planned there.
// A plan that has asked often enough comes to nothing.
func (g *groupPlan) fits(r *ledger.Request, n *ledger.Node, on *plannedNode) question.Outcome {
	if g.emptied != nil {
		return g.mayRunOn(r, n, on)
	}
	if g.looksByDomain() && g.Options.Feasible != nil {
		if g.ClassOf(r).Refused.Has(n) {
			return question.Waits
		}
		if g.Predicates.Calls >= question.CallsMax {
			return question.Flush // what was refused so far is not asked again
		}
	}
	if g.calls++; g.calls > max(question.CallsMax, 2*len(g.asks)) && g.Options.Feasible != nil {
		g.detail = "too many nodes refuse parts of it"
		return question.Waits
	}
	result, err := g.check(r, n, on)
	if err != nil {
		if g.looksByDomain() && len(on.asks) == 0 {
			g.Refused.Begin(g.ClassOf(r)).Add(n, err, g.NodesFreed)
		}
		g.detail, g.refused = err.Error(), true
		return question.Waits
	}
	on.agreed = true
	return result
}

// check asks the resource manager about an ask and a node. The answer is flush if that must hear first what was done in this batch.
func (g *groupPlan) check(r *ledger.Request, n *ledger.Node, on *plannedNode) (question.Outcome, error) {
	if g.Options.Feasible != nil && g.Predicates.MustHear(r, n) {
		return question.Flush, nil
	}
	if err := g.ask(r, n, on); err != nil {
		return question.Waits, err
	}
	return question.Placed, nil
}

// ask asks the resource manager whether an ask may run on a node beside what is planned there, which it may need.
func (g *groupPlan) ask(r *ledger.Request, n *ledger.Node, on *plannedNode) error {
	if g.Options.Simulate == nil || len(on.asks) == 0 {
		return g.Predicates.Ask(r, n, true)
	}
	keys := r.ExpectedBefore(n)
	for _, other := range on.asks {
		if !slices.Contains(keys, other.Key) {
			keys = append(keys, other.Key)
		}
	}
	return g.Predicates.Beside(r, n, keys, nil)
}

// mayRunOn asks the resource manager whether asks of a class may run on a node at all. A plan that has
// asked often enough keeps what it found, and the next one goes on. So it is where the batch has placed
// something, of which the resource manager does not know yet.
func (g *groupPlan) mayRunOn(r *ledger.Request, n *ledger.Node, on *plannedNode) question.Outcome {
	if on.agreed || g.Options.Feasible == nil || g.keeps(n) {
		return question.Placed
	}
	if g.calls++; g.calls > question.CallsMax || g.Predicates.Wait(api.FurtherQuestion) > 0 {
		g.exhausted = true
		return question.Waits
	}
	result, _ := g.Predicates.Check(r, n, false)
	g.exhausted = g.exhausted || result == question.Flush
	if on.agreed = result == question.Placed; on.agreed {
		return question.Placed
	}
	return question.Waits
}

// nodes visits those that are looked at.
func (g *groupPlan) nodes(yield func(*ledger.Node) bool) {
	g.nodesIn(g.within)(yield)
}

// nodesIn visits the nodes of a domain, or, with nil, all.
func (g *groupPlan) nodesIn(d *topology.Domain) iter.Seq[*ledger.Node] {
	if d == nil {
		return g.AllNodes
	}
	return d.AllNodes
}

// byFit are the domains in which the group may run: those first where it has claims, then those that fit best.
func (g *groupPlan) byFit() []fit {
	at, _ := home(g.group.Running, g.level)
	return g.sortByFit(g.domainsFor(at))
}

// sortByFit are some domains in that order.
func (g *groupPlan) sortByFit(domains iter.Seq[*topology.Domain]) (list []fit) {
	for d := range domains {
		is := fitOf(d, g.tallies)
		is.claims = g.claimsIn(d)
		list = append(list, is)
	}
	slices.SortFunc(list, fit.compare)
	return list
}

// claimsIn is on how many nodes of a domain the group has claims.
func (g *groupPlan) claimsIn(d *topology.Domain) (count int) {
	for n := range d.AllNodes {
		if g.claims > 0 && g.keeps(n) {
			count++
		}
	}
	return count
}

// findWhenLeft has a plan that has found too few go on as if all had left that may leave: anywhere, or in the first domain in
// which there are enough nodes then, those where the group has claims first, then those with the most room.
func (g *groupPlan) findWhenLeft() question.Outcome {
	if !g.knowsClasses() {
		g.byClass()
	}
	if g.level == nil {
		return g.empty()
	}
	for _, d := range g.byFit() {
		slices.SortStableFunc(g.asks, g.hardestFirst(d.Domain))
		g.beginIn(d.Domain)
		if result := g.empty(); result == question.Placed || g.exhausted {
			return result
		}
	}
	return question.Waits
}

// knowsClasses reports whether the asks have the classes that they had when the plan began: they may have lost claims since.
func (g *groupPlan) knowsClasses() bool {
	return len(g.trees) == 0 || !slices.ContainsFunc(g.asks, func(r *ledger.Request) bool {
		return !slices.ContainsFunc(g.tallies, func(t tally) bool { return t.class == g.ClassOf(r) })
	})
}

// empty has a plan that has found too few go on as if all had left that may leave: on the nodes
// that come closest to having room for the first of the others.
func (g *groupPlan) empty() question.Outcome {
	first := slices.IndexFunc(g.asks, func(r *ledger.Request) bool { return g.found[r] == nil })
	if first < 0 {
		return question.Waits
	}
	for n := range g.nodes {
		if n.Schedulable {
			rank := 1
			if g.keeps(n) {
				rank = 0
			}
			g.emptied = append(g.emptied, preemption.CloseNode{Node: n, Rank: rank, Missing: g.asks[first].Amounts.MissingShare(n.Free)})
		}
	}
	slices.SortStableFunc(g.emptied, preemption.CloseNode.Compare)
	for _, on := range g.on {
		on.class = nil
	}
	g.calls, g.over = 0, 0
	return g.make()
}
