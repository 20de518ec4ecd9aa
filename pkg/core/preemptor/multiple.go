package preemptor

import (
	"cmp"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// multiple takes class after class, the largest of each first, until what they
// hold is enough. It then drops the victims that are not needed, the most
// important first. The size of a victim is the largest share of the need that it
// holds of one kind. A candidate that holds nothing of what is still missing is
// skipped.
func (p *plan) multiple() choice {
	var victims []int
	short := slices.Clone(p.need)
	for _, i := range p.largestFirst() {
		if !p.lower(short, i) {
			continue
		}
		victims = append(victims, i)
		if slices.Max(short) <= 0 {
			break
		}
	}
	if len(victims) > p.victimsMax() {
		return choice{failure: Failure{Why: TooMany, Victims: len(victims), Most: int64(p.victimsMax())}}
	}
	return choice{victims: p.dropUnneeded(victims)}
}

// lower lowers short by what victim i holds and reports whether that helped.
func (p *plan) lower(short []int64, i int) bool {
	helped := false
	for k, held := range p.ranked[i].held {
		if short[k] > 0 && held > 0 {
			short[k] -= held
			helped = true
		}
	}
	return helped
}

// largestFirst is the order of the strategy multiple; between candidates of equal
// size the less important one is first.
func (p *plan) largestFirst() []int {
	order := make([]int, len(p.ranked))
	sizes := make([]resources.Share, len(p.ranked))
	for i := range p.ranked {
		order[i] = i
		for k, kind := range p.short {
			share := resources.Share{Part: max(p.ranked[i].Amounts.Of(kind), 0), Whole: p.need[k]}
			if share.Compare(sizes[i]) > 0 {
				sizes[i] = share
			}
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(
			cmp.Compare(p.ranked[a].class, p.ranked[b].class),
			sizes[b].Compare(sizes[a]),
			cmp.Compare(a, b),
		)
	})
	return order
}

// dropUnneeded drops victims that the others make unnecessary, the most important
// first. Each dropped victim makes the others more necessary, so one pass is
// enough.
func (p *plan) dropUnneeded(victims []int) []int {
	slices.Sort(victims)
	for at := len(victims) - 1; at >= 0; at-- {
		if without := slices.Delete(slices.Clone(victims), at, at+1); p.suffice(without) {
			victims = without
		}
	}
	return victims
}
