package core

import (
	"errors"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// aloneMax is how often, one after the other, the resource manager may refuse an ask
// beside an equal one before it is taken that none runs beside another.
const aloneMax = 4

// errAlone stands for the answer to a question that is not asked any more.
var errAlone = errors.New("no equal ask runs beside it")

// waiting is how many asks equal to one wait in its queue, itself included, and may be
// served by the same trigger: within the max of every queue, and within what is
// guaranteed. What room costs is then compared for each of them (see preemptor.Ask).
func (a *attempts) waiting(r *request, trigger preemptor.Trigger) int {
	if r.group.leaf.asks < 2 || a.options.SelectVictims != nil || r.class.alone >= aloneMax {
		return 1
	}
	asks := int64(min(r.group.leaf.asks, preemptor.AsksMax))
	a.owed = owedTo(r, trigger, a.owed[:0])
	for i, left := range a.owed {
		if asked := r.Amounts.Of(resources.Kind(i)); asked > 0 && left != resources.Unlimited {
			asks = min(asks, left/asked)
		}
	}
	return max(int(asks), 1)
}

// wait notes how many asks wait. Once several did, costs are those for each of them.
func (c *nodeCosts) wait(asks int) {
	if asks > 1 || c.waiting > 0 {
		c.waiting = asks
	}
}

// expect has costs worked out for so many asks that wait. Those for more asks than wait
// are lower bounds, and are worked out again when one of them is the least. Those for
// which too few waited are forgotten when more do.
func (p *costCache) expect(c *nodeCosts, waiting int) {
	before := c.waiting
	c.wait(waiting)
	switch {
	case before == c.waiting:
	case before == 0:
		for n := range p.allNodes {
			p.reset(c, n)
		}
	case before < c.waiting && c.bounded > 0:
		p.resetBounded(c)
	}
}

// resetBounded forgets what is costly on the nodes where more asks may make it less.
func (p *costCache) resetBounded(c *nodeCosts) {
	var again []*node
	for i := range c.heap {
		if c.heap[i].bounded {
			again = append(again, c.heap[i].node)
		}
	}
	for _, n := range again {
		p.reset(c, n)
	}
}

// isKnown reports whether what a node costs is worked out for the asks that wait.
func (c *nodeCosts) isKnown(of *nodeCost) bool {
	return of.status != notEvaluated && int(of.asks) <= max(c.waiting, 1)
}

// countBounded counts a place of the heap that is filled or left.
func (c *nodeCosts) countBounded(of *nodeCost, by int) {
	if of.bounded {
		c.bounded += by
	}
}

// waitingFor is how many of the asks that wait may run on a node where so much is free.
// Nothing is freed there that is not owed to them: kinds that no guarantee of their queues
// names.
func (p *costCache) waitingFor(c *nodeCosts, n *node, free resources.Amounts) int {
	if c.waiting < 2 || c.trigger != preemptor.Guarantee {
		return c.waiting
	}
	least := int64(c.waiting)
	for i, asked := range c.class.amounts {
		kind := resources.Kind(i)
		if asked > 0 && p.configured.Of(kind) > 0 && !c.isGuaranteed(kind) {
			least = min(least, (free.Of(kind)+n.releasing.Of(kind))/asked)
		}
	}
	return max(int(least), 1)
}

// isGuaranteed reports whether any of a kind is guaranteed to a queue of the asks.
func (k *preemptionKey) isGuaranteed(kind resources.Kind) bool {
	for q := k.leaf; q != nil; q = q.parent {
		if q.guaranteed.Of(kind) > 0 {
			return true
		}
	}
	return false
}

// leastVictims is a lower bound of the victims on a node for each of the asks, as
// preemptor.LeastCost takes it.
func (c *nodeCosts) leastVictims(n *node) int64 {
	if c.waiting == 0 {
		return 1
	}
	return preemptor.LeastVictims(c.class.amounts, n.roomToMake(c.class.importance, c.trigger), n.releasing.Amounts, n.largestHeld())
}

// largestHeld is the most of each kind that one own allocation holds.
func (n *node) largestHeld() resources.Amounts {
	if n.largestAt != n.revision {
		n.largestAt = n.revision
		n.largest = n.largest[:0]
		for _, r := range n.own {
			n.largest.Raise(r.Amounts)
		}
	}
	return n.largest
}

// other is an ask of the same priority and constraints in the queue, an equal one if there
// is one; nil if there is none.
func (r *request) other() (found *request) {
	for other := range r.group.all {
		if other != r {
			return other
		}
	}
	for _, g := range r.group.leaf.groups {
		if g != r.group {
			return g.first()
		}
	}
	for _, leaf := range r.application.queue.waitSet.alike(nil, r.class, 2) {
		if leaf.class != r.class {
			return leaf.groups[0].first()
		}
	}
	return nil
}

// beside is the question of an attempt whether another ask may run on a node beside an
// equal one, without some allocations.
func (p *predicates) beside(r *request, n *node) func([]string) error {
	other, c := r.other(), r.class
	if other == nil {
		return nil
	}
	return func(removed []string) error {
		key := "beside\x00" + strings.Join(removed, "\x00")
		if err, known := p.attempt.about(n).fits[key]; known {
			return err
		}
		switch {
		case c.alone >= aloneMax:
			return errAlone
		case !p.mayAsk(r):
			return errPaused
		}
		p.calls++
		err := p.options.Simulate(other.Key, n.id, append(r.nominatedBefore(n), r.Key), keysOf(removed))
		p.attempt.about(n).fits[key] = err
		if c.alone++; err == nil {
			c.alone = 0
		}
		return err
	}
}

// owedTo is the most that may be served of a queue at once: within the max of every queue,
// and by guarantee within what is guaranteed.
func owedTo(r *request, trigger preemptor.Trigger, owed resources.Limits) resources.Limits {
	limit := func(kind resources.Kind, left int64) {
		if left < owed.Of(kind) {
			owed.Set(kind, left)
		}
	}
	for q := r.application.queue; q != nil; q = q.parent {
		for i, most := range q.max {
			if kind := resources.Kind(i); most != resources.Unlimited {
				limit(kind, most-q.used.Of(kind)+q.releasing.Of(kind)-q.nominated.Of(kind))
			}
		}
	}
	if trigger != preemptor.Guarantee {
		return owed
	}
	top := guaranteedBelow(r)
	for q := r.application.queue; q != top; q = q.parent {
		for i, most := range q.guaranteed {
			if kind := resources.Kind(i); most > 0 {
				limit(kind, most-q.used.Of(kind)-q.nominated.Of(kind))
			}
		}
	}
	return owed
}
