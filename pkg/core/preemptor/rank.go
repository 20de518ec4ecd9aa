package preemptor

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// rank puts the eligible candidates in order, the gentlest first, and works out
// what each of them holds of the need and what it weighs.
func (p *plan) rank() {
	slices.SortFunc(p.ranked, p.gentlest)
	held := make([]int64, len(p.ranked)*len(p.short))
	whole := p.whole()
	for i := range p.ranked {
		e := &p.ranked[i]
		e.held, held = held[:len(p.short):len(p.short)], held[len(p.short):]
		for k, kind := range p.short {
			e.held[k] = min(max(e.Amounts.Of(kind), 0), p.need[k])
		}
		e.weight = p.weigh(e.Amounts, whole)
	}
}

// gentlest orders candidates by the harm their release does: class, priority,
// age (the younger first), what they hold (the first kind by name that differs
// decides, the smaller first), and the key, so that ties never depend on luck.
func (p *plan) gentlest(a, b eligible) int {
	if c := cmp.Or(
		cmp.Compare(a.class, b.class),
		cmp.Compare(a.Priority, b.Priority),
		b.Created.Compare(a.Created),
	); c != 0 {
		return c
	}
	for _, kind := range p.kinds {
		if c := cmp.Compare(a.Amounts.Of(kind), b.Amounts.Of(kind)); c != 0 {
			return c
		}
	}
	return cmp.Compare(a.Key, b.Key)
}

// whole is what the node has of each kind: what is free and what runs.
func (p *plan) whole() resources.Amounts {
	var whole resources.Amounts
	for _, kind := range p.kinds {
		whole.Set(kind, max(p.node.Free.Of(kind), 0))
	}
	for i := range p.node.On {
		whole.Add(holds(&p.node.On[i]))
	}
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
	for _, kind := range p.kinds {
		if v := a.Of(kind); v > 0 {
			weight += parts(v, whole.Of(kind), 1000)
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
