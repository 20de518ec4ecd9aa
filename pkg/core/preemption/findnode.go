package preemption

import (
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/answers"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/core/question"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// candidateNodes are the nodes that were planned for in full.
type candidateNodes struct {
	best    answers.CandidateNode // where room can be made, at the least cost
	count   int                   // of those where it can
	failed  answers.CandidateNode // the first where it cannot
	refused int                   // how many of those there are
}

func (l *candidateNodes) add(next answers.CandidateNode) {
	if !next.Plan.Cost.Feasible() {
		if l.refused++; l.failed.Plan == nil {
			l.failed = next
		}
		return
	}
	l.count++
	if l.best.Plan == nil || next.Plan.Cost.Compare(l.best.Plan.Cost) < 0 {
		l.best = next
	}
}

// tryBy looks for the node where room for an ask costs least, and has it made. The
// outcome is placed if room is on its way; otherwise the attempt tells why not.
func (a *Attempts) tryBy(r *ledger.Request, trigger preemptor.Trigger) (api.PreemptionAttempt, question.Outcome) {
	key := a.Costs.keyOf(r, trigger)
	quota := r.QuotaToFree()
	if !a.hasVictims(&key) {
		return a.withoutVictims(key, r, quota), question.Waits
	}
	var behind []preemptor.Behind
	if len(quota) == 0 {
		behind = a.behind(r, trigger)
	}
	c, changed := a.costsFor(r, key, behind)
	var found candidateNodes
	if !c.Alike {
		best, result := a.planBeside(c, r)
		if result != question.Waits {
			return api.PreemptionAttempt{}, result
		}
		found.best = best
	}
	switch {
	case found.best.Plan != nil:
	case len(quota) > 0 && !a.under.canFree(func() bool { return a.canFree(c, quota) }):
	default:
		if result := a.planAll(c, r, quota, &found); result != question.Waits {
			return api.PreemptionAttempt{}, result
		}
	}
	if found.best.Plan != nil && len(quota) == 0 && trigger == preemptor.Priority && a.fitsKept(r) {
		found, a.under.kept = candidateNodes{}, true
	}
	attempt := a.describe(c, found)
	if changed {
		addCounts(&attempt, a.GroupOf(r).Leaf.Last)
	}
	if found.best.Plan == nil {
		a.addNearMiss(&attempt, c, r, quota)
		return attempt, question.Waits
	}
	a.nominateAndEvict(r, found.best)
	return attempt, question.Placed
}

// costsFor are what room for an ask costs on all nodes. If attempts by priority have failed
// on all of them, and nothing but priorities and nodes decides, they are those of the nodes
// that have changed since.
func (a *Attempts) costsFor(r *ledger.Request, key Key, behind []preemptor.Behind) (c *NodeCosts, changed bool) {
	known := a.ClassOf(r).Simulations
	if known.HaveFailed() && key.Trigger == preemptor.Priority && a.Costs.Flat && r.WithoutRoom() == nil {
		return a.amongChanged(key, known.MayHelp(), behind), true
	}
	return a.Costs.of(key, behind), false
}

// fitsKept reports whether an ask would fit on a node if nothing was kept there for asks that are as
// important and for which nothing is evicted. No room is made for it then: it waits for these.
func (a *Attempts) fitsKept(r *ledger.Request) bool {
	return a.Idle > 0 && slices.ContainsFunc(a.Claims, func(other *ledger.Request) bool {
		if !other.Claim().IsIdle() || other.Importance < r.Importance {
			return false
		}
		n := other.Claim().Node
		room := n.Free.Clone()
		for _, o := range n.Claims {
			if !o.Claim().IsIdle() && o.KeepsFrom(r) {
				room.Sub(o.Amounts)
			}
		}
		return r.Amounts.FitsInSum(room, n.Releasing.Amounts) && !a.ClassOf(r).Refused.Has(n)
	})
}

// CandidateNodesMax is how many nodes are planned for in full where the resource manager
// is asked, which takes its time: a cheaper one may then be missed, but none is lost.
const CandidateNodesMax = 16

// planAll plans for the nodes where room costs least in amounts alone, in that
// order, with what else counts: quota, and what the resource manager says. It
// ends when no other node can be better, or has to go on later. Nodes where a plan failed
// are not planned for again.
func (a *Attempts) planAll(c *NodeCosts, r *ledger.Request, quota ledger.QuotaNeed, found *candidateNodes) question.Outcome {
	if !a.planAgain(c, r, quota, found) {
		return question.Paused
	}
	asks, late := a.Predicates.Any(), false
	isEnough := func() bool { return asks && found.count >= CandidateNodesMax || a.under.isEnough() }
	if isEnough() {
		return question.Waits
	}
	for top := range a.Costs.cheapest(c, &late) {
		switch {
		case found.best.Plan != nil && top.Cost.Compare(found.best.Plan.Cost) >= 0:
			return question.Waits
		case a.Predicates.Attempt.HopelessNow(top.Node, answers.FailedPlan{Leaf: r.App.Queue, Trigger: c.Trigger}):
			found.refused++
			continue
		case a.under.isMade(top.Node):
			continue
		case asks && a.Predicates.MustHear(r, top.Node):
			return question.Flush
		case a.Costs.Remaining <= 0:
			return question.Busy
		}
		planned := a.planFor(c, r, top.Node, quota)
		if planned.Plan == nil {
			return question.Paused
		}
		found.add(planned)
		switch isBest := found.best == planned; {
		case found.best.Plan != nil && found.best.Plan.Cost.Compare(top.Cost) <= 0:
			return question.Waits // no other costs less
		case found.count > 0 && top.Cost == leastOfAll && !asks:
			return question.Waits // the victims free quota only, and this is the least cost of that
		case planned.Plan.Cost.Feasible():
			a.under.note(top.Node, isBest)
		}
		if isEnough() {
			return question.Waits
		}
	}
	if late {
		return question.Busy
	}
	return question.Waits
}

// planFor plans for one node. It is none if questions to the resource manager have to wait.
func (a *Attempts) planFor(c *NodeCosts, r *ledger.Request, n *ledger.Node, quota ledger.QuotaNeed) answers.CandidateNode {
	planned := a.dryRun(c, r, n, quota)
	if a.Predicates.Paused {
		return answers.CandidateNode{}
	}
	cost := 1 + len(a.Costs.Input.candidates)/perEvaluation + a.Costs.stepsTaken()
	a.Costs.Remaining -= cost
	a.under.planned += cost
	return planned
}

// planAgain plans again for the best node of an attempt that goes on. If that has changed, or
// no room can be made there any more, all are planned for again. It is false if questions to
// the resource manager have to wait.
func (a *Attempts) planAgain(c *NodeCosts, r *ledger.Request, quota ledger.QuotaNeed, found *candidateNodes) bool {
	d := &a.under.dryRuns
	if d.best == nil {
		return true
	}
	if d.isMade(d.best) {
		planned := a.dryRun(c, r, d.best, quota)
		if a.Predicates.Paused {
			return false
		}
		found.add(planned)
	}
	if found.count = d.count; found.best.Plan == nil {
		*d, *found = dryRuns{planned: d.planned, frees: d.frees}, candidateNodes{}
	}
	return true
}

// perEvaluation is how many candidates a plan may have that takes no longer than to work
// out what room on a node costs.
const perEvaluation = 64

// dryRun plans which allocations make room for an ask on a node. If questions to the
// resource manager have to wait, the plan is none.
func (a *Attempts) dryRun(c *NodeCosts, r *ledger.Request, n *ledger.Node, quota ledger.QuotaNeed) answers.CandidateNode {
	on := a.Costs.nodeInput(c, n, quota)
	a.Counts.Plans++
	if a.Predicates.Filters() {
		on.Fits, on.AwaitsQuota = a.Predicates.Simulation(r, n), r.WithoutRoom() != nil
	}
	var plan preemptor.Decision
	chosen := false
	if a.Options.SelectVictims != nil {
		plan, chosen = a.selectVictims(c, r, n, on)
	}
	if !chosen {
		ask := c.askOf(r)
		for again := true; again; again = len(quota) > 0 && a.Predicates.SpareNeeded(&on, &plan, n, r.ExpectedBefore) {
			plan = a.Costs.Planner.Plan(a.Now, a.Costs.Plans[c.Trigger], ask, on)
			if plan.Together.Asks > 0 && a.Options.Simulate != nil && a.Predicates.BesideVictims(r, n, plan.Victims) != nil {
				ask.Behind = nil
				plan = a.Costs.Planner.Plan(a.Now, a.Costs.Plans[c.Trigger], ask, on)
			}
		}
	}
	found := answers.CandidateNode{Node: n, Plan: &plan}
	if !a.Predicates.Paused && !found.Plan.Cost.Feasible() {
		a.Predicates.NoteFailed(r, found, len(quota) > 0 || len(on.Floors) > 0 || len(on.Budgets) > 0)
	}
	return found
}

// selectVictims has the resource manager choose the victims on a node. It says false
// where there are none to choose from.
func (a *Attempts) selectVictims(c *NodeCosts, r *ledger.Request, n *ledger.Node, on preemptor.Node) (preemptor.Decision, bool) {
	ask, plans, planner := c.askOf(r), a.Costs.Plans[c.Trigger], &a.Costs.Planner
	list, violating := planner.Candidates(plans, ask, on)
	if len(list) == 0 {
		return preemptor.Decision{}, false
	}
	chosen, err := a.Predicates.Choose(r, n, list, violating)
	if err != nil {
		return planner.Refuse(plans, ask, on, err.Error()), true
	}
	victims := make([]string, len(chosen))
	for i, key := range chosen {
		victims[i] = string(key)
	}
	return planner.Accept(plans, ask, on, victims), true
}

// nominateAndEvict nominates an ask and has the victims evicted.
func (a *Attempts) nominateAndEvict(r *ledger.Request, found answers.CandidateNode) {
	r.Waiting().Plans(found.Plan, a.Now)
	a.Kept.nominate(r, found.Node, found.Plan)
	a.evictFor(r, found.Plan)
	a.Changes.Node(found.Node, ledger.NodeYields) // more may be freed than the ask needs
	a.Kept.SettleQuota(r)                         // first, as that may leave room to others
	a.Kept.Settle(found.Node)
}

// withoutVictims is an attempt for which there are no victims anywhere: how many
// nodes could hold the ask, and where it lacks the least as things are.
func (a *Attempts) withoutVictims(key Key, r *ledger.Request, quota ledger.QuotaNeed) api.PreemptionAttempt {
	attempt := api.PreemptionAttempt{At: a.Now, Trigger: key.Trigger, Nodes: a.Nodes.Len()}
	var best *ledger.Node
	var least resources.Share
	for n := range a.AllNodes {
		switch a.Costs.outOfReach(&key, n) {
		case closed:
			attempt.Closed++
		case tooSmall:
			attempt.TooSmall++
		default:
			attempt.Insufficient++
			missing := r.Amounts.MissingShare(n.RoomToMake(key.Class.Importance, key.Trigger))
			if best == nil || missing.Compare(least) < 0 {
				best, least = n, missing
			}
		}
	}
	if best != nil {
		a.planNearMiss(&attempt, &NodeCosts{Key: key, Relations: map[*ledger.Queue]*Relation{}}, r, best, quota)
	}
	return attempt
}

// hasVictims reports whether there is any queue with victims for the asks of a key, or
// any eviction under way. It looks at the queues and at no node.
func (a *Attempts) hasVictims(key *Key) bool {
	if a.Costs.Flat || !a.Root.Releasing.IsZero() {
		return true
	}
	found := false
	key.Scope.Everywhere(func(q *ledger.Queue) bool {
		found = found || len(q.Running) > 0 && a.hasVictimsIn(key, q)
		return !found
	})
	return found
}

// hasVictimsIn reports whether any allocation of a leaf may be a victim.
func (a *Attempts) hasVictimsIn(key *Key, leaf *ledger.Queue) bool {
	rel := key.relate(leaf)
	lowest := rel.asSeen(leaf.Running[0].Priority)
	switch {
	case rel.protected:
		return false
	case key.Trigger == preemptor.Priority && !a.MayTake(key.Class.Priority, lowest):
		return false
	case key.Trigger == preemptor.Guarantee &&
		(rel.same || lowest > key.Class.Priority || !key.Leaf.UnderGuarantee(rel.common, key.Class.Amounts, nil)):
		return false
	}
	for q := leaf; q != rel.common; q = q.Parent {
		for i, guaranteed := range q.Guaranteed {
			kind := resources.Kind(i)
			spare := max(q.Used.Of(kind)-q.Releasing.Of(kind)-q.Overdue.Of(kind)-guaranteed, 0)
			if guaranteed > 0 && leaf.Smallest.Of(kind) > spare {
				return false // any victim would leave less than is guaranteed
			}
		}
	}
	return true
}

// canFree reports whether enough quota could be freed by victims on any node.
func (a *Attempts) canFree(c *NodeCosts, quota ledger.QuotaNeed) bool {
	most := quota.Most()
	if most.Above(api.PlanMax) {
		return false
	}
	on := preemptor.Node{Kinds: a.Kinds}
	quota.SetOn(&on)
	in := &a.Costs.Input
	in.Begin(c, a.Costs.Flat && c.Leaf == a.Root)
	in.quota, in.short = quota, a.Costs.owed(most)
	a.Costs.addElsewhere(c, nil, quota)
	in.SetOn(c, &on)
	ask := preemptor.Ask{Trigger: c.Trigger, Priority: c.Class.Priority}
	return a.Costs.Planner.Cost(a.Costs.Plans[c.Trigger], ask, on).Feasible()
}
