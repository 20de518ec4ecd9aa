package answers

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
	Plan *preemptor.Decision // nil where there is no node
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
// nearest are nodes of failed, with the plans, for readers. A node is known by its number and by when it was
// changed or updated, as of a count of such changes. Nil knows nothing.
type Simulations struct {
	unresolvable nodeset.Set
	failed       [preemptor.Triggers]nodeset.Set
	nearest      [preemptor.Triggers]CandidateNode
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
	failed    []FailedPlan
}

// NewSimulations know nothing yet: of nodes that were changed, or updated, later than at these counts.
func NewSimulations(updated, changed uint64) Simulations {
	s := Simulations{unresolvable: nodeset.New(updated), emptied: nodeset.New(changed)}
	for t := range s.failed {
		s.failed[t] = nodeset.New(changed)
	}
	return s
}

// ForView are the nodes that refuse the class whatever is removed, if anything was learnt.
func (s *Simulations) ForView() (nodes nodeset.Set) {
	if s != nil && s.learnt {
		nodes = s.unresolvable.Share()
	}
	return nodes
}

// RefusalOf is what is known of why a node refused the asks of a class.
func (s *Simulations) RefusalOf(n *ledger.Node) string {
	for _, near := range s.nearest {
		if near.Plan != nil && near.Node == n && near.Plan.Refusal != "" {
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

// chosenVictims is the answer of a resource manager that chooses the victims itself.
type chosenVictims struct {
	keys []api.AllocationKey
	err  error
}

// ErrPaused stands for the answer to a question that has to wait.
var ErrPaused = errors.New("questions to the resource manager pause")

// NeverOn reports whether a node is refused whatever is removed.
func (s *Simulations) NeverOn(n *ledger.Node) bool { return s.unresolvable.Has(n.Slot, n.UpdatedAt) }

// hopeless reports whether nothing that a trigger could evict on a node helps.
func (s *Simulations) hopeless(n *ledger.Node, t preemptor.Trigger) bool {
	return s.NeverOn(n) || s.failed[t].Has(n.Slot, n.ChangedAt)
}

// IsRefusedEmpty reports whether an attempt learnt that a node is refused without all that
// runs there, and the node has not changed since.
func (s *Simulations) IsRefusedEmpty(n *ledger.Node) bool {
	return s != nil && s.emptied.Has(n.Slot, n.ChangedAt)
}

// HopelessNow is hopeless, or that the plan failed earlier in an attempt that goes on.
func (s *Simulations) HopelessNow(n *ledger.Node, of FailedPlan) bool {
	kept := s.kept[n]
	return s.hopeless(n, of.Trigger) || kept != nil && kept.changedAt == n.ChangedAt && slices.Contains(kept.failed, of)
}

// about are the answers that are kept about a node as it is.
func (s *Simulations) about(n *ledger.Node) *keptAnswers {
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

// Fits is the answer to a question about a node without some allocations, if it was asked; Keep keeps it.
func (s *Simulations) Fits(n *ledger.Node, removed string) (known bool, err error) {
	err, known = s.about(n).fits[removed]
	return known, err
}

// Keep keeps the answer to a question about a node.
func (s *Simulations) Keep(n *ledger.Node, removed string, err error) { s.about(n).fits[removed] = err }

// Chosen is the answer to the question which of some candidates make room, if it was asked.
func (s *Simulations) Chosen(n *ledger.Node, candidates string) (keys []api.AllocationKey, known bool, err error) {
	c, known := s.about(n).chosen[candidates]
	return c.keys, known, c.err
}

// KeepChosen keeps the answer to such a question.
func (s *Simulations) KeepChosen(n *ledger.Node, candidates string, keys []api.AllocationKey, err error) {
	s.about(n).chosen[candidates] = chosenVictims{keys, err}
}

// End keeps what holds for longer than the attempt that is over.
func (s *Simulations) End() { s.kept, s.repeated = nil, true }

// Any reports whether anything was learnt.
func (s *Simulations) Any() bool { return s.learnt || s.refused || s.kept != nil }

// Repeated reports whether an attempt was made before.
func (s *Simulations) Repeated() bool { return s.repeated }

// Refused reports whether a plan was refused in any attempt.
func (s *Simulations) Refused() bool { return s.refused }

// NoteRefused notes that a plan was refused, which says nothing of other asks of the class.
func (s *Simulations) NoteRefused() { s.refused = true }

// NoteRefusedEmpty notes that a node is refused without all that runs there.
func (s *Simulations) NoteRefusedEmpty(n *ledger.Node, changed uint64) {
	s.emptied.Add(n.Slot, n.ChangedAt, changed)
}

// FailNow notes that a plan failed on a node, which holds for this attempt.
func (s *Simulations) FailNow(n *ledger.Node, of FailedPlan) {
	kept := s.about(n)
	kept.failed = append(kept.failed, of)
}

// Fail notes that every plan of the trigger fails on a node until it changes. One that was refused is shown
// before one that lacked room.
func (s *Simulations) Fail(on CandidateNode, changed uint64) {
	n, t := on.Node, on.Plan.Trigger
	s.failed[t].Add(n.Slot, n.ChangedAt, changed)
	near := s.nearest[t]
	if near.Plan == nil || !s.hopeless(near.Node, t) || near.Plan.Reason != preemptor.Refused && on.Plan.Reason == preemptor.Refused {
		s.nearest[t] = on
	}
	s.learnt = true
	delete(s.kept, n)
}

// Nearest is the node that is shown for a trigger; nil if there is none.
func (s *Simulations) Nearest(t preemptor.Trigger) CandidateNode { return s.nearest[t] }

// Clone is a copy that is changed by itself.
func (s *Simulations) Clone() *Simulations {
	other := *s
	return &other
}

// NoteUnresolvable notes that an ask may not run on a node whatever is removed, if the
// resource manager says so.
func (s *Simulations) NoteUnresolvable(n *ledger.Node, err error, updated uint64) {
	if IsUnresolvable(err) {
		s.unresolvable.Add(n.Slot, n.UpdatedAt, updated)
		s.learnt = true
	}
}

// Exhaust notes that attempts by priority have failed on all nodes, as they were at a count of changes.
func (s *Simulations) Exhaust(since uint64) {
	if s != nil {
		s.exhausted, s.since, s.changed = true, since, nil
	}
}

// HaveFailed reports whether attempts by priority have failed on all nodes but those that may help.
func (s *Simulations) HaveFailed() bool { return s != nil && s.exhausted }

// MayHelp are the nodes that may help since.
func (s *Simulations) MayHelp() []*ledger.Node { return s.changed }

// HelpedBy says which nodes may help; if none does, that attempts have failed up to a count of changes.
func (s *Simulations) HelpedBy(nodes []*ledger.Node, since uint64) {
	if s.changed = nodes; len(nodes) == 0 {
		s.since = since
	}
}

// IsNews reports whether a node has changed since attempts failed, and may be of use.
func (s *Simulations) IsNews(n *ledger.Node) bool { return n.ChangedAt > s.since && !s.NeverOn(n) }

// Help notes that a node may help since it was changed. Nil stands for all nodes.
func (s *Simulations) Help(n *ledger.Node) {
	switch {
	case s == nil || !s.exhausted:
	case n == nil:
		s.exhausted, s.changed = false, nil
	case !slices.Contains(s.changed, n):
		s.changed = append(s.changed, n)
	}
}

// IsUnresolvable reports whether an error says that no eviction helps.
func IsUnresolvable(err error) bool {
	var never interface{ Unresolvable() bool }
	return errors.As(err, &never) && never.Unresolvable()
}
