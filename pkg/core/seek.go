package core

import (
	"cmp"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A lead is a node and the plan to make room there.
type lead struct {
	node *node
	plan preemptor.Decision
}

// leads are the nodes that were planned for in full.
type leads struct {
	best    *lead // where room can be made, at the least cost
	count   int   // of those where it can
	failed  *lead // the first where it cannot
	refused int   // how many of those there are
}

func (l *leads) add(next *lead) {
	if !next.plan.Cost.Feasible() {
		if l.refused++; l.failed == nil {
			l.failed = next
		}
		return
	}
	l.count++
	if l.best == nil || next.plan.Cost.Compare(l.best.plan.Cost) < 0 {
		l.best = next
	}
}

// seek looks for the node where room for an ask costs least, and has it made.
// The outcome is placed if it is on its way; otherwise the hunt tells why not.
func (p *Partition) seek(r *request, trigger preemptor.Trigger) (PreemptionAttempt, outcome) {
	h := p.hunterOf(r, trigger)
	quota := r.quotaToFree()
	if !p.hasPrey(&h) {
		return p.withoutPrey(h, r, quota), waits
	}
	g := p.groundFor(h)
	var l leads
	switch {
	case len(quota) > 0 && !p.canFree(g, quota):
	case len(quota) == 0 && !p.consults():
		if best := p.best(g); best != nil && best.verdict == enough {
			l.best = &lead{best.node, p.planOn(g, r, best.node, nil)}
		}
	default:
		if p.weighUp(g, r, quota, &l) == tellNow {
			return PreemptionAttempt{}, tellNow
		}
	}
	story := p.storyOf(g, l)
	if l.best == nil {
		p.nearest(&story, g, r, quota)
		return story, waits
	}
	p.makeWay(r, l.best)
	return story, placed
}

// consults reports whether the resource manager has a say in who makes room.
func (p *Partition) consults() bool {
	return p.options.Feasible != nil || p.options.Simulate != nil || p.options.SelectVictims != nil
}

// leadsMax is how many nodes are planned for in full where the cost on the node
// alone does not decide; triesMax bounds those where it comes to nothing, unless
// the resource manager is asked, which has a bound of its own.
const (
	leadsMax = 16
	triesMax = 64
)

// weighUp plans for the nodes where room costs least in amounts alone, in that
// order, with what else counts: quota, and what the resource manager says. It
// ends when no other node can be better, or enough were looked at.
func (p *Partition) weighUp(g *ground, r *request, quota resources.Amounts, l *leads) outcome {
	var tried []prospect
	defer func() {
		for _, t := range tried {
			g.put(t)
		}
	}()
	for l.count < leadsMax && p.consents < consentsMax && (p.consults() || len(tried) < triesMax) {
		next := p.best(g)
		if next == nil || next.verdict != enough || l.best != nil && next.cost.Compare(l.best.plan.Cost) >= 0 {
			break
		}
		top := *next
		tried = append(tried, top)
		g.drop(top.node)
		if r.neverOn(top.node) {
			l.refused++
			continue
		}
		if p.consults() && top.node.touched == p.batch {
			return tellNow
		}
		l.add(&lead{top.node, p.planOn(g, r, top.node, quota)})
		if l.count > 0 && top.cost == leastOfAll && !p.consults() {
			break // who frees the quota alone frees it at the least cost
		}
	}
	return waits
}

// planOn plans who makes room for an ask on a node.
func (p *Partition) planOn(g *ground, r *request, n *node, quota resources.Amounts) preemptor.Decision {
	on := p.quarry(g, n, quota)
	p.preempted.Plans++
	if p.options.Simulate != nil || p.options.Feasible != nil {
		on.Fits = p.simulation(r, n)
	}
	if p.options.SelectVictims != nil {
		if plan, chosen := p.planByVictims(g, r, n, on); chosen {
			return plan
		}
	}
	return p.planner.Plan(p.now, p.plans[g.trigger], g.askOf(r), on)
}

// makeWay nominates an ask and tells the victims to go.
func (p *Partition) makeWay(r *request, found *lead) {
	w := r.waiting()
	w.plan, w.plannedAt = &found.plan, p.now
	p.nominate(r, found.node, &found.plan)
	for i := range found.plan.Victims {
		p.tellToGo(&found.plan.Victims[i], r, &found.plan)
	}
	if len(found.plan.Victims) > 0 {
		r.application.loop.count++
	}
	w.detail = found.plan.Summary(p.kinds)
	p.rouseBy(found.node) // more may come free than the ask needs
}

// storyOf is the story of a hunt: what there was, and what came of it.
func (p *Partition) storyOf(g *ground, l leads) PreemptionAttempt {
	h := PreemptionAttempt{
		At: p.now, Trigger: g.trigger, Nodes: len(g.heap), Closed: g.counts[closed], TooSmall: g.counts[small],
		Insufficient: g.counts[lacking], Sufficient: g.counts[enough], Skipped: g.counts[notAssessed], Refused: l.refused,
	}
	for _, chosen := range []*lead{l.best, l.failed} {
		if chosen != nil && h.Plan == nil {
			h.Node, h.Plan = chosen.node.id, &chosen.plan
		}
	}
	return h
}

// nearest adds to the story of a hunt in vain where the least was missing.
func (p *Partition) nearest(story *PreemptionAttempt, g *ground, r *request, quota resources.Amounts) {
	best := p.best(g)
	if story.Plan == nil && best != nil && best.verdict >= lacking {
		p.planNearest(story, g, r, best.node, quota)
	}
}

func (p *Partition) planNearest(story *PreemptionAttempt, g *ground, r *request, n *node, quota resources.Amounts) {
	plan := p.planner.Plan(p.now, p.plans[g.trigger], g.askOf(r), p.quarry(g, n, quota))
	story.Node, story.Plan = n.id, &plan
}

// withoutPrey is the story of a hunt for which there is nobody to take from: how
// many nodes could hold the ask, and where it lacks the least as things are.
func (p *Partition) withoutPrey(h hunter, r *request, quota resources.Amounts) PreemptionAttempt {
	story := PreemptionAttempt{At: p.now, Trigger: h.trigger, Nodes: p.nodes.Len()}
	var best *node
	var least resources.Share
	for n := range p.allNodes {
		switch h.outOfReach(n) {
		case closed:
			story.Closed++
		case small:
			story.TooSmall++
		default:
			story.Insufficient++
			missing := missingShare(r.Amounts, n.roomFor(h.shape.standing))
			if best == nil || missing.Compare(least) < 0 {
				best, least = n, missing
			}
		}
	}
	if best != nil {
		p.planNearest(&story, &ground{hunter: h, relations: map[*queue]*relation{}}, r, best, quota)
	}
	return story
}

// hasPrey reports whether there is any queue in which anybody may be told to go
// for a hunter, or anybody leaves already. It looks at the queues and at no node.
func (p *Partition) hasPrey(h *hunter) bool {
	if p.flat || !p.root.leaving.IsZero() {
		return true
	}
	found := false
	h.root.everywhere(func(q *queue) bool {
		found = found || len(q.running) > 0 && p.isPrey(h, q)
		return !found
	})
	return found
}

// isPrey reports whether anybody in a leaf may be told to go.
func (p *Partition) isPrey(h *hunter, leaf *queue) bool {
	rel := h.relate(leaf)
	lowest := rel.asSeen(leaf.running[0].priority)
	switch {
	case rel.protected:
		return false
	case h.trigger == preemptor.Priority && !p.mayTake(h.shape.priority, lowest):
		return false
	case h.trigger == preemptor.Guarantee &&
		(rel.same || lowest > h.shape.priority || !due(h.leaf, rel.common, h.shape.amounts, nil)):
		return false
	}
	for q := leaf; q != rel.common; q = q.parent {
		for i, guaranteed := range q.guaranteed {
			kind := resources.Kind(i)
			spare := max(q.used.Of(kind)-q.leaving.Of(kind)-guaranteed, 0)
			if guaranteed > 0 && leaf.smallest.Of(kind) > spare {
				return false // whoever went would leave less than is guaranteed
			}
		}
	}
	return true
}

// canFree reports whether enough quota could be freed by whoever runs where.
func (p *Partition) canFree(g *ground, quota resources.Amounts) bool {
	on := preemptor.Node{Kinds: p.kinds, Quota: quota}
	p.beginQuarry(g)
	if p.addElsewhere(g, nil, quota, quota) {
		on.Floors = p.floors
	}
	on.On = p.candidates
	return p.planner.Cost(p.plans[g.trigger], preemptor.Ask{Trigger: g.trigger, Priority: g.shape.priority}, on).Feasible()
}

// elsewhereMax is how many victims on other nodes are considered for the quota
// of an ask, unless it takes more of them.
const elsewhereMax = 64

// addElsewhere adds to a quarry those of other nodes who might free quota: the
// gentlest, and more if they do not hold enough. It reports whether a guarantee
// protects any of them. It is linear in what runs below the queue that is
// short.
func (p *Partition) addElsewhere(g *ground, n *node, quota, short resources.Amounts) bool {
	first, guarded := len(p.candidates), false
	for r := range g.root.allRunning {
		if r.node == n || r.going != nil || !holdsAny(r.Amounts, quota) {
			continue
		}
		c := r.candidate()
		c.Elsewhere = true
		guarded = p.placeIn(g, r, &c, short) || guarded
		if !c.Outside && !c.Protected && !c.Required {
			p.candidates = append(p.candidates, c)
		}
	}
	list := p.candidates[first:]
	slices.SortFunc(list, func(a, b preemptor.Candidate) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), b.Created.Compare(a.Created), strings.Compare(a.Key, b.Key))
	})
	var held resources.Amounts
	kept := 0
	for kept < len(list) && (kept < elsewhereMax || !quota.FitsIn(held)) {
		held.Add(list[kept].Amounts)
		kept++
	}
	p.candidates = p.candidates[:first+kept]
	return guarded
}

func holdsAny(held, wanted resources.Amounts) bool {
	for i, v := range wanted {
		if v > 0 && held.Of(resources.Kind(i)) > 0 {
			return true
		}
	}
	return false
}

// allRunning visits the allocations below a queue, in a fixed order.
func (q *queue) allRunning(yield func(*request) bool) { q.visitRunning(yield) }

func (q *queue) visitRunning(yield func(*request) bool) bool {
	for _, child := range q.sortedChildren() {
		if !child.visitRunning(yield) {
			return false
		}
	}
	for _, app := range q.sortedApplications() {
		for _, r := range app.allocations {
			if !yield(r) {
				return false
			}
		}
	}
	return true
}
