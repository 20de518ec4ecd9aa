package core

import (
	"cmp"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// TagGangStart is the tag of an application, and the property of a queue, that says how gangs
// start: "whole" is all placeholders at once or none.
const (
	TagGangStart = "gang.start"
	GangWhole    = "whole"
)

// wholeTriesMax is how many gangs that start whole and quorums are tried in one batch.
const wholeTriesMax = 16

// mayTry counts one more try in a batch, and reports whether there were not too many.
func (w *gangWork) mayTry(batch uint64) bool {
	if w.tried != batch {
		w.tried, w.tries = batch, 0
	}
	w.tries++
	return w.tries <= wholeTriesMax
}

// startWhole places all placeholders of the gang of an ask, or none: then they are held back
// until something changes, and hold nothing meanwhile but nodes that are kept for one gang.
func (p cycle) startWhole(r *request) outcome {
	if !p.gangWork.mayTry(p.batch) {
		return flush
	}
	p.work.Attempts++
	app := r.application
	plan := gangPlan{cycle: p, on: map[*node]*plannedNode{}}
	for _, ask := range app.asks {
		if ask.group != nil && startsWhole(ask) {
			plan.asks = append(plan.asks, ask)
			if held := ask.claim(); held != nil && !slices.Contains(plan.kept, held.node) {
				plan.kept = append(plan.kept, held.node)
			}
		}
	}
	slices.SortFunc(plan.kept, func(a, b *node) int { return cmp.Compare(a.id, b.id) })
	slices.SortFunc(plan.asks, func(a, b *request) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.class.key, b.class.key), inOrder(a, b))
	})
	switch plan.make() {
	case placed:
		for i, ask := range plan.asks {
			p.place(ask, plan.nodes[i])
		}
		return placed
	case flush:
		return flush
	case waits, paused, busy:
	}
	for _, ask := range plan.asks {
		p.extract(ask)
		members{&p.ledger}.holdBack(ask, AwaitsGang, plan.detail)
	}
	gangs(p).keepRoom(&plan)
	app.gang.needs = plan.needs()
	gangs(p).later(app)
	if plan.exhausted {
		gangs(p).soon()
	}
	if app.gang.misfit = !plan.overQuota; app.gang.misfit && !app.gang.hinted {
		p.hints.later()
	}
	return waits
}

// hint tells the resource manager of the members of gangs that start whole and fit no nodes: of
// all of them, as far as the quotas have room, since none starts alone.
func (p gangs) hint() {
	for _, app := range p.gangWork.waiting {
		if !app.gang.misfit || app.gang.hinted {
			continue
		}
		app.gang.hinted = true
		for _, r := range byKey(app.asks) {
			if startsWhole(r) && r.isHeld() && !p.hints.tellOf(r) {
				break
			}
		}
	}
}

// A gangPlan finds a node for each ask of a gang. It changes nothing.
type gangPlan struct {
	cycle
	asks   []*request // those of a class together
	nodes  []*node    // of the asks found so far
	on     map[*node]*plannedNode
	kept   []*node // on which its asks have claims
	calls  int
	detail string // why there is none

	overQuota bool // that is why
	avoids    bool // nodes where binding failed are left out
	exhausted bool // more nodes could be kept, and no more questions are asked now
	keepCalls int
}

// needs are how many asks there are of which amounts, if they lack room only.
func (g *gangPlan) needs() (list []gangNeed) {
	if g.overQuota || g.exhausted {
		return nil
	}
	for i, r := range g.asks {
		if i == 0 || r.class != g.asks[i-1].class {
			list = append(list, gangNeed{amounts: r.Amounts})
		}
		list[len(list)-1].count++
	}
	return list
}

// A plannedNode is a node with what is planned on it.
type plannedNode struct {
	used resources.Amounts
	asks []AllocationKey
}

// make finds the nodes, or says that there are none.
func (g *gangPlan) make() outcome {
	var sum resources.Sum
	for _, r := range g.asks {
		sum.Add(r.Amounts)
	}
	for _, account := range g.asks[0].application.accounts() {
		for ; account != nil; account = account.parent {
			if !account.hasRoom(sum.Amounts, g.asks[0].class.importance) {
				g.overQuota, g.detail = true, "the quota of "+account.subject.String()
				return waits
			}
		}
	}
	for rest := g.asks; len(rest) > 0; {
		alike := rest
		if other := slices.IndexFunc(rest, func(r *request) bool { return r.class != rest[0].class }); other > 0 {
			alike = rest[:other]
		}
		if result := g.placeAlike(alike); result != placed {
			return result
		}
		rest = rest[len(alike):]
	}
	return placed
}

// placeAlike finds nodes for asks of one class: the first in order, one after the other, and
// from the first again while there is room. Where nodes are packed, each is filled first.
func (g *gangPlan) placeAlike(asks []*request) outcome {
	first, amounts, count := asks[0], asks[0].Amounts, len(asks)
	var list []*node
	for _, n := range g.kept {
		before := len(asks)
		if n.schedulable && g.fill(n, &asks) == flush {
			return flush
		}
		if len(asks) < before {
			list = append(list, n)
		}
	}
	for n := g.order.first(amounts); n != nil && len(asks) > 0 && len(list) < count; n = g.order.next(n, amounts) {
		before := len(asks)
		if result := g.fill(n, &asks); result == flush {
			return flush
		}
		if len(asks) < before {
			list = append(list, n)
		}
	}
	for n := range g.claimed(first, &asks) {
		before := len(asks)
		if result := g.fill(n, &asks); result == flush {
			return flush
		}
		if len(asks) < before {
			list = append(list, n)
		}
	}
	for len(asks) > 0 {
		with := list[:0]
		for _, n := range list {
			before := len(asks)
			if result := g.fill(n, &asks); result == flush {
				return flush
			}
			if len(asks) < before {
				with = append(with, n)
			}
		}
		if list = with; len(list) == 0 && len(asks) > 0 {
			g.detail = cmp.Or(g.detail, "no node has room for the rest of it")
			return waits
		}
	}
	return placed
}

// claimed visits the nodes, while any ask is left, that have room if what is kept there for less
// important asks is taken.
func (g *gangPlan) claimed(r *request, left *[]*request) func(func(*node) bool) {
	importance := r.class.importance
	return func(yield func(*node) bool) {
		if !g.importances.below(importance) {
			return
		}
		for n := range g.allNodes {
			if len(*left) == 0 {
				return
			}
			if n.schedulable && n.yields(importance) && !r.Amounts.FitsIn(n.room) && !yield(n) {
				return
			}
		}
	}
}

// fill puts the first of some asks on a node if it fits, or, where nodes are packed, as many
// as fit.
func (g *gangPlan) fill(n *node, asks *[]*request) outcome {
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
func (g *gangPlan) fits(r *request, n *node) outcome {
	on := g.on[n]
	if on == nil {
		on = &plannedNode{}
		g.on[n] = on
	}
	if !r.Amounts.FitsIn(n.roomForGang(r).Minus(on.used)) || g.avoids && r.wait != nil && r.wait.avoid == n.id {
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
