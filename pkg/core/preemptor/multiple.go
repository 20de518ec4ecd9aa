package preemptor

import (
	"cmp"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// multiple takes class after class, of each the largest first, until what they
// hold is enough, and then spares whoever turns out not to be needed, the least
// gentle first. Size is the largest share of the need that a victim holds of
// one kind. Who holds nothing of what is still short is passed over.
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
	return choice{victims: p.spare(victims)}
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

// largestFirst is the order of multiple; who is as large as another goes in the
// order of gentleness.
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

// spare leaves out, the least gentle first, whoever the others can do without.
// Leaving one out only makes the others needed more, so nobody is left who
// could be spared.
func (p *plan) spare(victims []int) []int {
	slices.Sort(victims)
	for at := len(victims) - 1; at >= 0; at-- {
		if without := slices.Delete(slices.Clone(victims), at, at+1); p.suffice(without) {
			victims = without
		}
	}
	return victims
}
