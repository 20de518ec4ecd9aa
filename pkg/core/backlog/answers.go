package backlog

import (
	"errors"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/nodeset"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// A CandidateNode is a node and the plan to make room there.
type CandidateNode struct {
	Node *ledger.Node
	Plan preemptor.Decision
}

// Simulations are the answers of the resource manager about asks of a class on nodes
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
type Simulations struct {
	Unresolvable nodeset.Set
	Failed       [preemptor.Triggers]nodeset.Set
	Nearest      [preemptor.Triggers]*CandidateNode
	Emptied      nodeset.Set
	Kept         map[*ledger.Node]*KeptAnswers
	Learnt       bool // there is anything in the sets
	Refused      bool // a plan was refused, which says nothing of other asks of the class
	Repeated     bool // an attempt was made before
	// Exhausted says that attempts by priority failed on all nodes, where priorities and
	// nodes alone decide. Only nodes in changed may help since.
	Exhausted bool
	Since     uint64 // the count of changed nodes up to which that holds, where a class is tried again in turn
	Changed   []*ledger.Node
}

// KeptAnswers are the answers about a node as long as it does not change.
type KeptAnswers struct {
	changedAt uint64
	Fits      map[string]error // by what is removed
	Chosen    map[string]ChosenVictims
	Failed    []FailedPlan
}

// RefusalOf is what is known of why a node refused the asks of a class.
func (s *Simulations) RefusalOf(n *ledger.Node) string {
	for _, near := range s.Nearest {
		if near != nil && near.Node == n && near.Plan.Refusal != "" {
			return near.Plan.Refusal
		}
	}
	return "refused before, and nothing has changed there"
}

// A FailedPlan is one that failed for asks of a leaf.
type FailedPlan struct {
	Leaf    *ledger.Queue
	Trigger preemptor.Trigger
}

// ChosenVictims is the answer of a resource manager that chooses the victims itself.
type ChosenVictims struct {
	Keys []api.AllocationKey
	Err  error
}

// ErrPaused stands for the answer to a question that has to wait.
var ErrPaused = errors.New("questions to the resource manager pause")

// Hopeless reports whether nothing that a trigger could evict on a node helps.
func (s *Simulations) Hopeless(n *ledger.Node, t preemptor.Trigger) bool {
	return s.Unresolvable.Has(n.Slot, n.UpdatedAt) || s.Failed[t].Has(n.Slot, n.ChangedAt)
}

// IsRefusedEmpty reports whether an attempt learnt that a node is refused without all that
// runs there, and the node has not changed since.
func (s *Simulations) IsRefusedEmpty(n *ledger.Node) bool {
	return s != nil && s.Emptied.Has(n.Slot, n.ChangedAt)
}

// HopelessNow is hopeless, or that the plan failed earlier in an attempt that goes on.
func (s *Simulations) HopelessNow(n *ledger.Node, of FailedPlan) bool {
	kept := s.Kept[n]
	return s.Hopeless(n, of.Trigger) || kept != nil && kept.changedAt == n.ChangedAt && slices.Contains(kept.Failed, of)
}

// About are the answers that are kept about a node as it is.
func (s *Simulations) About(n *ledger.Node) *KeptAnswers {
	kept := s.Kept[n]
	if kept == nil || kept.changedAt != n.ChangedAt {
		if s.Kept == nil {
			s.Kept = map[*ledger.Node]*KeptAnswers{}
		}
		kept = &KeptAnswers{changedAt: n.ChangedAt, Fits: map[string]error{}, Chosen: map[string]ChosenVictims{}}
		s.Kept[n] = kept
	}
	return kept
}

// Clone is a copy that is changed by itself.
func (s *Simulations) Clone() *Simulations {
	other := *s
	return &other
}

// NoteUnresolvable notes that an ask may not run on a node whatever is removed, if the
// resource manager says so.
func (s *Simulations) NoteUnresolvable(n *ledger.Node, err error, updated uint64) {
	if IsUnresolvable(err) {
		s.Unresolvable.Add(n.Slot, n.UpdatedAt, updated)
		s.Learnt = true
	}
}

// Exhaust notes that attempts by priority have failed on all nodes, as they were at a count of changes.
func (s *Simulations) Exhaust(since uint64) {
	if s != nil {
		s.Exhausted, s.Since, s.Changed = true, since, nil
	}
}

// Help notes that a node may help since it was changed. Nil stands for all nodes.
func (s *Simulations) Help(n *ledger.Node) {
	switch {
	case s == nil || !s.Exhausted:
	case n == nil:
		s.Exhausted, s.Changed = false, nil
	case !slices.Contains(s.Changed, n):
		s.Changed = append(s.Changed, n)
	}
}

// IsUnresolvable reports whether an error says that no eviction helps.
func IsUnresolvable(err error) bool {
	var never interface{ Unresolvable() bool }
	return errors.As(err, &never) && never.Unresolvable()
}
