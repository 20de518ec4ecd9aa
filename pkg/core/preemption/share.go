package preemption

import (
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/answers"
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

// planBeside plans for an ask where those behind are of other sizes. It is none if room cannot be
// made on the node that is best for all of them. The outcome is waits unless the attempt has to
// go on later.
func (a *Attempts) planBeside(c *NodeCosts, r *ledger.Request) (best answers.CandidateNode, _ question.Outcome) {
	if !c.mayShare() {
		return best, question.Waits
	}
	var nodes []*ledger.Node
	late := false
	for top := range a.Costs.cheapest(c, &late) {
		if !a.Predicates.Attempt.HopelessNow(top.Node, answers.FailedPlan{Leaf: r.App.Queue, Trigger: c.Trigger}) {
			nodes = append(nodes, top.Node)
		}
		if len(nodes) == sharedNodesMax {
			break
		}
	}
	switch {
	case late:
		return best, question.Busy
	case len(nodes) < 2:
		return best, question.Waits
	}
	a.Costs.Shares.Begin(a.Costs.Plans[c.Trigger], c.askOf(r))
	for _, n := range nodes {
		a.Costs.Shares.Add(a.Costs.nodeInput(c, n, nil))
	}
	n := nodes[a.Costs.Shares.Best(bestNodesMax)]
	if a.Predicates.Any() && a.Predicates.MustHear(r, n) {
		return best, question.Flush
	}
	planned := a.dryRun(c, r, n, nil)
	switch {
	case a.Predicates.Paused:
		return best, question.Paused
	case !planned.Plan.Cost.Feasible():
		return best, question.Waits
	}
	return planned, question.Waits
}

// mayShare reports whether victims may serve more of the asks that wait together than one by one,
// as far as the largest allocations on the first nodes tell. If an ask needs no more victims, it may leave
// what ends already to others that do where it goes elsewhere.
func (c *NodeCosts) mayShare() bool {
	for i := range c.Heap[:min(len(c.Heap), bestNodesMax)] {
		n := c.Heap[i].Node
		free, largest := n.RoomToMake(c.Class.Importance, c.Trigger), n.LargestHeld()
		may := func(asked resources.Amounts) bool {
			return preemptor.MayShare(asked, free, n.Releasing.Amounts, largest, c.step)
		}
		if c.Heap[i].Cost == leastOfAll || may(c.Class.Amounts) || slices.ContainsFunc(c.behind, func(b preemptor.Behind) bool { return may(b.Amounts) }) {
			return true
		}
	}
	return false
}
