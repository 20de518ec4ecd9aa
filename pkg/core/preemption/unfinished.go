package preemption

import (
	"math"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/backlog"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// An unfinished attempt is what an attempt has found out that goes on in a later batch,
// since one batch looks at so many nodes only. Nothing is worked out twice unless its node
// has changed: also where what room costs depends on more than the node, such as guarantees
// and budgets. So an attempt comes to its end however often these change, and then makes the
// plan as things are.
type unfinished struct {
	number     uint64 // in the order in which attempts began
	began      uint64 // the count of changed nodes then
	configured uint64 // the count of configurations
	failed     []api.PreemptionAttempt
	among      *NodeCosts // of the nodes that have changed, if no others are looked at
	upTo       uint64     // the count of changed nodes up to which these are known
	kept       bool       // there is room for the ask, which is kept for more important ones
	dryRuns
}

// dryRuns are the plans of one trigger that an unfinished attempt has made.
type dryRuns struct {
	best    *ledger.Node            // where room can be made at the least cost
	count   int                     // of the nodes where it can be made
	made    map[*ledger.Node]uint64 // those nodes, with the count of changes then
	planned int                     // what the plans cost, in evaluations
	frees   bool                    // enough quota could be freed
}

// Resume takes up the attempt that the asks of a LeafClass have not finished, or begins one.
func (a *Attempts) Resume(leaf *backlog.LeafClass) {
	u := a.unfinished[leaf]
	delete(a.unfinished, leaf)
	if u == nil || u.configured != a.Costs.configurations {
		a.Begun++
		u = &unfinished{number: a.Begun, began: a.NodesChanged, configured: a.Costs.configurations}
	}
	a.under, a.Costs.Attempt = u, u.number
}

// Leave keeps an attempt that is not over. Those of asks that wait no more are forgotten when there are
// twice as many as there were.
func (a *Attempts) Leave(leaf *backlog.LeafClass) {
	if len(a.unfinished) >= a.forgetAt {
		for of := range a.unfinished {
			if of.Leaf == nil {
				delete(a.unfinished, of)
			}
		}
		a.forgetAt = 2*len(a.unfinished) + 1
	}
	if a.unfinished == nil {
		a.unfinished = map[*backlog.LeafClass]*unfinished{}
	}
	a.unfinished[leaf] = a.under
}

// FirstUnfinished is the number of the first attempt that goes on, or the highest number.
func (a *Attempts) FirstUnfinished() uint64 {
	first := uint64(math.MaxUint64)
	for leaf, u := range a.unfinished {
		if leaf.Leaf != nil {
			first = min(first, u.number)
		}
	}
	return first
}

// failedBy is what an unfinished attempt found out about a trigger, if that failed.
func (u *unfinished) failedBy(t preemptor.Trigger) bool {
	for i := range u.failed {
		if u.failed[i].Trigger == t {
			return true
		}
	}
	return false
}

// amongChanged are the costs of the nodes that have changed since an attempt failed on all.
func (a *Attempts) amongChanged(key Key, nodes []*ledger.Node, behind []preemptor.Behind) *NodeCosts {
	u := a.under
	if u.among == nil || u.among.Key != key {
		u.among = &NodeCosts{}
		a.Costs.begin(u.among, key, behind, slices.Values(nodes))
	} else {
		a.Costs.refreshAmong(u.among, nodes, u.upTo)
	}
	u.upTo = a.NodesChanged
	return u.among
}

// refreshAmong takes into account which of some nodes have changed after a count of changes.
func (p *CostCache) refreshAmong(c *NodeCosts, nodes []*ledger.Node, after uint64) {
	c.goesOn = true
	for _, gone := range [2]bool{true, false} { // another node may have the slot of one that is gone
		for _, n := range nodes {
			if n.Gone == gone && n.ChangedAt > after {
				p.reset(c, n)
			}
		}
	}
}

// canFree reports whether enough quota can be freed, which is found out once.
func (d *dryRuns) canFree(ask func() bool) bool {
	d.frees = d.frees || ask()
	return d.frees
}

// note notes a plan that makes room.
func (d *dryRuns) note(n *ledger.Node, best bool) {
	if d.made == nil {
		d.made = map[*ledger.Node]uint64{}
	}
	d.made[n] = n.ChangedAt
	d.count++
	if best {
		d.best = n
	}
}

// isMade reports whether a plan that makes room on a node as it is was made already.
func (d *dryRuns) isMade(n *ledger.Node) bool {
	at, made := d.made[n]
	return made && at == n.ChangedAt
}

// isEnough reports whether so much was planned that the best so far is good enough.
func (d *dryRuns) isEnough() bool {
	return d.best != nil && d.planned >= EvaluationsMax
}
