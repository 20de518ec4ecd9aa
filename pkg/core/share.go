package core

import (
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/backlog"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/core/question"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// sharedNodesMax is on how many nodes it is looked at where all asks that wait would go: those
// where room for the first ask costs least. It goes to one of the best.
const (
	sharedNodesMax = 10
	bestNodesMax   = 4
)

// planBeside plans for an ask where those behind are of other sizes. It is nil if room cannot be
// made on the node that is best for all of them. The outcome is waits unless the attempt has to
// go on later.
func (a *attempts) planBeside(c *nodeCosts, r *ledger.Request) (*backlog.CandidateNode, question.Outcome) {
	if !c.mayShare() {
		return nil, question.Waits
	}
	var nodes []*ledger.Node
	late := false
	for top := range a.costs.cheapest(c, &late) {
		if !a.predicates.Attempt.HopelessNow(top.node, backlog.FailedPlan{Leaf: r.App.Queue, Trigger: c.trigger}) {
			nodes = append(nodes, top.node)
		}
		if len(nodes) == sharedNodesMax {
			break
		}
	}
	switch {
	case late:
		return nil, question.Busy
	case len(nodes) < 2:
		return nil, question.Waits
	}
	a.costs.shares.Begin(a.costs.plans[c.trigger], c.askOf(r))
	for _, n := range nodes {
		a.costs.shares.Add(a.costs.nodeInput(c, n, nil))
	}
	n := nodes[a.costs.shares.Best(bestNodesMax)]
	if a.predicates.Any() && a.predicates.MustHear(r, n) {
		return nil, question.Flush
	}
	planned := a.dryRun(c, r, n, nil)
	switch {
	case a.predicates.Paused:
		return nil, question.Paused
	case !planned.Plan.Cost.Feasible():
		return nil, question.Waits
	}
	return planned, question.Waits
}

// mayShare reports whether victims may serve more of the asks that wait together than one by one,
// as far as the largest allocations on the first nodes tell. If an ask needs no more victims, it may leave
// what ends already to others that do where it goes elsewhere.
func (c *nodeCosts) mayShare() bool {
	for i := range c.heap[:min(len(c.heap), bestNodesMax)] {
		n := c.heap[i].node
		free, largest := n.RoomToMake(c.class.Importance, c.trigger), n.LargestHeld()
		may := func(asked resources.Amounts) bool {
			return preemptor.MayShare(asked, free, n.Releasing.Amounts, largest, c.step)
		}
		if c.heap[i].cost == leastOfAll || may(c.class.Amounts) || slices.ContainsFunc(c.behind, func(b preemptor.Behind) bool { return may(b.Amounts) }) {
			return true
		}
	}
	return false
}
