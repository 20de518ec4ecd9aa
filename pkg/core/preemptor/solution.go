package preemptor

import (
	"math"
	"slices"
)

// consider keeps the path if it is better. The limit is on prices, and a path
// that holds more than is needed can be within it without being light; parts of
// the need are rounded up. So both are checked exactly.
func (s *search) consider() {
	chosen := s.picked[:s.count] // scratch: a search picks no more
	for r := 1; r <= s.count; r++ {
		chosen[r-1] = s.byPrice[s.path[r]]
	}
	if !s.first && s.weigh(chosen) >= s.keptWeight || !s.covered(chosen) {
		return
	}
	if s.bound() {
		last := s.plan.ranked[s.pool[chosen[0]]].Candidate
		if !s.take(last) {
			return
		}
		s.giveBack(last)
		if !s.violatesFewEnough(chosen) {
			return
		}
	}
	s.keep(chosen)
	if s.first {
		s.limit = math.MinInt64
		return
	}
	s.limit = fraction*(s.keptWeight-1) - s.worth()
}

// keep makes the candidates at these places of the pool the best so far.
func (s *search) keep(places []int) {
	s.kept = s.kept[:0]
	for _, place := range places {
		s.kept = append(s.kept, s.pool[place])
	}
	s.keptWeight = s.weigh(places)
}

func (s *search) weigh(places []int) int64 {
	var weight int64
	for _, place := range places {
		weight += s.weights[place]
	}
	return weight
}

// covered reports, exactly, whether the candidates at these places of the pool
// cover the need.
func (s *search) covered(places []int) bool {
	for k, need := range s.plan.need {
		for _, place := range places {
			if need -= s.plan.ranked[s.pool[place]].held[k]; need <= 0 {
				break
			}
		}
		if need > 0 {
			return false
		}
	}
	return true
}

// violatesFewEnough counts, exactly, the violations of the candidates at these
// places of the pool.
func (s *search) violatesFewEnough(places []int) bool {
	if s.violations <= 0 {
		return true
	}
	s.victims = s.victims[:0]
	for _, place := range places {
		s.victims = append(s.victims, s.pool[place])
	}
	slices.Sort(s.victims)
	return s.plan.countViolations(s.victims) <= s.violations
}

// valid reports whether the candidates at these places cover the need and keep
// the floors and budgets. No candidate is taken when it is called.
func (s *search) valid(places []int) bool {
	if !s.covered(places) {
		return false
	}
	if !s.bound() {
		return true
	}
	kept := 0
	for _, place := range places {
		if !s.take(s.plan.ranked[s.pool[place]].Candidate) {
			break
		}
		kept++
	}
	for _, place := range places[:kept] {
		s.giveBack(s.plan.ranked[s.pool[place]].Candidate)
	}
	return kept == len(places) && s.violatesFewEnough(places)
}

// bound reports whether floors or budgets may be broken.
func (s *search) bound() bool { return s.floored || s.violations >= 0 }

// limitTo limits how many victims may violate a budget.
func (s *search) limitTo(violations int) {
	s.violations = violations
	s.allowances = s.allowances[:0]
	for i := range s.plan.node.Budgets {
		s.allowances = append(s.allowances, int64(max(s.plan.node.Budgets[i].Allowed, 0)+violations))
	}
	s.group(s.every)
}

// take books c as taken, if it keeps the floors and budgets.
func (s *search) take(c *Candidate) bool {
	if s.floored && !s.plan.keepsFloors(c) {
		return false
	}
	if s.violations >= 0 {
		for _, b := range c.Budgets {
			if s.allowances[b] <= 0 {
				return false
			}
		}
		s.allow(c, -1)
	}
	if s.floored {
		s.plan.charge(c, 1)
	}
	return true
}

// giveBack undoes take.
func (s *search) giveBack(c *Candidate) {
	if s.violations >= 0 {
		s.allow(c, 1)
	}
	if s.floored {
		s.plan.charge(c, -1)
	}
}

func (s *search) allow(c *Candidate, more int64) {
	for _, b := range c.Budgets {
		s.allowances[b] += more
	}
}
