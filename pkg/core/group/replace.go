package group

import (
	"cmp"
	"fmt"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/question"
)

// LooksMax is how often placeholders are looked at for asks in one batch, one of each node and
// size. It is a quarter of CallsMax, so that other asks have their questions in the same batch.
const LooksMax = 1024

// Replace has asks take the places of placeholders, and reports whether there is more to do.
func (s *Groups) Replace() (more bool) {
	s.looks = 0
	for s.Left > 0 && s.looks < LooksMax && len(s.ready) > 0 {
		g := s.ready[0]
		if s.replaceIn(g) == question.Flush {
			return true
		}
		s.ready = s.ready[1:]
		s.of(g).ready = false
	}
	return len(s.ready) > 0
}

// replaceIn does so in one task group. It returns flush if it is to be called again. When it has
// looked often enough, it goes on after RetryDelay, with the classes whose searches are not over, so
// that each has its turn however many are refused.
func (s *Groups) replaceIn(g *ledger.TaskGroup) question.Outcome {
	work := s.of(g)
	work.begin(g, s.NodesFreed, func(class string) bool {
		c := s.Classes.Known[class]
		return c != nil && c.Asks > 0
	})
	for _, r := range g.Held.List() {
		search := work.byClass[s.ClassOf(r).Key]
		switch {
		case g.Free.Count == 0:
			return question.Placed
		case s.Left <= 0:
			return question.Flush
		case search != nil && search.over:
			continue
		}
		switch s.replaceFor(g, r) {
		case question.Flush:
			return question.Flush
		case question.Busy, question.Paused:
			work.goesOn = true
			s.retryTaskGroup(g)
			s.retryGroupsBy(s.Now.Add(s.Options.RetryDelay))
			return question.Waits
		case question.Waits:
			s.retryTaskGroup(g)
			s.retryGroupsBy(s.Refused.Everywhere(s.ClassOf(r)))
		case question.Placed:
			work.again = true
		}
	}
	return question.Placed
}

// replaceFor has an ask take the place of a placeholder: on its node if that takes asks and the
// resource manager agrees, and elsewhere otherwise. One that is larger than all of them waits
// for none. It returns busy or paused if it is to go on in another batch.
func (s *Groups) replaceFor(g *ledger.TaskGroup, r *ledger.Request) question.Outcome {
	if s.Predicates.Any() {
		s.Separate(r) // before its search begins, which is that of its class
	}
	search := s.of(g).search(g, s.ClassOf(r).Key)
	if search.last == nil {
		s.Refused.Renew(s.ClassOf(r))
	}
	for first := range g.Free.First.After(search.last) {
		if s.looks >= LooksMax {
			return question.Busy
		}
		s.looks++
		placeholder := g.Free.Fitting(r, first.RunsOn)
		search.fits = cmp.Or(search.fits, placeholder)
		if placeholder != nil && first.RunsOn.Schedulable {
			if result := s.Predicates.MayReplace(r, placeholder); result != question.Waits {
				return s.swapUnless(result, r, placeholder, nil)
			}
			s.Refused.Begin(s.ClassOf(r))
		}
		search.last = first
	}
	return s.replaceElsewhere(g, r, search)
}

// replaceElsewhere has an ask take the place of a placeholder on another node, after it was
// refused on the nodes of all. While its questions go on, the search stays where it is.
func (s *Groups) replaceElsewhere(g *ledger.TaskGroup, r *ledger.Request, at *search) question.Outcome {
	if at.fits == nil {
		delete(s.of(g).byClass, s.ClassOf(r).Key)
		s.giveUp(g, r)
		return question.Placed
	}
	before := s.Predicates.Calls
	n, result, _ := s.Refused.FirstFeasible(r)
	s.looks += s.Predicates.Calls - before
	if at.over = result == question.Waits; n == at.fits.RunsOn {
		n = nil
	}
	return s.swapUnless(result, r, at.fits, n)
}

// swapUnless has an ask take the place of a placeholder if the resource manager has agreed.
func (s *Groups) swapUnless(result question.Outcome, r, placeholder *ledger.Request, n *ledger.Node) question.Outcome {
	if result != question.Placed {
		return result
	}
	delete(s.of(r.InTaskGroup()).byClass, s.ClassOf(r).Key)
	s.Spend()
	s.MarkPlaced(placeholder.RunsOn)
	told := s.PairUp(r, placeholder)
	if !told {
		message := fmt.Sprintf("%s takes its place", r.Key)
		if n != nil {
			message = fmt.Sprintf("%s takes its place on node %s", r.Key, n.ID)
		}
		s.Tell(&api.ReleaseRequested{Allocation: placeholder.Allocation, Cause: api.CauseReplaced, Message: message})
	}
	if n != nil {
		s.MarkPlaced(n)
		s.Refused.Tied(r, n)
		s.Kept.Reserve(r, n)
	}
	return question.Placed
}

// giveUp gives up a placeholder for an ask that is larger: the ask waits for its turn like
// any other, and the room of the placeholder is free once it has ended.
func (s *Groups) giveUp(g *ledger.TaskGroup, r *ledger.Request) {
	placeholder := g.Free.First.Head()
	s.Tell(&api.AskReport{Allocation: r.Allocation, Message: fmt.Sprintf("it is larger than placeholder %s of its task group, which is released", placeholder.Key)})
	s.Evictions.Dismiss(placeholder, api.CauseTimedOut, fmt.Sprintf("%s of its task group is larger", r.Key))
	*s.larger.Of(r.Slot, r) = true
	s.letGo(g, r)
	s.Changes.TaskGroup(g) // the next one may wait for the placeholder, if it was to end before
}
