package core

import (
	"fmt"
	"slices"
)

// looksMax is how often placeholders are looked at for asks in one batch, one of each node and
// size. It is a quarter of callsMax, so that other asks have their questions in the same batch.
const looksMax = 1024

// replace has asks take the places of placeholders, and reports whether there is more to do.
func (p cycle) replace() (more bool) {
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
// looked often enough, it goes on with the same ask after RetryDelay, so that each has its turn
// however many are refused.
func (p cycle) replaceIn(g *taskGroup) outcome {
	g.beginRound(p.refused.freed)
	for _, r := range g.inTurn() {
		switch {
		case g.free == 0:
			g.next = nil
			return placed
		case p.left <= 0:
			return flush
		case g.refused[r.class]:
			continue
		}
		switch p.replaceFor(g, r) {
		case flush:
			return flush
		case busy, paused:
			g.next = r
			gangs(p).later(g)
			groups(p).soon()
			return waits
		case waits:
			g.refused[r.class] = true // which is its own where nothing is known of what asks have in common
			gangs(p).later(g)
			groups(p).before(p.refused.everywhere(r.class))
		case placed:
			g.again = true
		}
	}
	g.next = nil
	return placed
}

// beginRound lets all classes be tried again if there may be a place for them now.
func (g *taskGroup) beginRound(freed uint64) {
	if g.refused == nil || g.again || g.freed != freed {
		g.refused = map[*class]bool{}
	}
	g.again, g.freed = false, freed
}

// inTurn are the asks that wait for a placeholder, from the one where the last batch stopped.
func (g *taskGroup) inTurn() []*request {
	list := g.held.list()
	if g.next == nil {
		return list
	}
	at, _ := slices.BinarySearchFunc(list, g.next, inOrder)
	return slices.Concat(list[at:], list[:at])
}

// replaceFor has an ask take the place of a placeholder: on its node if that takes asks and the
// resource manager agrees, and elsewhere otherwise. One that is larger than all of them waits
// for none. It returns busy or paused if it is to go on in another batch.
func (p cycle) replaceFor(g *taskGroup, r *request) outcome {
	s := g.searchFor(p.kinds, r)
	if s.last == nil {
		p.refused.renew(r.class)
	}
	for _, size := range g.sizesLeft(p.kinds, s) {
		fits := r.Amounts.FitsIn(size.amounts)
		for placeholder := range size.rest(p.kinds, s) {
			if p.groupWork.looks >= looksMax {
				return busy
			}
			p.groupWork.looks++
			if !fits {
				s.last, s.amounts = size.first.last(), size.amounts
				break
			}
			if s.first == nil {
				s.first = placeholder
			}
			if placeholder.node.schedulable {
				if result := p.predicates.mayReplace(r, placeholder); result != waits {
					if result == placed {
						g.search = placeholderSearch{}
					}
					return p.swapUnless(result, r, placeholder, nil)
				}
				p.separate(r)
				p.refused.begin(r.class)
				s.class = r.class
			}
			s.last, s.amounts = placeholder, size.amounts
		}
	}
	return p.replaceElsewhere(g, r)
}

// replaceElsewhere has an ask take the place of a placeholder on another node, after it was
// refused on the nodes of all. While its questions go on, the search stays where it is.
func (p cycle) replaceElsewhere(g *taskGroup, r *request) outcome {
	first := g.search.first
	if first == nil {
		g.search = placeholderSearch{}
		p.mismatch(g, r)
		return placed
	}
	before := p.predicates.calls
	n, result, _ := p.firstFeasible(r)
	p.groupWork.looks += p.predicates.calls - before
	if g.search.class = r.class; result == placed || result == waits {
		g.search = placeholderSearch{}
	}
	if n == first.node {
		n = nil
	}
	return p.swapUnless(result, r, first, n)
}

// mayReplace asks whether an ask may run on the node of a placeholder once that has ended. Other
// placeholders there that are to end count as gone, and what takes their places as running: a
// node that is full of placeholders refuses everything else. It returns paused if questions are
// held back.
func (p *predicates) mayReplace(r, placeholder *request) outcome {
	n := placeholder.node
	if !p.mustHear(r, n) && p.wait(r.class.question()) > 0 {
		return paused
	}
	if p.options.Simulate == nil || p.mustHear(r, n) {
		result, _ := p.check(r, n, false)
		return result
	}
	remove := []AllocationKey{placeholder.Key}
	var add []AllocationKey
	for _, other := range byKey(n.leaving()) {
		remove = append(remove, other.Key)
		if with := other.replacement(); with.node == nil {
			add = append(add, with.ask.Key)
		}
	}
	for _, other := range n.details.read().expected {
		add = append(add, other.Key)
	}
	p.calls++
	if p.options.Simulate(r.Key, n.id, add, remove) != nil {
		return waits
	}
	return placed
}

// leaving are the placeholders on a node whose places asks take.
func (n *node) leaving() (list []*request) {
	for _, r := range n.own {
		if r.replaced() {
			list = append(list, r)
		}
	}
	return list
}

// swapUnless has an ask take the place of a placeholder if the resource manager has agreed.
func (p cycle) swapUnless(result outcome, r, placeholder *request, n *node) outcome {
	if result != placed {
		return result
	}
	p.left--
	placeholder.node.placedIn = p.batch
	told := members{&p.ledger}.pair(r, placeholder, n)
	if !told {
		message := fmt.Sprintf("%s takes its place", r.Key)
		if n != nil {
			message = fmt.Sprintf("%s takes its place on node %s", r.Key, n.id)
		}
		p.tell(&ReleaseRequested{placeholder.Allocation, CauseReplaced, message})
	}
	if n != nil {
		n.placedIn = p.batch
		p.tied(r, true)
		p.kept.settle(n)
	}
	return placed
}

// mismatch gives up a placeholder for an ask that is larger: the ask waits for its turn like
// any other, and the room of the placeholder is free once it has ended.
func (p cycle) mismatch(g *taskGroup, r *request) {
	for placeholder := range g.sizes[0].first.all {
		p.tell(&AskReport{r.Allocation, fmt.Sprintf("it is larger than placeholder %s of its task group, which is released", placeholder.Key)})
		gangs(p).dismiss(placeholder, CauseTimedOut, fmt.Sprintf("%s of its task group is larger", r.Key))
		break
	}
	r.wait.larger = true
	gangs(p).let(g, r)
}
