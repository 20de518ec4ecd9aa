package preemptor

import (
	"cmp"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// multiple takes, within the limit, class after class, the largest of each first,
// until what they hold is enough. It then drops the victims that are not needed,
// the most important first, and counts those that are left. The size of a victim is
// the largest share of the need that it holds of one kind. A candidate that holds
// nothing of what is still missing is skipped.
//
// Candidates that break a guarantee or exceed a budget are taken after all others,
// if the limit allows any, and dropped first.
func (p *plan) multiple() choice {
	t := taking{plan: p, short: slices.Clone(p.need)}
	p.fillFloors()
	p.fillBudgets()
	order := p.largestFirst()
	order = t.take(order, false)
	kept := len(t.victims)
	if p.bound && (p.limit.below > 0 || p.limit.violations > 0) {
		t.take(order, true)
	}
	if slices.Max(t.short) > 0 {
		return choice{failure: Failure{Why: p.tooLittle()}}
	}
	first := slices.Clone(t.victims[:kept])
	late := p.drop(t.victims, t.victims[kept:])
	victims := p.drop(late, first)
	if len(victims) > p.victimsMax() {
		return choice{failure: Failure{Why: TooMany, Victims: len(victims), Most: int64(p.victimsMax())}}
	}
	if !t.withinLimit(victims) {
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

// A taking is what multiple has taken so far.
type taking struct {
	*plan
	victims []int
	below   []int // of victims, those that break a guarantee
	short   []int64
}

// take takes candidates in this order until they are enough, and returns those that
// it left because they break a guarantee or exceed a budget. With breaking set it takes
// them.
func (t *taking) take(order []int, breaking bool) (left []int) {
	for _, i := range order {
		if slices.Max(t.short) <= 0 {
			break
		}
		if !helpsWith(t.short, t.ranked[i].held) {
			continue
		}
		if t.bound && !t.book(i, breaking) {
			left = append(left, i)
			continue
		}
		t.victims = append(t.victims, i)
		for k, held := range t.ranked[i].held {
			t.short[k] = max(t.short[k]-held, 0)
		}
	}
	return left
}

// book books a victim on its guarantees and budgets. If it breaks one, that is
// undone unless breaking is set.
func (t *taking) book(i int, breaking bool) bool {
	c := t.ranked[i].Candidate
	keeps := t.keepsFloors(c)
	violating := len(t.node.Budgets) > 0 && t.spend(c)
	if !breaking && (violating || !keeps) {
		if len(t.node.Budgets) > 0 {
			t.unspend(c)
		}
		return false
	}
	if keeps {
		t.charge(c, 1)
	} else {
		t.below = append(t.below, i)
	}
	return true
}

// withinLimit reports whether no more of the victims break guarantees and budgets
// than the limit allows.
func (t *taking) withinLimit(victims []int) bool {
	if !t.bound {
		return true
	}
	below := 0
	for _, i := range t.below {
		if slices.Contains(victims, i) {
			below++
		}
	}
	return below <= t.limit.below && t.countViolations(victims) <= t.limit.violations
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
// important first. Each dropped victim makes the others more necessary, so one pass
// is enough. The result is in order.
func (p *problem) drop(victims, some []int) []int {
	victims, some = slices.Clone(victims), slices.Clone(some)
	slices.Sort(victims)
	slices.Sort(some)
	for _, i := range slices.Backward(some) {
		at, _ := slices.BinarySearch(victims, i)
		if without := slices.Delete(slices.Clone(victims), at, at+1); p.suffice(without) {
			victims = without
		}
	}
	return victims
}
