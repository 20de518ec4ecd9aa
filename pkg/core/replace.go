package core

import (
	"cmp"
	"fmt"
	"maps"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/question"
)

// looksMax is how often placeholders are looked at for asks in one batch, one of each node and
// size. It is a quarter of CallsMax, so that other asks have their questions in the same batch.
const looksMax = 1024

// replace has asks take the places of placeholders, and reports whether there is more to do.
func (p *Partition) replace() (more bool) {
	p.groupWork.looks = 0
	for p.Left > 0 && p.groupWork.looks < looksMax && len(p.groupWork.ready) > 0 {
		g := p.groupWork.ready[0]
		if p.replaceIn(g) == question.Flush {
			return true
		}
		p.groupWork.ready = p.groupWork.ready[1:]
		g.Ready = false
	}
	return len(p.groupWork.ready) > 0
}

// replaceIn does so in one task group. It returns flush if it is to be called again. When it has
// looked often enough, it goes on after RetryDelay, with the classes whose searches are not over, so
// that each has its turn however many are refused.
func (p *Partition) replaceIn(g *ledger.TaskGroup) question.Outcome {
	if g.Again || g.Freed != p.refused.Freed {
		maps.DeleteFunc(g.Searches, func(key string, s *ledger.PlaceholderSearch) bool {
			c := p.Classes.Known[key]
			return s.Over || c == nil || c.Asks == 0
		})
	}
	g.Again, g.Freed, g.GoesOn = false, p.refused.Freed, false
	for _, r := range g.Held.List() {
		s := g.Searches[p.ClassOf(r).Key]
		switch {
		case g.Free.Count == 0:
			return question.Placed
		case p.Left <= 0:
			return question.Flush
		case s != nil && s.Over:
			continue
		}
		switch p.replaceFor(g, r) {
		case question.Flush:
			return question.Flush
		case question.Busy, question.Paused:
			g.GoesOn = true
			p.retryTaskGroup(g)
			p.retryGroupsBy(p.Now.Add(p.Options.RetryDelay))
			return question.Waits
		case question.Waits:
			p.retryTaskGroup(g)
			p.retryGroupsBy(p.refused.Everywhere(p.ClassOf(r)))
		case question.Placed:
			g.Again = true
		}
	}
	return question.Placed
}

// replaceFor has an ask take the place of a placeholder: on its node if that takes asks and the
// resource manager agrees, and elsewhere otherwise. One that is larger than all of them waits
// for none. It returns busy or paused if it is to go on in another batch.
func (p *Partition) replaceFor(g *ledger.TaskGroup, r *ledger.Request) question.Outcome {
	if p.predicates.Any() {
		p.Separate(r) // before its search begins, which is that of its class
	}
	s := g.SearchFor(p.ClassOf(r).Key)
	if s.Last == nil {
		p.refused.Renew(p.ClassOf(r))
	}
	for first := range g.Free.First.After(s.Last) {
		if p.groupWork.looks >= looksMax {
			return question.Busy
		}
		p.groupWork.looks++
		placeholder := g.Free.Fitting(r, first.RunsOn)
		s.Fits = cmp.Or(s.Fits, placeholder)
		if placeholder != nil && first.RunsOn.Schedulable {
			if result := p.predicates.MayReplace(r, placeholder); result != question.Waits {
				return p.swapUnless(result, r, placeholder, nil)
			}
			p.refused.Begin(p.ClassOf(r))
		}
		s.Last = first
	}
	return p.replaceElsewhere(g, r, s)
}

// replaceElsewhere has an ask take the place of a placeholder on another node, after it was
// refused on the nodes of all. While its questions go on, the search stays where it is.
func (p *Partition) replaceElsewhere(g *ledger.TaskGroup, r *ledger.Request, s *ledger.PlaceholderSearch) question.Outcome {
	if s.Fits == nil {
		delete(g.Searches, p.ClassOf(r).Key)
		p.giveUp(g, r)
		return question.Placed
	}
	before := p.predicates.Calls
	n, result, _ := p.refused.FirstFeasible(r)
	p.groupWork.looks += p.predicates.Calls - before
	if s.Over = result == question.Waits; n == s.Fits.RunsOn {
		n = nil
	}
	return p.swapUnless(result, r, s.Fits, n)
}

// swapUnless has an ask take the place of a placeholder if the resource manager has agreed.
func (p *Partition) swapUnless(result question.Outcome, r, placeholder *ledger.Request, n *ledger.Node) question.Outcome {
	if result != question.Placed {
		return result
	}
	delete(r.InTaskGroup().Searches, p.ClassOf(r).Key)
	p.Left--
	placeholder.RunsOn.PlacedIn = p.Batch
	told := p.PairUp(r, placeholder)
	if !told {
		message := fmt.Sprintf("%s takes its place", r.Key)
		if n != nil {
			message = fmt.Sprintf("%s takes its place on node %s", r.Key, n.ID)
		}
		p.Tell(&api.ReleaseRequested{Allocation: placeholder.Allocation, Cause: api.CauseReplaced, Message: message})
	}
	if n != nil {
		n.PlacedIn = p.Batch
		p.tied(r, true)
		p.kept.Reserve(r, n)
	}
	return question.Placed
}

// giveUp gives up a placeholder for an ask that is larger: the ask waits for its turn like
// any other, and the room of the placeholder is free once it has ended.
func (p *Partition) giveUp(g *ledger.TaskGroup, r *ledger.Request) {
	placeholder := g.Free.First.Head()
	p.Tell(&api.AskReport{Allocation: r.Allocation, Message: fmt.Sprintf("it is larger than placeholder %s of its task group, which is released", placeholder.Key)})
	p.dismiss(placeholder, api.CauseTimedOut, fmt.Sprintf("%s of its task group is larger", r.Key))
	r.Wait.Larger = true
	p.letGo(g, r)
	p.Changes.TaskGroup(g) // the next one may wait for the placeholder, if it was to end before
}
