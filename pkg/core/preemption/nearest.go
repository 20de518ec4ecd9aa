package preemption

import (
	"github.com/narwhal-scheduler/narwhal/pkg/core/answers"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
)

// describe is an attempt as readers see it: what the nodes were good for, and what was
// planned.
func (a *Attempts) describe(c *NodeCosts, found candidateNodes) api.PreemptionAttempt {
	h := api.PreemptionAttempt{
		At: a.Now, Trigger: c.Trigger, Nodes: c.nodes(), Closed: c.counts[closed], TooSmall: c.counts[tooSmall],
		Insufficient: c.counts[insufficient], Sufficient: c.counts[Sufficient], Skipped: c.counts[notEvaluated], Refused: found.refused,
	}
	for _, chosen := range []answers.CandidateNode{found.best, found.failed} {
		if chosen.Plan != nil && h.Plan == nil {
			h.Node, h.Plan = chosen.Node.ID, chosen.Plan
		}
	}
	return h
}

// addCounts adds the counts of nodes of the last failed attempt by the same trigger, after
// which these nodes changed.
func addCounts(h *api.PreemptionAttempt, last []api.PreemptionAttempt) {
	for _, l := range last {
		if l.Trigger == h.Trigger {
			h.Nodes, h.Closed, h.TooSmall, h.Insufficient, h.Sufficient = l.Nodes, l.Closed, l.TooSmall, l.Insufficient, l.Sufficient
			h.Skipped, h.Refused = l.Skipped, l.Refused
		}
	}
}

// addNearMiss adds to a failed attempt the node that lacked the least: one that was
// planned for earlier if all were refused then.
func (a *Attempts) addNearMiss(attempt *api.PreemptionAttempt, c *NodeCosts, r *ledger.Request, quota ledger.QuotaNeed) {
	if attempt.Plan != nil {
		return
	}
	if refused := a.Predicates.Attempt.Nearest(c.Trigger); refused.Plan != nil && attempt.Refused > 0 {
		attempt.Node, attempt.Plan = refused.Node.ID, refused.Plan
		return
	}
	near := a.Costs.nearest(c)
	if best, ok := a.Costs.best(c); ok && best != nil {
		near = best.Node
	}
	if near != nil {
		a.planNearMiss(attempt, c, r, near, quota)
	}
}

// planNearMiss says what is missing on a node. Where nothing is, in amounts alone, the resource
// manager has refused it before, or it is kept for another ask meanwhile: then there is nothing
// to be said of it.
func (a *Attempts) planNearMiss(attempt *api.PreemptionAttempt, c *NodeCosts, r *ledger.Request, n *ledger.Node, quota ledger.QuotaNeed) {
	on := a.Costs.nodeInput(c, n, quota)
	plan, known := a.Costs.Planner.Plan(a.Now, a.Costs.Plans[c.Trigger], c.askOf(r), on), a.Predicates.Attempt
	refused := known.HopelessNow(n, answers.FailedPlan{Leaf: r.App.Queue, Trigger: c.Trigger})
	switch {
	case plan.Cost.Feasible() && !refused:
		return
	case plan.Cost.Feasible() || known.NeverOn(n):
		plan = a.Costs.Planner.Refuse(a.Costs.Plans[c.Trigger], c.askOf(r), on, known.RefusalOf(n))
	}
	attempt.Node, attempt.Plan = n.ID, &plan
}
