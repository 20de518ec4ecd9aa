package group

import (
	"cmp"
	"iter"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/backlog"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemption"
	"github.com/narwhal-scheduler/narwhal/pkg/core/question"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A groupPlan finds nodes for enough asks of a group. It changes nothing.
//
// When it has found too few, it may go on as if all had left that may leave, to say where room is
// to be kept.
type groupPlan struct {
	*Groups
	group   *ledger.Group
	count   int                              // asks that must start
	claims  int                              // of asks of the group
	asks    []*ledger.Request                // that may: by priority, those of a class together, the oldest first
	found   map[*ledger.Request]*ledger.Node // of those for which there is one
	on      map[*ledger.Node]*plannedNode
	uses    map[*ledger.Application]*plannedUses
	planned map[*ledger.Account]*plannedUse
	emptied []preemption.CloseNode // as if all had left there, those first where the group has claims; nil at first
	calls   int
	over    int    // asks that their quotas had no room for
	detail  string // why there are too few

	avoids    bool // nodes where binding failed are left out
	exhausted bool // more nodes could be found, and no more questions are asked now
}

// A plannedNode is a node with what is planned on it.
type plannedNode struct {
	used   resources.Amounts
	asks   []*ledger.Request
	class  *backlog.Class    // of the asks that were tried last
	room   resources.Amounts // what is left for these
	agreed bool              // the resource manager has agreed to them
}

// plannedUse is what is planned of an account, beside what it is charged for, and plannedUses what
// is of those of an application.
type plannedUse struct {
	account *ledger.Account
	resources.Sum
	applications int // that count from then on
}

type plannedUses struct {
	of     []*plannedUse
	begins bool // it does not count yet
}

// newGroupPlan begins a plan for the asks of a group that may run now.
func (s *Groups) newGroupPlan(of *ledger.Group) *groupPlan {
	g := &groupPlan{
		Groups: s, group: of, count: of.Missing(), claims: s.claimsOf(of), found: map[*ledger.Request]*ledger.Node{},
		on: map[*ledger.Node]*plannedNode{}, uses: map[*ledger.Application]*plannedUses{}, planned: map[*ledger.Account]*plannedUse{},
	}
	for r := range of.Asks.All {
		if s.GroupOf(r) == nil || r.KeepsRoom() {
			continue
		}
		g.asks = append(g.asks, r)
		g.avoids = g.avoids || r.Wait != nil && r.Wait.Avoid != ""
	}
	slices.SortStableFunc(g.asks, func(a, b *ledger.Request) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(s.ClassOf(a).Key, s.ClassOf(b).Key))
	})
	return g
}

// A need is how many asks of a group have the same amounts.
type need struct {
	amounts resources.Amounts
	count   int64
}

// needs are how many asks there are of which amounts, if they lack room only.
func (g *groupPlan) needs() (list []need) {
	if g.over > 0 || g.exhausted || len(g.asks) < g.group.Asks.Len() {
		return nil
	}
	for i, r := range g.asks {
		if i == 0 || g.ClassOf(r) != g.ClassOf(g.asks[i-1]) {
			list = append(list, need{amounts: r.Amounts})
		}
		list[len(list)-1].count++
	}
	return list
}

// make finds nodes for the first asks in order that fit, of those for which there are none yet.
// Where none can be passed over, the quotas must have room for all of them first.
func (g *groupPlan) make() question.Outcome {
	if g.emptied == nil && len(g.asks) == g.count {
		for _, r := range g.asks {
			if !g.hasQuota(r) {
				return question.Waits
			}
			g.charge(r)
		}
		g.uses, g.planned = map[*ledger.Application]*plannedUses{}, map[*ledger.Account]*plannedUse{}
	}
	rest := slices.DeleteFunc(slices.Clone(g.asks), func(r *ledger.Request) bool { return g.found[r] != nil })
	for len(rest) > 0 && len(g.found) < g.count && g.over <= len(g.asks)-g.count {
		alike := rest
		if other := slices.IndexFunc(rest, func(r *ledger.Request) bool { return g.ClassOf(r) != g.ClassOf(rest[0]) }); other > 0 {
			alike = rest[:other]
		}
		rest = rest[len(alike):]
		if result := g.placeAlike(alike); result == question.Flush || result == question.Waits && len(g.asks) == g.count {
			return result
		}
	}
	if len(g.found) == g.count {
		return question.Placed
	}
	g.detail = cmp.Or(g.detail, "too few of its members fit")
	return question.Waits
}

// usesOf is what is planned of the accounts of an application that have limits.
func (g *groupPlan) usesOf(app *ledger.Application) *plannedUses {
	uses := g.uses[app]
	if uses != nil {
		return uses
	}
	uses = &plannedUses{begins: !app.Counts}
	g.uses[app] = uses
	for _, account := range app.Accounts() {
		for ; account != nil; account = account.Parent {
			if len(account.Max) == 0 && account.ApplicationsMax == 0 {
				continue
			}
			if g.planned[account] == nil {
				g.planned[account] = &plannedUse{account: account}
			}
			uses.of = append(uses.of, g.planned[account])
		}
	}
	return uses
}

// hasQuota reports whether the accounts of an ask have room for it beside what is planned. They may be
// of several applications and users: what is too much for one is not for all.
func (g *groupPlan) hasQuota(r *ledger.Request) bool {
	uses := g.usesOf(r.App)
	for _, use := range uses.of {
		a := use.account
		switch {
		case !a.HasRoom(use.Plus(r.Amounts), r.Importance):
			g.detail = "the quota of " + a.Subject.String()
		case uses.begins && a.ApplicationsMax > 0 && a.Applications+use.applications >= a.ApplicationsMax:
			g.detail = "too many applications of " + a.Subject.String()
		default:
			continue
		}
		g.over++
		return false
	}
	return true
}

// charge plans an ask with its accounts, and its application if that does not count yet.
func (g *groupPlan) charge(r *ledger.Request) {
	uses := g.usesOf(r.App)
	for _, use := range uses.of {
		if use.Add(r.Amounts); uses.begins {
			use.applications++
		}
	}
	uses.begins = false
}

// placeAlike finds nodes for asks of one class: the first in order, one after the other, and
// from the first again while there is room. Where nodes are packed, each is filled first.
func (g *groupPlan) placeAlike(asks []*ledger.Request) question.Outcome {
	for list := g.candidates(asks[0]); ; {
		var with []*ledger.Node
		for n := range list {
			before := len(asks)
			if g.fill(n, &asks) == question.Flush {
				return question.Flush
			}
			if len(asks) == 0 || len(g.found) == g.count {
				return question.Placed
			}
			if len(asks) < before {
				with = append(with, n)
			}
		}
		if len(with) == 0 && g.avoids { // better there again than not at all
			g.avoids, list = false, g.candidates(asks[0])
			continue
		}
		if len(with) == 0 {
			g.detail = cmp.Or(g.detail, "no node has room for the rest of it")
			return question.Waits
		}
		list = slices.Values(with)
	}
}

// keeps reports whether the group has a claim on a node.
func (g *groupPlan) keeps(n *ledger.Node) bool {
	return slices.ContainsFunc(n.Claims, func(r *ledger.Request) bool { return r.StartsWith == g.group && r.Wait.Claim.Whole })
}

// candidates visits the nodes where the group has claims, then those with room in order, then those
// that have room if what is kept there for less important asks is taken.
func (g *groupPlan) candidates(r *ledger.Request) iter.Seq[*ledger.Node] {
	return func(yield func(*ledger.Node) bool) {
		for _, e := range g.emptied {
			if !yield(e.Node) {
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
	for len(*asks) > 0 && len(g.found) < g.count {
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
		g.found[r] = n
		*asks = (*asks)[1:]
		if !g.Order.Packing && g.emptied == nil {
			break
		}
	}
	return question.Placed
}

// roomOn is what a node has for an ask beside the claims that are kept from it: those of one group
// take what is kept for any of them.
func (g *groupPlan) roomOn(n *ledger.Node, r *ledger.Request) resources.Amounts {
	room := n.Free
	if g.emptied != nil {
		room = n.WhenLeft()
	}
	for _, other := range n.Claims {
		if other.Importance >= r.Importance && (other.StartsWith != g.group || !other.Wait.Claim.Whole) {
			room = room.Minus(other.Amounts)
		}
	}
	return room
}

// fits reports whether an ask for which there is room may run on a node beside what is planned there.
// A plan that has asked often enough comes to nothing.
func (g *groupPlan) fits(r *ledger.Request, n *ledger.Node, on *plannedNode) question.Outcome {
	if g.emptied != nil {
		return g.mayRunOn(r, n, on)
	}
	if g.calls++; g.calls > max(question.CallsMax, 2*len(g.asks)) && g.Options.Feasible != nil {
		g.detail = "too many nodes refuse parts of it"
		return question.Waits
	}
	result, err := g.Predicates.Check(r, n, true)
	if result == question.Placed {
		err = g.simulate(r, n, on)
	}
	if err != nil {
		g.detail = err.Error()
		return question.Waits
	}
	on.agreed = true
	return result
}

// simulate asks the resource manager whether an ask may run beside what is planned on a node.
func (g *groupPlan) simulate(r *ledger.Request, n *ledger.Node, on *plannedNode) error {
	if g.Options.Simulate == nil || len(on.asks) == 0 {
		return nil
	}
	keys := make([]api.AllocationKey, len(on.asks))
	for i, other := range on.asks {
		keys[i] = other.Key
	}
	return g.Options.Simulate(r.Key, n.ID, keys, nil)
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

// empty has a plan that has found too few go on as if all had left that may leave: on the nodes
// that come closest to having room for the first of the others.
func (g *groupPlan) empty() question.Outcome {
	first := slices.IndexFunc(g.asks, func(r *ledger.Request) bool { return g.found[r] == nil })
	if first < 0 {
		return question.Waits
	}
	for n := range g.AllNodes {
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
