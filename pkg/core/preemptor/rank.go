package preemptor

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// rank puts the eligible candidates in order, the gentlest first. It sorts
// their places, which are smaller than they are.
func (p *plan) rank() {
	p.places = p.places[:0]
	for i := range p.ranked {
		p.places = append(p.places, int32(i))
	}
	slices.SortFunc(p.places, func(a, b int32) int { return p.compare(&p.ranked[a], &p.ranked[b]) })
	p.spares = p.spares[:0]
	for _, i := range p.places {
		p.spares = append(p.spares, p.ranked[i])
	}
	p.ranked, p.spares = p.spares, p.ranked
}

// harmOf is what comes first in the order of candidates, as one number: class
// and priority, or priority and class where that is what the trigger is about,
// and then, if so configured, how well c is provided for.
func (p *plan) harmOf(c *Candidate, class Class) int64 {
	priority, qos := int64(c.Priority)+shift, int64(0)
	if p.cfg.ByQoS {
		qos = int64(c.QoS)
	}
	if p.terms.byPriority {
		return priority<<16 | int64(class)<<8 | qos
	}
	return int64(class)<<40 | priority<<8 | qos
}

// compare orders candidates by the harm their release does: class, priority,
// age (the younger first), what they hold (the first kind by name that differs
// decides, the smaller first), and the key, so that ties never depend on luck.
// Where priority is before class, what they hold is no matter.
func (p *plan) compare(a, b *eligible) int {
	if a.harm != b.harm {
		return cmp.Compare(a.harm, b.harm)
	}
	if c := b.Created.Compare(a.Created); c != 0 {
		return c
	}
	if !p.terms.byPriority {
		if c := p.compareAmounts(a, b); c != 0 {
			return c
		}
	}
	return strings.Compare(a.Key, b.Key)
}

// compareAmounts goes by the first kind, by name, that differs.
func (p *plan) compareAmounts(a, b *eligible) int {
	for _, kind := range p.kinds {
		if c := cmp.Compare(a.Amounts.Of(kind), b.Amounts.Of(kind)); c != 0 {
			return c
		}
	}
	return 0
}

// weighAll works out what each of those in order weighs.
func (p *plan) weighAll() {
	whole := p.whole()
	for i := range p.ranked {
		p.ranked[i].weight = p.weigh(p.ranked[i].Amounts, whole)
	}
	p.weighed = true
}

// whole is what the node has of each kind: what is free and what runs.
func (p *plan) whole() resources.Amounts {
	whole := p.scratch[:0]
	for _, kind := range p.kinds {
		whole.Set(kind, max(p.node.Free.Of(kind), 0))
	}
	for i := range p.node.On {
		whole.Add(holds(&p.node.On[i]))
	}
	p.scratch = whole
	return whole
}

// weigh is the size of a victim as one number: of every kind that it holds, the
// thousandths of the whole node, rounded up, added up. As the need is the same
// for all, the victims that weigh least are those of whom the least is killed
// beyond the need. All kinds count, so a device that is not needed is not taken
// along lightly, and none counts more for being counted in bytes. What makes
// less than a thousandth of the node makes no difference.
func (p *plan) weigh(a, whole resources.Amounts) int64 {
	var weight int64
	for kind, v := range a {
		if v > 0 {
			weight += parts(v, whole.Of(resources.Kind(kind)), 1000)
		}
	}
	return weight
}

// parts is v out of whole in units of 1/of, rounded up; v is at least zero, at
// most whole.
func parts(v, whole, of int64) int64 {
	hi, lo := bits.Mul64(uint64(v), uint64(of))
	quotient, rest := bits.Div64(hi, lo, uint64(whole))
	if rest > 0 {
		quotient++
	}
	return int64(min(quotient, math.MaxInt64))
}
