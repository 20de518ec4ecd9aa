package core

import "fmt"

// The most placeholders of a task group that an ask is compared with, and the most asks of it
// that fit nowhere, in one batch.
const (
	placeholdersMax = 64
	misfitsMax      = 64
)

// replace has asks take the places of placeholders, and reports whether there is more to do.
func (p cycle) replace() (more bool) {
	for p.left > 0 && len(p.gangWork.ready) > 0 {
		g := p.gangWork.ready[0]
		if p.replaceIn(g) == flush {
			return true
		}
		p.gangWork.ready = p.gangWork.ready[1:]
		g.ready = false
	}
	return len(p.gangWork.ready) > 0
}

// replaceIn does so in one task group. It returns flush if it is to be called again.
func (p cycle) replaceIn(g *taskGroup) outcome {
	misfits, refused := 0, map[*class]bool{}
	for _, r := range g.held.list() {
		switch {
		case g.free == 0:
			return placed
		case p.left <= 0:
			return flush
		case refused[r.class]:
			continue
		}
		c := r.class
		switch p.replaceFor(g, r) {
		case flush:
			return flush
		case waits, paused, busy:
			refused[c] = true
			gangs(p).later(g.application)
			if misfits++; misfits == misfitsMax {
				return waits
			}
		case placed:
		}
	}
	return placed
}

// replaceFor has an ask take the place of a placeholder: on its node if that takes asks and the
// resource manager agrees, and elsewhere otherwise. One that is larger than all of them waits
// for none.
func (p cycle) replaceFor(g *taskGroup, r *request) outcome {
	var first *request
	looked, asked := 0, map[*node]bool{}
	for _, size := range g.sizes {
		if looked++; looked > placeholdersMax {
			break
		}
		if !r.Amounts.FitsIn(size.amounts) {
			continue
		}
		for placeholder := range size.list.all {
			if looked++; looked > placeholdersMax {
				break
			}
			if first == nil {
				first = placeholder
			}
			if n := placeholder.node; n.schedulable && !asked[n] {
				asked[n] = true
				if result := p.predicates.mayReplace(r, placeholder); result != waits {
					return p.swapUnless(result, r, placeholder, nil)
				}
			}
		}
	}
	if first == nil {
		p.mismatch(g, r)
		return placed
	}
	n, result, _ := p.firstFeasible(r)
	if n == first.node {
		n = nil
	}
	return p.swapUnless(result, r, first, n)
}

// mayReplace asks whether an ask may run on the node of a placeholder once that has ended. Other
// placeholders there that are to end count as gone, and what takes their places as running: a
// node that is full of placeholders refuses everything else.
func (p *predicates) mayReplace(r, placeholder *request) outcome {
	n := placeholder.node
	if p.options.Simulate == nil || n.placedIn == p.batch {
		result, _ := p.check(r, n, false)
		return result
	}
	remove := []AllocationKey{placeholder.Key}
	var add []AllocationKey
	for _, other := range byKey(n.own) {
		if !other.replaced() {
			continue
		}
		remove = append(remove, other.Key)
		if with := other.replacement(); with.node == nil {
			add = append(add, with.ask.Key)
		}
	}
	for _, other := range n.expected {
		add = append(add, other.Key)
	}
	p.calls++
	if p.options.Simulate(r.Key, n.id, add, remove) != nil {
		return waits
	}
	return placed
}

// swapUnless has an ask take the place of a placeholder if the resource manager has agreed.
func (p cycle) swapUnless(result outcome, r, placeholder *request, n *node) outcome {
	if result != placed {
		return result
	}
	if n != nil && n.reserved != nil {
		p.reservations.unreserve(n.reserved) // of a lower priority
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
		p.nominations.clearDisplaced(n)
	}
	return placed
}

// mismatch gives up a placeholder for an ask that is larger: the ask waits for its turn like
// any other, and the room of the placeholder is free once it has ended.
func (p cycle) mismatch(g *taskGroup, r *request) {
	for placeholder := range g.sizes[0].list.all {
		p.tell(&AskReport{r.Allocation, fmt.Sprintf("it is larger than placeholder %s of its task group, which is released", placeholder.Key)})
		gangs(p).dismiss(placeholder, CauseTimedOut, fmt.Sprintf("%s of its task group is larger", r.Key))
		break
	}
	r.wait.larger = true
	gangs(p).let(g, r)
}
