package core

import (
	"fmt"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/backlog"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/nodeset"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// newSimulations knows nothing yet.
func (p *predicates) newSimulations() *backlog.Simulations {
	s := &p.spare
	*s = backlog.Simulations{Unresolvable: nodeset.New(p.updated), Emptied: nodeset.New(p.changed)}
	for t := range s.Failed {
		s.Failed[t] = nodeset.New(p.changed)
	}
	return s
}

// beginAttempt takes up what is known of an ask.
func (p *predicates) beginAttempt(r *ledger.Request) {
	p.paused, p.asked, p.attempt = false, false, p.ClassOf(r).Simulations
	if p.attempt == nil {
		p.attempt = p.newSimulations()
	}
}

// endAttempt keeps what was learnt of an ask: what holds for this attempt only, if it
// goes on later. The answers are those of the class of the ask; where nothing is known of
// what asks have in common, the ask gets a class of its own.
func (p *predicates) endAttempt(r *ledger.Request, over bool) {
	s := p.attempt
	if over {
		s.Kept, s.Repeated = nil, true
	}
	if s == &p.spare && (s.Learnt || s.Refused || s.Kept != nil) {
		if p.any() {
			p.separateFrom(r)
		}
		p.ClassOf(r).Simulations = s.Clone()
	}
	p.attempt = nil
}

// separateFrom gives an ask a class of its own, and lets room be made for the others of its
// class: what was learnt is not about them.
func (p *predicates) separateFrom(r *ledger.Request) {
	if p.GroupOf(r) == nil {
		p.Separate(r)
		return
	}
	leaf := p.GroupOf(r).Leaf
	if p.Separate(r); p.GroupOf(r).Leaf != leaf && leaf.Class.Preempts {
		p.Activate(leaf)
	}
}

// mayAsk reports whether the next question of an attempt may be asked now. If not, the
// attempt has to pause, and held says for how long.
func (p *predicates) mayAsk(r *ledger.Request) bool {
	if p.paused {
		return false
	}
	kind := api.FurtherQuestion
	switch {
	case p.attempt.Repeated:
		kind = api.RepeatedQuestion
	case p.ClassOf(r).Simulations == nil && p.ClassOf(r).Refused == nil && !p.asked:
		kind = api.FirstQuestion
	}
	p.held = p.wait(kind)
	p.paused, p.asked = p.held > 0 || p.calls >= callsMax, true
	return !p.paused
}

// simulation is the question of an attempt whether an ask may run on a node without
// some allocations.
func (p *predicates) simulation(r *ledger.Request, n *ledger.Node) func([]string) error {
	return func(removed []string) error {
		text := "now" // it is a question of its own where removals cannot be simulated
		if removed != nil {
			text = strings.Join(removed, "\x00") + "\x00"
		}
		return p.answerOf(r, n, text, func() error {
			err := p.simulate(r, n, keysOf(removed))
			p.attempt.NoteUnresolvable(n, err, p.updated)
			if err != nil && len(removed) == len(n.Own) && len(n.Claims) == 0 {
				p.attempt.Emptied.Add(n.Slot, n.ChangedAt, p.changed)
			}
			return err
		})
	}
}

// answerOf is the answer to a question of an attempt about a node, which is asked once.
func (p *predicates) answerOf(r *ledger.Request, n *ledger.Node, text string, question func() error) error {
	if err, known := p.attempt.About(n).Fits[text]; known {
		return err
	}
	if !p.mayAsk(r) {
		return backlog.ErrPaused
	}
	err := question()
	p.attempt.About(n).Fits[text] = err
	return err
}

// simulate asks whether an ask may run on a node without some allocations. It asks with
// the asks added that are nominated there and come before, and also without them, since
// they are not there yet.
func (p *predicates) simulate(r *ledger.Request, n *ledger.Node, removed []api.AllocationKey) error {
	p.calls++
	if p.Options.Simulate == nil {
		return p.Options.Feasible(r.Key, n.ID, removed == nil)
	}
	added := r.ExpectedBefore(n)
	if len(added) > 0 {
		if err := p.Options.Simulate(r.Key, n.ID, added, removed); err != nil {
			return err
		}
	}
	if err := p.Options.Simulate(r.Key, n.ID, nil, removed); err != nil {
		return err
	}
	if len(added) == 0 {
		return nil
	}
	ending := keysOf(n.OwnKeys((*ledger.Request).Releasing))
	for _, other := range added {
		if err := p.spoils(other, n, removed, ending); err != nil {
			return err
		}
	}
	return nil
}

// spoils is why another ask, for which room is on its way on a node, could not run there
// without these allocations, though it could without those of them that end anyway.
func (p *predicates) spoils(other api.AllocationKey, n *ledger.Node, removed, ending []api.AllocationKey) error {
	if len(removed) <= len(ending) {
		return nil // nothing else is removed
	}
	p.calls++
	err := p.Options.Simulate(other, n.ID, nil, removed)
	if err == nil {
		return nil
	}
	p.calls++
	if p.Options.Simulate(other, n.ID, nil, ending) != nil {
		return nil
	}
	return fmt.Errorf("%s is nominated: %w", other, err)
}

// choose asks which of some candidates are to make room for an ask on a node.
func (p *predicates) choose(r *ledger.Request, n *ledger.Node, candidates []string, violating []bool) ([]api.AllocationKey, error) {
	text := strings.Join(candidates, "\x00")
	if answer, known := p.attempt.About(n).Chosen[text]; known {
		return answer.Keys, answer.Err
	}
	if !p.mayAsk(r) {
		return nil, backlog.ErrPaused
	}
	p.calls++
	keys, err := p.Options.SelectVictims(r.Key, n.ID, keysOf(candidates), violating)
	p.attempt.About(n).Chosen[text] = backlog.ChosenVictims{Keys: keys, Err: err}
	return keys, err
}

// noteFailed notes that a plan for an ask failed on a node. Where guarantees, budgets or
// quota decide too, another plan is possible before the node changes: then that is known
// for this attempt only, unless the node is refused without anything that runs there.
func (p *predicates) noteFailed(r *ledger.Request, on *backlog.CandidateNode, others bool) {
	s, n, t := p.attempt, on.Node, on.Plan.Trigger
	s.Refused = s.Refused || on.Plan.Reason == preemptor.Refused || slices.ContainsFunc(on.Plan.Failures, isRefusal)
	if others && (on.Plan.Reason != preemptor.Refused || p.feasibleSomehow(r, n)) {
		if kept := s.About(n); !p.paused {
			kept.Failed = append(kept.Failed, backlog.FailedPlan{Leaf: r.App.Queue, Trigger: t})
		}
		return
	}
	s.Failed[t].Add(n.Slot, n.ChangedAt, p.changed)
	near := s.Nearest[t]
	if near == nil || !s.Hopeless(near.Node, t) || near.Plan.Reason != preemptor.Refused && on.Plan.Reason == preemptor.Refused {
		s.Nearest[t] = on
	}
	s.Learnt = true
	delete(s.Kept, n)
}

// isRefusal reports whether a strategy failed at what the resource manager said.
func isRefusal(f preemptor.Failure) bool { return f.Why == preemptor.NotFitting }

// feasibleSomehow reports whether the resource manager would agree to an ask on a node
// without all own allocations there, or, if the ask needs one of them, with all, or cannot
// be asked now. If it refuses both for different reasons, it may agree without some.
func (p *predicates) feasibleSomehow(r *ledger.Request, n *ledger.Node) bool {
	if p.Options.Simulate == nil && p.Options.Feasible == nil {
		return true
	}
	fits := p.simulation(r, n)
	without := fits(n.OwnKeys(func(*ledger.Request) bool { return true }))
	if without == nil || p.paused {
		return true
	}
	with := fits(nil)
	return with == nil || p.paused || with.Error() != without.Error()
}

// noteUnresolvable notes the same outside an attempt.
func (p *predicates) noteUnresolvable(r *ledger.Request, n *ledger.Node, err error) {
	if !backlog.IsUnresolvable(err) {
		return
	}
	p.Separate(r)
	if p.ClassOf(r).Simulations == nil {
		p.ClassOf(r).Simulations = p.newSimulations().Clone()
	}
	p.ClassOf(r).Simulations.NoteUnresolvable(n, err, p.updated)
	p.Learn()
}

// nodeChanged notes that what is known of a node does not hold any more.
func (p *predicates) nodeChanged(n *ledger.Node, what ledger.NodeChange) {
	p.changed++
	n.ChangedAt = p.changed
	if what&ledger.NodeUpdated != 0 {
		p.updated++
		n.UpdatedAt = p.updated
		n.View = nil
	}
}

// mayReplace asks whether an ask may run on the node of a placeholder once that has ended. Other
// placeholders there that are to end count as gone, and what takes their places as running: a
// node that is full of placeholders refuses everything else. It returns paused if questions are
// held back.
func (p *predicates) mayReplace(r, placeholder *ledger.Request) outcome {
	n := placeholder.RunsOn
	if !p.mustHear(r, n) && p.wait(p.ClassOf(r).Question()) > 0 {
		return paused
	}
	if p.Options.Simulate == nil || p.mustHear(r, n) {
		result, _ := p.check(r, n, false)
		return result
	}
	remove := []api.AllocationKey{placeholder.Key}
	var add []api.AllocationKey
	for _, other := range ledger.ByKey(n.Leaving()) {
		remove = append(remove, other.Key)
		if other.Pair().Ask.Claim() == nil {
			add = append(add, other.Pair().Ask.Key)
		}
	}
	add = append(add, r.ExpectedBefore(n)...)
	p.calls++
	if p.Options.Simulate(r.Key, n.ID, add, remove) != nil {
		return waits
	}
	return placed
}
