package question

import (
	"fmt"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/answers"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// newSimulations knows nothing yet.
func (p *Predicates) newSimulations() *answers.Simulations {
	p.spare = answers.NewSimulations(p.NodesUpdated, p.NodesChanged)
	return &p.spare
}

// BeginAttempt takes up what is known of an ask.
func (p *Predicates) BeginAttempt(r *ledger.Request) {
	p.Paused, p.asked, p.Attempt = false, false, p.ClassOf(r).Simulations
	if p.Attempt == nil {
		p.Attempt = p.newSimulations()
	}
}

// EndAttempt keeps what was learnt of an ask: what holds for this attempt only, if it
// goes on later. The answers are those of the class of the ask; where nothing is known of
// what asks have in common, the ask gets a class of its own.
func (p *Predicates) EndAttempt(r *ledger.Request, over bool) {
	s := p.Attempt
	if over {
		s.End()
	}
	if s == &p.spare && s.Any() {
		if p.Any() {
			p.separateFrom(r)
		}
		p.ClassOf(r).KnowAnswers(s.Clone())
	}
	p.Attempt = nil
}

// separateFrom gives an ask a class of its own, and lets room be made for the others of its
// class: what was learnt is not about them.
func (p *Predicates) separateFrom(r *ledger.Request) {
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
func (p *Predicates) mayAsk(r *ledger.Request) bool {
	if p.Paused {
		return false
	}
	kind := api.FurtherQuestion
	switch {
	case p.Attempt.Repeated():
		kind = api.RepeatedQuestion
	case p.ClassOf(r).Simulations == nil && p.ClassOf(r).Refused == nil && !p.asked:
		kind = api.FirstQuestion
	}
	p.Held = p.Wait(kind)
	p.Paused, p.asked = p.Held > 0 || p.Calls >= CallsMax, true
	return !p.Paused
}

// Simulation is the question of an attempt whether an ask may run on a node without
// some allocations.
func (p *Predicates) Simulation(r *ledger.Request, n *ledger.Node) func([]string) error {
	return func(removed []string) error {
		text := "now" // it is a question of its own where removals cannot be simulated
		if removed != nil {
			text = strings.Join(removed, "\x00") + "\x00"
		}
		return p.answerOf(r, n, text, func() error {
			err := p.Simulate(r, n, KeysOf(removed))
			p.Attempt.NoteUnresolvable(n, err, p.NodesUpdated)
			if err != nil && len(removed) == len(n.Own) && len(n.Claims) == 0 {
				p.Attempt.NoteRefusedEmpty(n, p.NodesChanged)
			}
			return err
		})
	}
}

// answerOf is the answer to a question of an attempt about a node, which is asked once.
func (p *Predicates) answerOf(r *ledger.Request, n *ledger.Node, text string, question func() error) error {
	if known, err := p.Attempt.Fits(n, text); known {
		return err
	}
	if !p.mayAsk(r) {
		return answers.ErrPaused
	}
	err := question()
	p.Attempt.Keep(n, text, err)
	return err
}

// Simulate asks whether an ask may run on a node without some allocations. It asks with
// the asks added that are nominated there and come before, and also without them, since
// they are not there yet.
func (p *Predicates) Simulate(r *ledger.Request, n *ledger.Node, removed []api.AllocationKey) error {
	p.Calls++
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
	ending := KeysOf(n.OwnKeys((*ledger.Request).Releasing))
	for _, other := range added {
		if err := p.Spoils(other, n, removed, ending); err != nil {
			return err
		}
	}
	return nil
}

// Beside asks whether an ask may run on a node with some added, and without others.
func (p *Predicates) Beside(r *ledger.Request, n *ledger.Node, added, removed []api.AllocationKey) error {
	p.Calls++
	return p.Options.Simulate(r.Key, n.ID, added, removed)
}

// Spoils is why another ask, for which room is on its way on a node, could not run there
// without these allocations, though it could without those of them that end anyway.
func (p *Predicates) Spoils(other api.AllocationKey, n *ledger.Node, removed, ending []api.AllocationKey) error {
	if len(removed) <= len(ending) {
		return nil // nothing else is removed
	}
	p.Calls++
	err := p.Options.Simulate(other, n.ID, nil, removed)
	if err == nil {
		return nil
	}
	p.Calls++
	if p.Options.Simulate(other, n.ID, nil, ending) != nil {
		return nil
	}
	return fmt.Errorf("%s is nominated: %w", other, err)
}

// Choose asks which of some candidates are to make room for an ask on a node.
func (p *Predicates) Choose(r *ledger.Request, n *ledger.Node, candidates []string, violating []bool) ([]api.AllocationKey, error) {
	text := strings.Join(candidates, "\x00")
	if keys, known, err := p.Attempt.Chosen(n, text); known {
		return keys, err
	}
	if !p.mayAsk(r) {
		return nil, answers.ErrPaused
	}
	p.Calls++
	keys, err := p.Options.SelectVictims(r.Key, n.ID, KeysOf(candidates), violating)
	p.Attempt.KeepChosen(n, text, keys, err)
	return keys, err
}

// NoteFailed notes that a plan for an ask failed on a node. Where guarantees, budgets or
// quota decide too, another plan is possible before the node changes: then that is known
// for this attempt only, unless the node is refused without anything that runs there.
func (p *Predicates) NoteFailed(r *ledger.Request, on answers.CandidateNode, others bool) {
	if on.Plan.Reason == preemptor.Refused || slices.ContainsFunc(on.Plan.Failures, IsRefusal) {
		p.Attempt.NoteRefused()
	}
	switch {
	case !others || on.Plan.Reason == preemptor.Refused && !p.feasibleSomehow(r, on.Node):
		p.Attempt.Fail(on, p.NodesChanged)
	case !p.Paused:
		p.Attempt.FailNow(on.Node, answers.FailedPlan{Leaf: r.App.Queue, Trigger: on.Plan.Trigger})
	}
}

// IsRefusal reports whether a strategy failed at what the resource manager said.
func IsRefusal(f preemptor.Failure) bool { return f.Why == preemptor.NotFitting }

// feasibleSomehow reports whether the resource manager would agree to an ask on a node
// without all own allocations there, or, if the ask needs one of them, with all, or cannot
// be asked now. If it refuses both for different reasons, it may agree without some.
func (p *Predicates) feasibleSomehow(r *ledger.Request, n *ledger.Node) bool {
	if !p.Filters() {
		return true
	}
	fits := p.Simulation(r, n)
	without := fits(n.OwnKeys(func(*ledger.Request) bool { return true }))
	if without == nil || p.Paused {
		return true
	}
	with := fits(nil)
	return with == nil || p.Paused || with.Error() != without.Error()
}

// NoteUnresolvable notes the same outside an attempt.
func (p *Predicates) NoteUnresolvable(r *ledger.Request, n *ledger.Node, err error) {
	if !answers.IsUnresolvable(err) {
		return
	}
	p.Separate(r)
	if p.ClassOf(r).Simulations == nil {
		p.ClassOf(r).KnowAnswers(p.newSimulations().Clone())
	}
	p.ClassOf(r).Simulations.NoteUnresolvable(n, err, p.NodesUpdated)
	p.Learn()
}

// MayReplace asks whether an ask may run on the node of a placeholder once that has ended. Other
// placeholders there that are to end count as gone, and what takes their places as running: a
// node that is full of placeholders refuses everything else. It returns paused if questions are
// held back.
func (p *Predicates) MayReplace(r, placeholder *ledger.Request) Outcome {
	n := placeholder.RunsOn
	if !p.MustHear(r, n) && p.Wait(p.ClassOf(r).Refused.Question()) > 0 {
		return Paused
	}
	if p.Options.Simulate == nil || p.MustHear(r, n) {
		result, _ := p.Check(r, n, false)
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
	p.Calls++
	if p.Options.Simulate(r.Key, n.ID, add, remove) != nil {
		return Waits
	}
	return Placed
}
