package core

import (
	"errors"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/nodeset"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// A candidateNode is a node and the plan to make room there.
type candidateNode struct {
	node *ledger.Node
	plan preemptor.Decision
}

// simulations are the answers of the resource manager about asks of a class on nodes
// without some allocations. They are what preemption attempts know:
//
//   - unresolvable are the nodes that it refuses whatever is removed, until the node is
//     updated;
//   - failed are those for which every plan of a trigger failed, until the node changes
//     in any way;
//   - emptied are those that it refuses without all that runs there, until the node changes;
//   - kept are all answers about other nodes, until the attempt is over. So an attempt
//     whose questions pause asks nothing twice when it goes on.
//
// nearest are nodes of failed, with the plans, for readers.
type simulations struct {
	unresolvable nodeset.Set
	failed       [preemptor.Triggers]nodeset.Set
	nearest      [preemptor.Triggers]*candidateNode
	emptied      nodeset.Set
	kept         map[*ledger.Node]*keptAnswers
	learnt       bool // there is anything in the sets
	refused      bool // a plan was refused, which says nothing of other asks of the class
	repeated     bool // an attempt was made before
	// exhausted says that attempts by priority failed on all nodes, where priorities and
	// nodes alone decide. Only nodes in changed may help since.
	exhausted bool
	since     uint64 // the count of changed nodes up to which that holds, where a class is tried again in turn
	changed   []*ledger.Node
}

// keptAnswers are the answers about a node as long as it does not change.
type keptAnswers struct {
	changedAt uint64
	fits      map[string]error // by what is removed
	chosen    map[string]chosenVictims
	failed    []failedPlan
}

// refusalOf is what is known of why a node refused the asks of a class.
func (s *simulations) refusalOf(n *ledger.Node) string {
	for _, near := range s.nearest {
		if near != nil && near.node == n && near.plan.Refusal != "" {
			return near.plan.Refusal
		}
	}
	return "refused before, and nothing has changed there"
}

// A failedPlan is one that failed for asks of a leaf.
type failedPlan struct {
	leaf    *ledger.Queue
	trigger preemptor.Trigger
}

// chosenVictims is the answer of a resource manager that chooses the victims itself.
type chosenVictims struct {
	keys []api.AllocationKey
	err  error
}

// errPaused stands for the answer to a question that has to wait.
var errPaused = errors.New("questions to the resource manager pause")

// hopeless reports whether nothing that a trigger could evict on a node helps.
func (s *simulations) hopeless(n *ledger.Node, t preemptor.Trigger) bool {
	return s.unresolvable.Has(n.Slot, n.UpdatedAt) || s.failed[t].Has(n.Slot, n.ChangedAt)
}

// isRefusedEmpty reports whether an attempt learnt that a node is refused without all that
// runs there, and the node has not changed since.
func (s *simulations) isRefusedEmpty(n *ledger.Node) bool {
	return s != nil && s.emptied.Has(n.Slot, n.ChangedAt)
}

// hopelessNow is hopeless, or that the plan failed earlier in an attempt that goes on.
func (s *simulations) hopelessNow(n *ledger.Node, of failedPlan) bool {
	kept := s.kept[n]
	return s.hopeless(n, of.trigger) || kept != nil && kept.changedAt == n.ChangedAt && slices.Contains(kept.failed, of)
}

// about are the answers that are kept about a node as it is.
func (s *simulations) about(n *ledger.Node) *keptAnswers {
	kept := s.kept[n]
	if kept == nil || kept.changedAt != n.ChangedAt {
		if s.kept == nil {
			s.kept = map[*ledger.Node]*keptAnswers{}
		}
		kept = &keptAnswers{changedAt: n.ChangedAt, fits: map[string]error{}, chosen: map[string]chosenVictims{}}
		s.kept[n] = kept
	}
	return kept
}

func (s *simulations) clone() *simulations {
	other := *s
	return &other
}

// noteUnresolvable notes that an ask may not run on a node whatever is removed, if the
// resource manager says so.
func (s *simulations) noteUnresolvable(n *ledger.Node, err error, updated uint64) {
	if isUnresolvable(err) {
		s.unresolvable.Add(n.Slot, n.UpdatedAt, updated)
		s.learnt = true
	}
}

// exhaust notes that attempts by priority have failed on all nodes, as they were at a count of changes.
func (s *simulations) exhaust(since uint64) {
	if s != nil {
		s.exhausted, s.since, s.changed = true, since, nil
	}
}

// help notes that a node may help since it was changed. Nil stands for all nodes.
func (s *simulations) help(n *ledger.Node) {
	switch {
	case s == nil || !s.exhausted:
	case n == nil:
		s.exhausted, s.changed = false, nil
	case !slices.Contains(s.changed, n):
		s.changed = append(s.changed, n)
	}
}

func isUnresolvable(err error) bool {
	var never interface{ Unresolvable() bool }
	return errors.As(err, &never) && never.Unresolvable()
}
