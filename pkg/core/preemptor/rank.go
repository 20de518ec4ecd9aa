package preemptor

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// rank puts the eligible candidates in order, the gentlest first.
func (p *plan) rank() {
	if len(p.ranked) > fewCandidates {
		slices.SortFunc(p.ranked, func(a, b eligible) int { return p.compare(&a, &b) })
		return
	}
	for i := 1; i < len(p.ranked); i++ {
		for at := i; at > 0 && p.compare(&p.ranked[at], &p.ranked[at-1]) < 0; at-- {
			p.ranked[at], p.ranked[at-1] = p.ranked[at-1], p.ranked[at]
		}
	}
}

// fewCandidates are put in order without copying them about.
const fewCandidates = 8

// compare is the order of the trigger, the gentlest first.
func (p *plan) compare(a, b *eligible) int {
	if p.terms.byPriority {
		return p.lessImportant(a, b)
	}
	return p.gentler(a, b)
}

// gentler orders candidates by the harm their release does: class, priority,
// age (the younger first), what they hold (the first kind by name that differs
// decides, the smaller first), and the key, so that ties never depend on luck.
func (p *plan) gentler(a, b *eligible) int {
	if c := cmp.Or(
		cmp.Compare(a.class, b.class),
		cmp.Compare(a.Priority, b.Priority),
		p.compareQoS(a, b),
		b.Created.Compare(a.Created),
	); c != 0 {
		return c
	}
	if c := p.compareAmounts(a, b); c != 0 {
		return c
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

// lessImportant orders candidates by how important they are, the least first:
// priority, class, how well they are provided for if that is configured, age
// (the younger first), and the key.
func (p *plan) lessImportant(a, b *eligible) int {
	switch {
	case a.Priority != b.Priority:
		return cmp.Compare(a.Priority, b.Priority)
	case a.class != b.class:
		return cmp.Compare(a.class, b.class)
	case p.cfg.ByQoS && a.QoS != b.QoS:
		return cmp.Compare(a.QoS, b.QoS)
	}
	if c := b.Created.Compare(a.Created); c != 0 {
		return c
	}
	return strings.Compare(a.Key, b.Key)
}

func (p *plan) compareQoS(a, b *eligible) int {
	if !p.cfg.ByQoS {
		return 0
	}
	return cmp.Compare(a.QoS, b.QoS)
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
