package core

import (
	"cmp"
	"iter"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A groupPlan finds nodes for enough asks of a group. It changes nothing.
//
// When it has found too few, it may go on as if all had left that may leave, to say where room is
// to be kept.
type groupPlan struct {
	*Partition
	group   *group
	count   int                // asks that must start
	asks    []*request         // that may: by priority, those of a class together, the oldest first
	found   map[*request]*node // of those for which there is one
	on      map[*node]*plannedNode
	uses    map[*application]*plannedUses
	planned map[*account]*plannedUse
	emptied []closeNode // as if all had left there, those first where the group has claims; nil at first
	calls   int
	over    int    // asks that their quotas had no room for
	detail  string // why there are too few

	avoids    bool // nodes where binding failed are left out
	exhausted bool // more nodes could be found, and no more questions are asked now
}

// A plannedNode is a node with what is planned on it.
type plannedNode struct {
	used   resources.Amounts
	asks   []api.AllocationKey
	class  *class            // of the asks that were tried last
	room   resources.Amounts // what is left for these
	agreed bool              // the resource manager has agreed to them
}

// plannedUse is what is planned of an account, beside what it is charged for, and plannedUses what
// is of those of an application.
type plannedUse struct {
	account *account
	resources.Sum
	applications int // that count from then on
}

type plannedUses struct {
	of     []*plannedUse
	begins bool // it does not count yet
}

// newGroupPlan begins a plan for the asks of a group that may run now.
func (p *Partition) newGroupPlan(of *group) *groupPlan {
	g := &groupPlan{
		Partition: p, group: of, count: of.missing(), found: map[*request]*node{},
		on: map[*node]*plannedNode{}, uses: map[*application]*plannedUses{}, planned: map[*account]*plannedUse{},
	}
	for r := range of.asks.all {
		if p.groupOf(r) == nil || r.keepsRoom() {
			continue
		}
		g.asks = append(g.asks, r)
		g.avoids = g.avoids || r.wait != nil && r.wait.avoid != ""
	}
	slices.SortStableFunc(g.asks, func(a, b *request) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(p.classOf(a).key, p.classOf(b).key))
	})
	return g
}

// needs are how many asks there are of which amounts, if they lack room only.
func (g *groupPlan) needs() (list []groupNeed) {
	if g.over > 0 || g.exhausted || len(g.asks) < g.group.asks.len() {
		return nil
	}
	for i, r := range g.asks {
		if i == 0 || g.classOf(r) != g.classOf(g.asks[i-1]) {
			list = append(list, groupNeed{amounts: r.Amounts})
		}
		list[len(list)-1].count++
	}
	return list
}

// make finds nodes for the first asks in order that fit, of those for which there are none yet.
// Where none can be passed over, the quotas must have room for all of them first.
func (g *groupPlan) make() outcome {
	if g.emptied == nil && len(g.asks) == g.count {
		for _, r := range g.asks {
			if !g.hasQuota(r) {
				return waits
			}
			g.charge(r)
		}
		g.uses, g.planned = map[*application]*plannedUses{}, map[*account]*plannedUse{}
	}
	rest := slices.DeleteFunc(slices.Clone(g.asks), func(r *request) bool { return g.found[r] != nil })
	for len(rest) > 0 && len(g.found) < g.count && g.over <= len(g.asks)-g.count {
		alike := rest
		if other := slices.IndexFunc(rest, func(r *request) bool { return g.classOf(r) != g.classOf(rest[0]) }); other > 0 {
			alike = rest[:other]
		}
		rest = rest[len(alike):]
		if result := g.placeAlike(alike); result == flush || result == waits && len(g.asks) == g.count {
			return result
		}
	}
	if len(g.found) == g.count {
		return placed
	}
	g.detail = cmp.Or(g.detail, "too few of its members fit")
	return waits
}

// usesOf is what is planned of the accounts of an application that have limits.
func (g *groupPlan) usesOf(app *application) *plannedUses {
	uses := g.uses[app]
	if uses != nil {
		return uses
	}
	uses = &plannedUses{begins: !app.counts}
	g.uses[app] = uses
	for _, account := range app.accounts() {
		for ; account != nil; account = account.parent {
			if len(account.max) == 0 && account.applicationsMax == 0 {
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
func (g *groupPlan) hasQuota(r *request) bool {
	uses := g.usesOf(r.application)
	for _, use := range uses.of {
		a := use.account
		switch {
		case !a.hasRoom(use.Plus(r.Amounts), r.importance):
			g.detail = "the quota of " + a.subject.String()
		case uses.begins && a.applicationsMax > 0 && a.applications+use.applications >= a.applicationsMax:
			g.detail = "too many applications of " + a.subject.String()
		default:
			continue
		}
		g.over++
		return false
	}
	return true
}

// charge plans an ask with its accounts, and its application if that does not count yet.
func (g *groupPlan) charge(r *request) {
	uses := g.usesOf(r.application)
	for _, use := range uses.of {
		if use.Add(r.Amounts); uses.begins {
			use.applications++
		}
	}
	uses.begins = false
}

// placeAlike finds nodes for asks of one class: the first in order, one after the other, and
// from the first again while there is room. Where nodes are packed, each is filled first.
func (g *groupPlan) placeAlike(asks []*request) outcome {
	for list := g.candidates(asks[0]); ; {
		var with []*node
		for n := range list {
			before := len(asks)
			if g.fill(n, &asks) == flush {
				return flush
			}
			if len(asks) == 0 || len(g.found) == g.count {
				return placed
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
			return waits
		}
		list = slices.Values(with)
	}
}

// keeps reports whether the group has a claim on a node.
func (g *groupPlan) keeps(n *node) bool {
	return slices.ContainsFunc(n.claims, func(r *request) bool { return r.startsWith == g.group && r.wait.claim.whole })
}

// candidates visits the nodes where the group has claims, then those with room in order, then those
// that have room if what is kept there for less important asks is taken.
func (g *groupPlan) candidates(r *request) iter.Seq[*node] {
	return func(yield func(*node) bool) {
		for _, e := range g.emptied {
			if !yield(e.node) {
				return
			}
		}
		if g.emptied != nil {
			return
		}
		if g.group.claims > 0 && !g.visit(g.keeps, yield) {
			return
		}
		for n := g.order.first(r.Amounts); n != nil; n = g.order.next(n, r.Amounts) {
			if !yield(n) {
				return
			}
		}
		if g.importances.Below(r.importance) {
			g.visit(func(n *node) bool { return n.yields(r.importance) && !r.Amounts.FitsIn(n.room) }, yield)
		}
	}
}

// visit visits those nodes that take asks for which a condition holds, by ID.
func (g *groupPlan) visit(holds, yield func(*node) bool) (more bool) {
	for n := range g.allNodes {
		if n.schedulable && holds(n) && !yield(n) {
			return false
		}
	}
	return true
}

// fill puts the first of some asks on a node if it fits, or, where nodes are packed, as many
// as fit.
func (g *groupPlan) fill(n *node, asks *[]*request) outcome {
	on := g.on[n]
	if on == nil {
		on = &plannedNode{}
		g.on[n] = on
	}
	for len(*asks) > 0 && len(g.found) < g.count {
		r := (*asks)[0]
		if on.class != g.classOf(r) {
			on.class, on.room, on.agreed = g.classOf(r), g.roomOn(n, r).Minus(on.used), false
		}
		if !r.Amounts.FitsIn(on.room) || g.avoids && r.wait != nil && r.wait.avoid == n.id {
			return waits
		}
		if !g.hasQuota(r) {
			*asks = (*asks)[1:] // others of its class may be of other applications
			continue
		}
		if result := g.fits(r, n, on); result != placed {
			return result
		}
		g.charge(r)
		on.used.Add(r.Amounts)
		on.room.Sub(r.Amounts)
		on.asks = append(on.asks, r.Key)
		g.found[r] = n
		*asks = (*asks)[1:]
		if !g.order.packing && g.emptied == nil {
			break
		}
	}
	return placed
}

// roomOn is what a node has for an ask beside the claims that are kept from it: those of one group
// take what is kept for any of them.
func (g *groupPlan) roomOn(n *node, r *request) resources.Amounts {
	room := n.free
	if g.emptied != nil {
		room = n.whenLeft()
	}
	for _, other := range n.claims {
		if other.importance >= r.importance && (other.startsWith != g.group || !other.wait.claim.whole) {
			room = room.Minus(other.Amounts)
		}
	}
	return room
}

// fits reports whether an ask for which there is room may run on a node beside what is planned there.
// A plan that has asked often enough comes to nothing.
func (g *groupPlan) fits(r *request, n *node, on *plannedNode) outcome {
	if g.emptied != nil {
		return g.mayRunOn(r, n, on)
	}
	if g.calls++; g.calls > max(callsMax, 2*len(g.asks)) && g.options.Feasible != nil {
		g.detail = "too many nodes refuse parts of it"
		return waits
	}
	result, err := g.predicates.check(r, n, true)
	if result == placed && g.options.Simulate != nil && len(on.asks) > 0 {
		err = g.options.Simulate(r.Key, n.id, on.asks, nil)
	}
	if err != nil {
		g.detail = err.Error()
		return waits
	}
	on.agreed = true
	return result
}

// mayRunOn asks the resource manager whether asks of a class may run on a node at all. A plan that has
// asked often enough keeps what it found, and the next one goes on. So it is where the batch has placed
// something, of which the resource manager does not know yet.
func (g *groupPlan) mayRunOn(r *request, n *node, on *plannedNode) outcome {
	if on.agreed || g.options.Feasible == nil || g.keeps(n) {
		return placed
	}
	if g.calls++; g.calls > callsMax || g.predicates.wait(api.FurtherQuestion) > 0 {
		g.exhausted = true
		return waits
	}
	result, _ := g.predicates.check(r, n, false)
	g.exhausted = g.exhausted || result == flush
	if on.agreed = result == placed; on.agreed {
		return placed
	}
	return waits
}

// empty has a plan that has found too few go on as if all had left that may leave: on the nodes
// that come closest to having room for the first of the others.
func (g *groupPlan) empty() outcome {
	first := slices.IndexFunc(g.asks, func(r *request) bool { return g.found[r] == nil })
	if first < 0 {
		return waits
	}
	for n := range g.allNodes {
		if n.schedulable {
			rank := 1
			if g.keeps(n) {
				rank = 0
			}
			g.emptied = append(g.emptied, closeNode{n, rank, g.asks[first].Amounts.MissingShare(n.free)})
		}
	}
	slices.SortStableFunc(g.emptied, closeNode.compare)
	for _, on := range g.on {
		on.class = nil
	}
	g.calls, g.over = 0, 0
	return g.make()
}
