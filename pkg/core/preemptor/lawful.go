package preemptor

import "slices"

// lawfulFirst lists candidates, which are in order, those first that may go together: from the
// least important on, each with which the limit is kept.
func (p *plan) lawfulFirst(within limit, order []int) (sorted []int, lawful int) {
	p.fillFloors()
	p.fillBudgets()
	p.fillGone()
	var others []int
	below, violations, stops := 0, 0, 0
	for _, i := range order {
		c := p.ranked[i].Candidate
		keeps, violating := p.checkFloors(c), p.spend(c)
		stopping := p.end(c)
		if !keeps && below == within.below || violating && violations == within.violations || stopping && stops == within.stops {
			p.unspend(c)
			p.stay(c)
			others = append(others, i)
			continue
		}
		if keeps {
			p.charge(c, 1)
		} else {
			below++
		}
		if violating {
			violations++
		}
		if stopping {
			stops++
		}
		sorted = append(sorted, i)
	}
	return append(sorted, others...), len(sorted)
}

// fillReachable adds up what may be freed together.
func (p *plan) fillReachable() {
	order, lawful := p.lawfulFirst(p.highestLimit(), p.ranks())
	p.sums, p.summed = slices.Grow(p.sums[:0], len(p.need))[:len(p.need)], true
	clear(p.sums)
	for _, i := range order[:lawful] {
		for k, held := range p.ranked[i].held {
			p.sums[k] = add(p.sums[k], held)
		}
	}
}

// reachable is the most of the need that can be freed: all, or if that is known what guarantees
// and budgets leave of it.
func (p *plan) reachable() []int64 {
	if p.summed {
		return p.sums
	}
	return p.total
}
