package core

import (
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// behindMax is how many classes at each end of the order by amounts count as waiting
// behind an ask.
const behindMax = 32

// A behind is what waits with an ask in its queue, if amounts differ: what a plan may serve
// beside the ask.
type behind struct {
	asks  preemptor.Behind
	class *class // of the ask; nil if nothing else waits
	leaf  *queue
	added uint64 // to the leaf, and taken from it, when this was worked out
	taken uint64
}

func (b *behind) clear() { b.class = nil }

// set finds what waits with an ask. Asks of its priority and constraints count.
func (b *behind) set(a *attempts, r *request, trigger preemptor.Trigger) {
	b.clear()
	set := &r.application.queue.waitSet
	if len(set.classes) < 2 || a.options.SelectVictims != nil || r.class.alone >= aloneMax {
		return
	}
	like := set.alike(r.class)
	if len(like) < 2 {
		return
	}
	b.class, b.leaf, b.added, b.taken = r.class, r.application.queue, set.added, set.taken
	b.asks.Asks, b.asks.Step = b.asks.Asks[:0], append(b.asks.Step[:0], r.Amounts...)
	for i, leaf := range like {
		if i >= behindMax && i < len(like)-behindMax {
			continue
		}
		count := leaf.asks
		if leaf.class == r.class {
			count--
		}
		if count > 0 {
			b.asks.Asks = append(b.asks.Asks, preemptor.Waiting{Amounts: leaf.class.amounts, Count: count})
			stepBy(&b.asks.Step, leaf.class.amounts)
		}
	}
	b.asks.Owed = owedTo(r, trigger, b.asks.Owed[:0])
}

// stepBy has a step divide what another ask needs as well.
func stepBy(step *resources.Amounts, amounts resources.Amounts) {
	for i := range max(len(*step), len(amounts)) {
		kind := resources.Kind(i)
		a, b := step.Of(kind), max(amounts.Of(kind), 0)
		for b != 0 {
			a, b = b, a%b
		}
		step.Set(kind, a)
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

// A behindCosts is what costs were worked out for.
type behindCosts struct {
	class *class // nil as long as nothing else ever waited
	leaf  *queue
	added uint64
	taken uint64
	asks  preemptor.Behind // none if nothing else waits now
	stamp uint32           // of what waits; costs of another are lower bounds

	onNode preemptor.Behind // scratch
}

// follow notes what waits now. It reports whether more may be served than before, so that
// costs may be less, and whether nothing holds that is known.
func (c *behindCosts) follow(now *behind) (more, all bool) {
	step := c.asks.Step
	switch {
	case now.class == nil:
		if more = len(c.asks.Asks) > 0; more { // equal asks are all that is left
			c.stamp++
			c.asks.Asks = c.asks.Asks[:0]
		}
		return more, false
	case c.class == nil:
		step, all = now.asks.Step.Clone(), true
	default:
		before := step.Clone()
		stepBy(&step, now.asks.Step)
		all = !before.Equal(step)
		more = c.class != now.class || c.leaf != now.leaf || c.added != now.added || exceeds(now.asks.Owed, c.asks.Owed)
		if !more && c.taken == now.taken && c.asks.Owed.Equal(now.asks.Owed) {
			return false, all
		}
	}
	c.class, c.leaf, c.added, c.taken = now.class, now.leaf, now.added, now.taken
	c.asks.Asks, c.asks.Step = append(c.asks.Asks[:0], now.asks.Asks...), step
	c.asks.Owed = append(c.asks.Owed[:0], now.asks.Owed...)
	c.stamp++
	return more, all
}

// exceeds reports whether a limit is above another one in any kind.
func exceeds(a, b resources.Limits) bool {
	for i := range max(len(a), len(b)) {
		if a.Of(resources.Kind(i)) > b.Of(resources.Kind(i)) {
			return true
		}
	}
	return false
}

// costAmong marks a cost that holds as long as the same asks wait.
func (c *nodeCosts) costAmong(of nodeCost) nodeCost {
	if len(c.behind.asks.Asks) > 0 {
		if of.asks > 1 || of.bounded {
			of.stamp = c.behind.stamp
		}
		of.asks = 1
	}
	return of
}
