package preemptor

import "slices"

// fewest is what the strategy reprieve needs to find victims that violate fewer
// budgets.
type fewest struct {
	counts  []int64 // by budget: the candidates that count for it
	largest []int64 // by budget: the most that one of them holds of a kind
	sums    []int64 // by budget: what all of them hold
	saved   []bool
}

// violateFewer replaces the removed candidates by others if those violate fewer
// budgets. Of all victims that violate as few, it takes those of the least
// importance: a budget never spares a candidate that it allows to go at the price
// of a more important one. It reports whether the victims keep what must be kept,
// or why they do not.
//
// With StrictPriority budgets decide between candidates of the same priority
// only, so the pool is put back again, with those that violate a budget first.
func (p *plan) violateFewer() (why Bound, ok bool) {
	r := &p.reprieval
	before := r.countRemoved()
	switch {
	case before == 0:
		return 0, true
	case p.cfg.Budgets == StrictPriority:
		r.violateLater(before)
		return 0, true
	case p.cfg.Budgets == PreferBudgets:
		r.searchFewer(p, before)
		return 0, true
	case r.boundViolations() > 0:
		return OverBudget, false
	}
	switch exactly(p).searchExactly(0) {
	case yes:
		return 0, true
	case no:
		return exactly(p).whyNone(0), false
	}
	if r.violateLater(before) == 0 {
		return 0, true
	}
	return TooLong, false
}

// violateLater puts the candidates of the pool back again, those that violate a
// budget first, and keeps the result if it violates fewer budgets than before. It
// returns how many are violated. A pool that is too small does not change anything.
func (r *reprieval) violateLater(before int) int {
	s := &r.search
	s.saved = append(s.saved[:0], r.removed...)
	if r.isPooled() {
		r.reprievePool(r.asking, true)
		if after := r.countRemoved(); after < before && (r.fits == nil || r.asking || r.fits(r.removedKeys(-1)) == nil) {
			return after
		}
	}
	copy(r.removed, s.saved)
	return before
}

// isPooled reports whether the removed candidates are of the pool.
func (r *reprieval) isPooled() bool {
	for i, removed := range r.removed {
		if removed && !r.pool[i] {
			return false
		}
	}
	return true
}

// searchFewer looks for the fewest violations that there can be: first as few as the
// bound says, and then by halves. Where a search is stopped, putting back those first
// that violate a budget may help as well.
func (r *reprieval) searchFewer(p *plan, before int) {
	s, low, least := &r.search, r.boundViolations(), before
	limit, middle := before, low // limit is that of the search that found the saved ones
	s.saved = append(s.saved[:0], r.removed...)
	for ; low < least; middle = (low + least) / 2 {
		switch exactly(p).searchExactly(middle) {
		case yes:
			limit, least = middle, r.countRemoved()
			s.saved = append(s.saved[:0], r.removed...)
			continue
		case unknown:
			p.exact.unproved = true
		}
		low = middle + 1
	}
	copy(r.removed, s.saved)
	if p.exact.unproved && r.violateLater(least) < least {
		return
	}
	s.saved = append(s.saved[:0], r.removed...)
	if least < limit && exactly(p).searchExactly(least) != yes {
		copy(r.removed, s.saved)
	}
}

// flagRemoved flags the removed candidates that violate a budget.
func (r *reprieval) flagRemoved() {
	r.fillBudgets()
	for i, removed := range r.removed {
		e := &r.ranked[i]
		e.violating = removed && r.spend(e.Candidate)
	}
}

// countRemoved is how many of the removed candidates violate a budget.
func (r *reprieval) countRemoved() int {
	if len(r.node.Budgets) == 0 {
		return 0
	}
	r.fillBudgets()
	count := 0
	for i, removed := range r.removed {
		if removed && r.spend(r.ranked[i].Candidate) {
			count++
		}
	}
	return count
}

// countBudgets counts the candidates of each budget.
func (r *reprieval) countBudgets() {
	s := &r.search
	s.counts = slices.Grow(s.counts[:0], len(r.node.Budgets))[:len(r.node.Budgets)]
	clear(s.counts)
	for i := range r.ranked {
		for _, b := range r.ranked[i].Budgets {
			s.counts[b]++
		}
	}
}

// contendedBudget is the first budget of e that is too small for all candidates,
// or -1.
func (r *reprieval) contendedBudget(e *eligible) int32 {
	for _, b := range e.Budgets {
		if r.search.counts[b] > int64(r.node.Budgets[b].Allowed) {
			return b
		}
	}
	return -1
}

// boundViolations is a lower bound of the violations. What may go of each budget is
// taken to be as large as the largest of its candidates; the rest of the need must
// come from violations.
func (r *reprieval) boundViolations() int {
	s := &r.search
	n := len(r.node.Budgets)
	s.largest, s.sums = slices.Grow(s.largest[:0], n)[:n], slices.Grow(s.sums[:0], n)[:n]
	r.countBudgets()
	bound := 0
	for k, open := range r.need {
		clear(s.largest)
		clear(s.sums)
		for i := range r.ranked {
			e := &r.ranked[i]
			if b := r.contendedBudget(e); b >= 0 {
				s.largest[b] = max(s.largest[b], e.held[k])
				s.sums[b] = add(s.sums[b], e.held[k])
			} else {
				open = max(open-e.held[k], 0)
			}
		}
		largest := int64(0)
		for b, one := range s.largest {
			largest = max(largest, one)
			open = max(open-min(s.sums[b], times(int64(max(r.node.Budgets[b].Allowed, 0)), one)), 0)
		}
		if open > 0 && largest > 0 {
			bound = max(bound, int((open-1)/largest)+1)
		}
	}
	return bound
}
