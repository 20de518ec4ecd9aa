package preemptor

import (
	"math"
	"slices"
)

// usage is what the victims so far have used of the limits, and what they come to.
type usage struct {
	below, violations int
	weight, price     int64
}

// descend tries the candidates before a place as the next victim, from one on that must go in
// any case, if it is not less than zero. It reports whether the search is over.
func (s *search) descend(taken, must, upper int, on usage) (over bool) {
	d := len(s.goal)
	rest := s.rest[taken*d:][:d]
	if isCovered(rest) {
		return s.consider(taken, on)
	}
	left := s.most - taken
	if left == 0 {
		return false
	}
	for at := s.firstReaching(left, max(must, 0), upper, rest); at < upper; at++ {
		if s.steps >= s.stop {
			s.stopped = true
			return true
		}
		s.steps++
		if s.priced.on && on.price+s.priced.least(at, left) > s.priced.most {
			return false
		}
		next := s.twins[at]
		if at != must {
			next = max(next, must)
		}
		if next >= 0 && left == 1 || !helpsWith(rest, s.holds(s.pool[at])) {
			continue
		}
		if s.try(taken, next, at, on) {
			return true
		}
	}
	return false
}

// try makes a candidate the next victim: as one that keeps the guarantees, and as one that
// breaks them and does not use up what others may take.
func (s *search) try(taken, must, at int, on usage) (over bool) {
	d, e := len(s.goal), &s.ranked[s.pool[at]]
	c, held := e.Candidate, s.holds(s.pool[at])
	for k, missing := range s.rest[taken*d : taken*d+d] {
		s.rest[taken*d+d+k] = max(missing-held[k], 0)
	}
	s.path[taken] = at
	on.weight += e.weight
	if s.priced.on {
		on.price += s.priced.of[s.pool[at]]
	}
	if s.spends {
		defer s.give(c)
		if s.spendOn(c, &on) {
			return false
		}
	}
	if !s.floors {
		return s.descend(taken+1, must, at, on)
	}
	if s.keepsFloors(c) {
		s.charge(c, 1)
		over = s.descend(taken+1, must, at, on)
		s.charge(c, -1)
	}
	if over || on.below >= s.limit.below || len(c.Floors) == 0 {
		return over
	}
	on.below++
	return s.descend(taken+1, must, at, on)
}

// spendOn takes one from each budget of c, and reports whether that exceeds too much in any
// case. Where candidates count for several budgets, only all victims together say how many
// of them exceed one.
func (s *search) spendOn(c *Candidate, on *usage) (exceeds bool) {
	over := false
	for _, b := range c.Budgets {
		s.allow[b]--
		over = over || s.allow[b] < 0
		exceeds = exceeds || s.allow[b] < -int64(s.limit.violations)
	}
	if over && !s.apart {
		on.violations++
	}
	return exceeds || on.violations > s.limit.violations
}

func (s *search) give(c *Candidate) {
	for _, b := range c.Budgets {
		s.allow[b]++
	}
}

// consider keeps the victims so far, which reach the goal, if they are lawful and better. It
// reports whether the search is over.
func (s *search) consider(taken int, on usage) (over bool) {
	if !s.first && on.weight >= s.weight {
		return false
	}
	s.victims = s.victims[:0]
	for _, at := range s.path[:taken] {
		s.victims = append(s.victims, s.pool[at])
	}
	slices.Sort(s.victims)
	if s.apart && s.countViolations(s.victims) > s.limit.violations {
		return false
	}
	s.keep(s.victims)
	return s.first
}

// keep keeps victims as the best so far.
func (s *search) keep(victims []int) {
	s.kept, s.found, s.weight = append(s.kept[:0], victims...), true, s.weightOf(victims)
	slices.Sort(s.kept)
	if s.priced.on && !s.first {
		s.priced.most = s.priced.below(s.weight)
	}
}

// isCovered reports whether nothing is missing.
func isCovered(rest []int64) bool {
	for _, missing := range rest {
		if missing > 0 {
			return false
		}
	}
	return true
}

// reaches reports whether those before a place can give what is missing, if up to left
// of them go.
func (s *search) reaches(left, place int, rest []int64) bool {
	n, d := len(s.pool), len(s.goal)
	for k, missing := range rest {
		if missing > s.tails[place*d+k] || len(s.tops) > 0 && missing > s.tops[(left*(n+1)+place)*d+k] {
			return false
		}
	}
	return true
}

// firstReaching is the first place, from one on, with which those before it can give what
// is missing; upper if there is none.
func (s *search) firstReaching(left, from, upper int, rest []int64) int {
	low, high := from, upper
	if high > low && !s.reaches(left, high, rest) {
		return upper
	}
	for low < high {
		middle := (low + high) / 2
		if s.reaches(left, middle+1, rest) {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low
}

// weightOf is the weight of victims.
func (s *search) weightOf(victims []int) (weight int64) {
	for _, i := range victims {
		weight += s.ranked[i].weight
	}
	return weight
}

// within reports whether victims keep a limit: if those are set aside that break a
// guarantee, the others keep all.
func (s *search) within(l limit, victims []int) bool {
	return s.breaking(victims) <= l.below && (l.violations == math.MaxInt || s.countViolations(victims) <= l.violations)
}
