package preemptor

import (
	"cmp"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// multiple takes, within the limit, class after class, the largest of each first,
// until what they hold is enough. It then drops the victims that are not needed,
// the most important first, and counts those that are left. The size of a victim is
// the largest share of the need that it holds of one kind.
//
// Candidates that break a guarantee or exceed a budget are taken after all others,
// if the limit allows any, and dropped first.
func (p *plan) multiple() choice {
	keeping := p.limit
	keeping.below, keeping.violations, keeping.stops = 0, 0, 0
	order, lawful := p.lawfulFirst(keeping, p.largestFirst())
	if p.limit == keeping {
		order = order[:lawful]
	}
	count := 0
	for rest := slices.Clone(p.need); !isCovered(rest); count++ {
		if count == len(order) {
			return choice{failure: Failure{Why: p.tooLittle()}}
		}
		for k, held := range p.ranked[order[count]].held {
			rest[k] = max(rest[k]-held, 0) // else it could pass the end of the numbers
		}
	}
	kept := min(lawful, count)
	victims := p.drop(p.drop(order[:count], order[kept:count]), order[:kept])
	switch {
	case p.countOf(victims) > p.victimsMax():
		return choice{failure: Failure{Why: TooMany, Victims: len(victims), Most: int64(p.victimsMax())}}
	case p.breaking(victims) > p.limit.below || p.countViolations(victims) > p.limit.violations || p.countStops(victims) > p.limit.stops:
		return choice{failure: Failure{Why: p.tooLittle()}}
	}
	return choice{victims: victims}
}

// tooLittle is why too little is left within guarantees and budgets.
func (p *plan) tooLittle() Bound {
	if p.limit.below == 0 && p.floored() {
		return TooLittle
	}
	return OverBudget
}

// helpsWith reports whether a candidate holds anything of what is short.
func helpsWith(short, held []int64) bool {
	for k, v := range held {
		if short[k] > 0 && v > 0 {
			return true
		}
	}
	return false
}

// largestFirst is the order of the strategy multiple. Between candidates of equal
// size the next largest share decides, and then the less important one is first.
func (p *plan) largestFirst() []int {
	d := len(p.need)
	order := make([]int, 0, len(p.ranked))
	shares := make([]resources.Share, len(p.ranked)*d)
	descending := func(a, b resources.Share) int { return b.Compare(a) }
	for i := range p.ranked {
		if !p.limit.allows(&p.ranked[i]) {
			continue
		}
		order = append(order, i)
		for k, kind := range p.short {
			shares[i*d+k] = resources.Share{Part: max(p.ranked[i].Amounts.Of(kind), 0), Whole: p.need[k]}
		}
		slices.SortFunc(shares[i*d:i*d+d], descending)
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(
			cmp.Compare(p.ranked[a].class, p.ranked[b].class),
			slices.CompareFunc(shares[a*d:a*d+d], shares[b*d:b*d+d], descending),
			cmp.Compare(a, b),
		)
	})
	return order
}

// drop drops those of some victims that the others make unnecessary, the most
// important first. The result is in order.
func (p *problem) drop(victims, some []int) []int { return dropped(victims, some, p.suffice) }

// dropped are victims, in order, without those of some of them without which the others are enough,
// the most important first. Each that is dropped makes the others more necessary, so one pass is
// enough.
func dropped(victims, some []int, enough func([]int) bool) []int {
	victims, some = slices.Sorted(slices.Values(victims)), slices.Sorted(slices.Values(some))
	for _, i := range slices.Backward(some) {
		at, _ := slices.BinarySearch(victims, i)
		if without := slices.Delete(slices.Clone(victims), at, at+1); enough(without) {
			victims = without
		}
	}
	return victims
}
