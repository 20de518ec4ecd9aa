package preemptor

import "math"

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
	if last := s.pool[chosen[0]]; s.floored && !s.plan.keepsFloors(s.plan.ranked[last].Candidate) {
		return
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

// valid reports whether the candidates at these places cover the need and keep
// the floors. No candidate is charged to the floors when it is called.
func (s *search) valid(places []int) bool {
	if !s.covered(places) {
		return false
	}
	if !s.floored {
		return true
	}
	kept := 0
	for _, place := range places {
		c := s.plan.ranked[s.pool[place]].Candidate
		if !s.plan.keepsFloors(c) {
			break
		}
		s.plan.charge(c, 1)
		kept++
	}
	for _, place := range places[:kept] {
		s.plan.charge(s.plan.ranked[s.pool[place]].Candidate, -1)
	}
	return kept == len(places)
}
