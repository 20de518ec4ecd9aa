package core

import (
	"cmp"
	"fmt"
	"maps"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// looksMax is how often placeholders are looked at for asks in one batch, one of each node and
// size. It is a quarter of callsMax, so that other asks have their questions in the same batch.
const looksMax = 1024

// replace has asks take the places of placeholders, and reports whether there is more to do.
func (p *Partition) replace() (more bool) {
	p.groupWork.looks = 0
	for p.left > 0 && p.groupWork.looks < looksMax && len(p.groupWork.ready) > 0 {
		g := p.groupWork.ready[0]
		if p.replaceIn(g) == flush {
			return true
		}
		p.groupWork.ready = p.groupWork.ready[1:]
		g.ready = false
	}
	return len(p.groupWork.ready) > 0
}

// replaceIn does so in one task group. It returns flush if it is to be called again. When it has
// looked often enough, it goes on after RetryDelay, with the classes whose searches are not over, so
// that each has its turn however many are refused.
func (p *Partition) replaceIn(g *taskGroup) outcome {
	if g.again || g.freed != p.refused.freed {
		maps.DeleteFunc(g.searches, func(key string, s *placeholderSearch) bool {
			c := p.classes.known[key]
			return s.over || c == nil || c.asks == 0
		})
	}
	g.again, g.freed, g.goesOn = false, p.refused.freed, false
	for _, r := range g.held.list() {
		s := g.searches[p.classOf(r).key]
		switch {
		case g.free.count == 0:
			return placed
		case p.left <= 0:
			return flush
		case s != nil && s.over:
			continue
		}
		switch p.replaceFor(g, r) {
		case flush:
			return flush
		case busy, paused:
			g.goesOn = true
			p.retryTaskGroup(g)
			p.retryGroupsBy(p.now.Add(p.options.RetryDelay))
			return waits
		case waits:
			p.retryTaskGroup(g)
			p.retryGroupsBy(p.refused.everywhere(p.classOf(r)))
		case placed:
			g.again = true
		}
	}
	return placed
}

// replaceFor has an ask take the place of a placeholder: on its node if that takes asks and the
// resource manager agrees, and elsewhere otherwise. One that is larger than all of them waits
// for none. It returns busy or paused if it is to go on in another batch.
func (p *Partition) replaceFor(g *taskGroup, r *request) outcome {
	if p.predicates.any() {
		p.separate(r) // before its search begins, which is that of its class
	}
	s := g.searchFor(p.classOf(r).key)
	if s.last == nil {
		p.refused.renew(p.classOf(r))
	}
	for first := range g.free.first.after(s.last) {
		if p.groupWork.looks >= looksMax {
			return busy
		}
		p.groupWork.looks++
		placeholder := g.free.fitting(r, first.node)
		s.fits = cmp.Or(s.fits, placeholder)
		if placeholder != nil && first.node.schedulable {
			if result := p.predicates.mayReplace(r, placeholder); result != waits {
				return p.swapUnless(result, r, placeholder, nil)
			}
			p.refused.begin(p.classOf(r))
		}
		s.last = first
	}
	return p.replaceElsewhere(g, r, s)
}

// replaceElsewhere has an ask take the place of a placeholder on another node, after it was
// refused on the nodes of all. While its questions go on, the search stays where it is.
func (p *Partition) replaceElsewhere(g *taskGroup, r *request, s *placeholderSearch) outcome {
	if s.fits == nil {
		delete(g.searches, p.classOf(r).key)
		p.giveUp(g, r)
		return placed
	}
	before := p.predicates.calls
	n, result, _ := p.refused.firstFeasible(r)
	p.groupWork.looks += p.predicates.calls - before
	if s.over = result == waits; n == s.fits.node {
		n = nil
	}
	return p.swapUnless(result, r, s.fits, n)
}

// mayReplace asks whether an ask may run on the node of a placeholder once that has ended. Other
// placeholders there that are to end count as gone, and what takes their places as running: a
// node that is full of placeholders refuses everything else. It returns paused if questions are
// held back.
func (p *predicates) mayReplace(r, placeholder *request) outcome {
	n := placeholder.node
	if !p.mustHear(r, n) && p.wait(p.classOf(r).question()) > 0 {
		return paused
	}
	if p.options.Simulate == nil || p.mustHear(r, n) {
		result, _ := p.check(r, n, false)
		return result
	}
	remove := []api.AllocationKey{placeholder.Key}
	var add []api.AllocationKey
	for _, other := range byKey(n.leaving()) {
		remove = append(remove, other.Key)
		if other.pair().ask.claim() == nil {
			add = append(add, other.pair().ask.Key)
		}
	}
	add = append(add, r.expectedBefore(n)...)
	p.calls++
	if p.options.Simulate(r.Key, n.id, add, remove) != nil {
		return waits
	}
	return placed
}

// swapUnless has an ask take the place of a placeholder if the resource manager has agreed.
func (p *Partition) swapUnless(result outcome, r, placeholder *request, n *node) outcome {
	if result != placed {
		return result
	}
	delete(r.taskGroup().searches, p.classOf(r).key)
	p.left--
	placeholder.node.placedIn = p.batch
	told := p.pairUp(r, placeholder)
	if !told {
		message := fmt.Sprintf("%s takes its place", r.Key)
		if n != nil {
			message = fmt.Sprintf("%s takes its place on node %s", r.Key, n.id)
		}
		p.tell(&api.ReleaseRequested{Allocation: placeholder.Allocation, Cause: api.CauseReplaced, Message: message})
	}
	if n != nil {
		n.placedIn = p.batch
		p.tied(r, true)
		p.kept.reserve(r, n)
	}
	return placed
}

// giveUp gives up a placeholder for an ask that is larger: the ask waits for its turn like
// any other, and the room of the placeholder is free once it has ended.
func (p *Partition) giveUp(g *taskGroup, r *request) {
	placeholder := g.free.first.head()
	p.tell(&api.AskReport{Allocation: r.Allocation, Message: fmt.Sprintf("it is larger than placeholder %s of its task group, which is released", placeholder.Key)})
	p.dismiss(placeholder, api.CauseTimedOut, fmt.Sprintf("%s of its task group is larger", r.Key))
	r.wait.larger = true
	p.letGo(g, r)
	p.changes.taskGroup(g) // the next one may wait for the placeholder, if it was to end before
}
