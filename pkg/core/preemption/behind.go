package preemption

import (
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// SizesMax is of how many classes asks are looked at that wait behind one: half of them the
// largest, and half the smallest.
const SizesMax = 64

// behind are the asks that wait with one in its queue and may be served by the same trigger,
// by class, the largest first: of its priority and constraints, within the max of every
// queue, and within what is guaranteed. What room costs is then compared for as much as the ask (see
// preemptor.Behind).
func (a *Attempts) behind(r *ledger.Request, trigger preemptor.Trigger) []preemptor.Behind {
	if a.Options.SelectVictims != nil || a.Predicates.IsAlone(a.ClassOf(r)) {
		return nil
	}
	a.like = a.OfQueue(r.App.Queue).WaitSet.Alike(a.like[:0], a.ClassOf(r), SizesMax)
	a.owed = owedTo(r, trigger, a.owed[:0])
	a.take(r.Amounts, 1)
	a.others = a.others[:0]
	for _, leaf := range a.like {
		asks := int64(leaf.Asks)
		if leaf.Class == a.ClassOf(r) {
			asks--
		}
		if asks = a.take(leaf.Class.Amounts, asks); leaf.Active && asks > 0 {
			a.others = append(a.others, preemptor.Behind{Amounts: leaf.Class.Amounts, Asks: asks})
		}
	}
	return a.others
}

// take takes from what is owed as many of some asks as that allows.
func (a *Attempts) take(amounts resources.Amounts, asks int64) int64 {
	for i, asked := range amounts {
		if left := a.owed.Of(resources.Kind(i)); asked > 0 && left != resources.Unlimited {
			asks = min(asks, max(left, 0)/asked)
		}
	}
	for i, asked := range amounts {
		if left := a.owed.Of(resources.Kind(i)); left != resources.Unlimited {
			a.owed.Set(resources.Kind(i), left-asks*asked)
		}
	}
	return asks
}

// expect has costs worked out with these asks behind. Those that were worked out for others
// are worked out again when one of them is the least, and at once where more asks might make
// it less and more wait. Where they are of several sizes, fewer of a large one may let more of a small
// one be served, and what they need in other proportions is no part of a bound: then another node may
// cost a little less than the one that is taken for the least.
func (p *CostCache) expect(c *NodeCosts, behind []preemptor.Behind) {
	equal := func(a, b preemptor.Behind) bool { return a.Asks == b.Asks && a.Amounts.Equal(b.Amounts) }
	if c.step != nil && slices.EqualFunc(c.behind, behind, equal) {
		return
	}
	more, step := len(behind) > len(c.behind), append(p.step[:0], c.Class.Amounts...)
	c.Alike = true
	for i, b := range behind {
		more = more || b.Asks > c.behind[i].Asks || !b.Amounts.Equal(c.behind[i].Amounts)
		if !b.Amounts.Equal(c.Class.Amounts) {
			c.Alike = false
			stepBy(&step, b.Amounts)
		}
	}
	all := !step.Equal(c.step)
	c.behind, c.step, p.step = append(c.behind[:0], behind...), step, c.step
	if c.Expected++; !all && !more {
		return
	}
	var again []*ledger.Node
	for i := range c.Heap {
		if all || more && c.Heap[i].bounded {
			again = append(again, c.Heap[i].Node)
		}
	}
	for _, n := range again {
		p.reset(c, n)
	}
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

// IsKnown reports whether what a node costs is worked out for the asks that wait.
func (c *NodeCosts) IsKnown(of *NodeCost) bool {
	return of.Status != notEvaluated && (!of.Shared || of.Expected == c.Expected)
}

// unowed are the kinds of which nothing is freed by a guarantee for the asks behind: those
// that no guarantee of the queues names.
func (p *CostCache) unowed(k Key) (kinds []resources.Kind) {
	if k.Trigger != preemptor.Guarantee {
		return nil
	}
	for i, configured := range p.Configured {
		kind, q := resources.Kind(i), k.Leaf
		for q != nil && q.Guaranteed.Of(kind) <= 0 {
			q = q.Parent
		}
		if configured > 0 && q == nil {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// owedTo is the most that may be served of a queue at once: within the max of every queue,
// and by guarantee within what is guaranteed.
func owedTo(r *ledger.Request, trigger preemptor.Trigger, owed resources.Limits) resources.Limits {
	limit := func(kind resources.Kind, left int64) {
		if left < owed.Of(kind) {
			owed.Set(kind, left)
		}
	}
	for q := r.App.Queue; q != nil; q = q.Parent {
		for i, most := range q.Max {
			if kind := resources.Kind(i); most != resources.Unlimited {
				limit(kind, most-q.Used.Of(kind)+q.Releasing.Of(kind)-q.Nominated.Of(kind))
			}
		}
	}
	if trigger != preemptor.Guarantee {
		return owed
	}
	top := r.GuaranteedBelow()
	for q := r.App.Queue; q != top; q = q.Parent {
		for i, most := range q.Guaranteed {
			if kind := resources.Kind(i); most > 0 {
				limit(kind, most-q.Used.Of(kind)-q.Nominated.Of(kind))
			}
		}
	}
	return owed
}
