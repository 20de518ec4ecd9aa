package core

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// startTogether places as many asks of a group as must start together, or none: then they are
// held back until something changes, and hold nothing meanwhile but what is kept for one group.
// What fits nowhere is passed over while enough others fit. The others are tried one by one once
// the group runs.
func (p cycle) startTogether(g *group) outcome {
	if !p.groupWork.mayTry(p.batch) {
		return flush
	}
	p.work.Attempts++
	plan := p.newGroupPlan(g)
	result := plan.make()
	if result == waits && plan.avoids { // better there again than not at all
		plan = p.newGroupPlan(g)
		plan.avoids = false
		result = plan.make()
	}
	switch result {
	case placed:
		if p.holder == g {
			groups(p).dropRoom()
		}
		for i, ask := range plan.chosen {
			p.place(ask, plan.nodes[i])
		}
		return placed
	case flush:
		return flush
	case waits, paused, busy:
	}
	groups(p).hold(g, plan.detail)
	groups(p).keepRoom(plan)
	g.needs = plan.needs()
	groups(p).later(g)
	if plan.exhausted {
		groups(p).soon()
	}
	if g.misfit = !plan.overQuota; g.misfit && !g.hinted {
		p.hints.later()
	}
	return waits
}

// A groupPlan finds nodes for enough asks of a group. It changes nothing.
type groupPlan struct {
	cycle
	group   *group
	count   int        // asks that must start
	asks    []*request // that may: by priority, those of a class together, the oldest first
	least   int32      // the importance of the least important of them
	chosen  []*request // for which there are nodes
	nodes   []*node    // of these
	on      map[*node]*plannedNode
	planned map[*account]*plannedUse
	begin   map[*application]int // planned asks of those that do not count yet
	kept    []*node              // on which its asks have claims
	calls   int
	detail  string // why there are too few

	over      int  // asks that their quotas had no room for
	overQuota bool // that is why there are too few
	avoids    bool // nodes where binding failed are left out
	exhausted bool // more could be kept, and no more questions are asked now
	keepCalls int
}

// A plannedNode is a node with what is planned on it.
type plannedNode struct {
	used resources.Amounts
	asks []AllocationKey
}

// plannedUse is what is planned of an account, beside what it is charged for.
type plannedUse struct {
	resources.Sum
	applications int // that count from then on
}

// newGroupPlan begins a plan for the asks of a group that may run now.
func (p cycle) newGroupPlan(of *group) *groupPlan {
	g := &groupPlan{
		cycle: p, group: of, count: of.missing(), least: math.MaxInt32,
		on: map[*node]*plannedNode{}, planned: map[*account]*plannedUse{}, begin: map[*application]int{},
	}
	for r := range of.asks.all {
		if r.group == nil || keepsRoom(r) {
			continue
		}
		g.asks = append(g.asks, r)
		g.least = min(g.least, r.class.importance)
		g.avoids = g.avoids || r.wait != nil && r.wait.avoid != ""
		if held := r.claim(); held != nil && !slices.Contains(g.kept, held.node) {
			g.kept = append(g.kept, held.node)
		}
	}
	slices.SortFunc(g.kept, func(a, b *node) int { return cmp.Compare(a.id, b.id) })
	slices.SortStableFunc(g.asks, func(a, b *request) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.class.key, b.class.key))
	})
	return g
}

// needs are how many asks there are of which amounts, if they lack room only.
func (g *groupPlan) needs() (list []groupNeed) {
	if g.over > 0 || g.exhausted || len(g.asks) < g.group.asks.len() {
		return nil
	}
	for i, r := range g.asks {
		if i == 0 || r.class != g.asks[i-1].class {
			list = append(list, groupNeed{amounts: r.Amounts})
		}
		list[len(list)-1].count++
	}
	return list
}

// make finds nodes for the first asks in order that fit. Where none can be passed over, the quotas
// must have room for all of them first.
func (g *groupPlan) make() outcome {
	all := len(g.asks) == g.count
	if all && len(g.withinQuotas(g.asks, g.count)) < g.count {
		g.overQuota = true
		return waits
	}
	for rest := g.asks; len(rest) > 0 && len(g.chosen) < g.count; {
		alike := rest
		if other := slices.IndexFunc(rest, func(r *request) bool { return r.class != rest[0].class }); other > 0 {
			alike = rest[:other]
		}
		rest = rest[len(alike):]
		if !all {
			alike = g.withinQuotas(alike, g.count-len(g.chosen))
		}
		if len(alike) > 0 && g.placeAlike(alike) == flush {
			return flush
		}
		got := len(g.nodes) - len(g.chosen)
		g.chosen = append(g.chosen, alike[:got]...)
		g.unplan(alike[got:])
		if all && got < len(alike) {
			g.unplan(rest)
			break
		}
	}
	if len(g.chosen) == g.count {
		return placed
	}
	g.detail = cmp.Or(g.detail, "too few of its members fit")
	g.overQuota = g.over > len(g.asks)-g.count
	return waits
}

// withinQuotas plans as many of some asks as are wanted and the quotas have room for. They may be
// of several applications and users: what is too much for one is not for all.
func (g *groupPlan) withinQuotas(asks []*request, wanted int) (within []*request) {
	var refused *request // the last one: others like it of its application want the same
	for _, r := range asks {
		if len(within) == wanted {
			break
		}
		if refused != nil && r.application == refused.application && r.class == refused.class || !g.mayPlan(r) {
			refused = r
			g.over++
			continue
		}
		within = append(within, r)
	}
	return within
}

// mayPlan counts an ask with all its accounts if they have room for it.
func (g *groupPlan) mayPlan(r *request) bool {
	g.plan(r, 1)
	full := g.exceeds(r)
	if full != "" {
		g.detail = full
		g.plan(r, -1)
	}
	return full == ""
}

func (g *groupPlan) unplan(asks []*request) {
	for _, r := range asks {
		g.plan(r, -1)
	}
}

// exceeds says which account of an ask has no room for what is planned; nothing if all have.
func (g *groupPlan) exceeds(r *request) string {
	for _, account := range r.application.accounts() {
		for ; account != nil; account = account.parent {
			use := g.planned[account]
			switch {
			case !account.hasRoom(use.Amounts, r.class.importance):
				return "the quota of " + account.subject.String()
			case use.applications > 0 && account.applicationsMax > 0 && account.applications+use.applications > account.applicationsMax:
				return "too many applications of " + account.subject.String()
			}
		}
	}
	return ""
}

// plan counts an ask with all its accounts, or not any more, and its application if that does
// not count yet.
func (g *groupPlan) plan(r *request, more int) {
	app, begins := r.application, 0
	if !app.counts {
		before := g.begin[app]
		g.begin[app] = before + more
		begins = min(before+more, 1) - min(before, 1)
	}
	for _, account := range app.accounts() {
		for ; account != nil; account = account.parent {
			use := g.planned[account]
			if use == nil {
				use = new(plannedUse)
				g.planned[account] = use
			}
			use.applications += begins
			if more > 0 {
				use.Add(r.Amounts)
			} else {
				use.Sub(r.Amounts)
			}
		}
	}
}

// placeAlike finds nodes for asks of one class: the first in order, one after the other, and
// from the first again while there is room. Where nodes are packed, each is filled first.
func (g *groupPlan) placeAlike(asks []*request) outcome {
	list := g.candidates(asks[0])
	for len(asks) > 0 {
		var with []*node
		for n := range list {
			before := len(asks)
			if result := g.fill(n, &asks); result == flush {
				return flush
			}
			if len(asks) < before {
				with = append(with, n)
			}
			if len(asks) == 0 {
				return placed
			}
		}
		if len(with) == 0 {
			g.detail = cmp.Or(g.detail, "no node has room for the rest of it")
			return waits
		}
		list = slices.Values(with)
	}
	return placed
}

// candidates visits the nodes where the group has claims, then those with room in order, then those
// that have room if what is kept there for less important asks is taken.
func (g *groupPlan) candidates(r *request) iter.Seq[*node] {
	importance := r.class.importance
	return func(yield func(*node) bool) {
		for _, n := range g.kept {
			if n.schedulable && !yield(n) {
				return
			}
		}
		for n := g.order.first(r.Amounts); n != nil; n = g.order.next(n, r.Amounts) {
			if !yield(n) {
				return
			}
		}
		if !g.importances.below(importance) {
			return
		}
		for n := range g.allNodes {
			if n.schedulable && n.yields(importance) && !r.Amounts.FitsIn(n.room) && !yield(n) {
				return
			}
		}
	}
}

// fill puts the first of some asks on a node if it fits, or, where nodes are packed, as many
// as fit.
func (g *groupPlan) fill(n *node, asks *[]*request) outcome {
	for len(*asks) > 0 {
		r := (*asks)[0]
		if result := g.fits(r, n); result != placed {
			return result
		}
		on := g.on[n]
		on.used.Add(r.Amounts)
		on.asks = append(on.asks, r.Key)
		g.nodes = append(g.nodes, n)
		*asks = (*asks)[1:]
		if !g.order.packing {
			break
		}
	}
	return placed
}

// fits reports whether an ask may run on a node beside what is planned there.
func (g *groupPlan) fits(r *request, n *node) outcome {
	on := g.on[n]
	if on == nil {
		on = &plannedNode{}
		g.on[n] = on
	}
	if !r.Amounts.FitsIn(n.roomForMember(r).Minus(on.used)) || g.avoids && r.wait != nil && r.wait.avoid == n.id {
		return waits
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
	return result
}
