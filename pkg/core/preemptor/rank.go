package preemptor

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// rank puts the eligible candidates in order, the least important first. It sorts
// indices, because they are smaller than candidates.
func (p *problem) rank() {
	p.order = p.order[:0]
	for i := range p.ranked {
		p.order = append(p.order, int32(i))
	}
	slices.SortFunc(p.order, func(a, b int32) int { return p.compare(&p.ranked[a], &p.ranked[b]) })
	p.buffer = p.buffer[:0]
	for _, i := range p.order {
		p.buffer = append(p.buffer, p.ranked[i])
	}
	p.ranked, p.buffer = p.buffer, p.ranked
}

// importanceOf is the first criterion of the order of candidates, as one number:
// class and priority, or priority and class where the trigger goes by priority,
// then whether its group may run in vain without it, and, if so configured, the class of service.
func (p *problem) importanceOf(c *Candidate, class Class) int64 {
	priority, qos := int64(c.Priority)+shift, int64(0)
	if p.cfg.ByQoS {
		qos = int64(c.QoS)
	}
	if c.Vital {
		qos |= 1 << 4
	}
	if p.rules.byPriority {
		return priority<<16 | int64(class)<<8 | qos
	}
	return int64(class)<<40 | priority<<8 | qos
}

// compare orders candidates, the least important first: by class, priority, age
// (the younger first), what they hold (the first kind by name that differs
// decides, the smaller first), and the key, so that every tie is decided. If
// priority comes before class, what they hold is not compared.
func (p *problem) compare(a, b *eligible) int {
	if a.importance != b.importance {
		return cmp.Compare(a.importance, b.importance)
	}
	if c := b.Created.Compare(a.Created); c != 0 {
		return c
	}
	if !p.rules.byPriority {
		if c := p.compareAmounts(a, b); c != 0 {
			return c
		}
	}
	return strings.Compare(a.Key, b.Key)
}

// compareAmounts compares the first kind, by name, that differs.
func (p *problem) compareAmounts(a, b *eligible) int {
	for _, kind := range p.kinds {
		if c := cmp.Compare(a.Amounts.Of(kind), b.Amounts.Of(kind)); c != 0 {
			return c
		}
	}
	return 0
}

// weighAll computes the weights of all candidates.
func (p *problem) weighAll() {
	whole := p.whole()
	for i := range p.ranked {
		p.ranked[i].weight = 0
		for c := p.ranked[i].Candidate; c != nil; c = c.With {
			p.ranked[i].weight += p.weigh(c.Amounts, whole)
		}
	}
	p.weighed = true
}

// whole is what the node has of each kind: what is free and what runs.
func (p *problem) whole() resources.Amounts {
	whole := p.scratch[:0]
	for _, kind := range p.kinds {
		whole.Set(kind, max(p.node.Free.Of(kind), 0))
	}
	for i := range p.node.On {
		for c := &p.node.On[i]; c != nil; c = c.With {
			whole.Add(holds(c))
		}
	}
	p.scratch = whole
	return whole
}

// weigh is the size of a victim as one number: for every kind that it holds, the
// thousandths of the whole node, rounded up, added up. The need is the same for
// all sets of victims, so the set with the least weight has the least excess. All
// kinds count, so a device that is not needed adds to the weight, and the unit of
// a kind, such as bytes, makes no difference. Differences below a thousandth of
// the node are ignored.
func (p *problem) weigh(a, whole resources.Amounts) int64 {
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
