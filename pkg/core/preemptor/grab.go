package preemptor

import (
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// grab takes, one after the other, the candidate that adds the most for what it uses up of what is
// left, until nothing is missing. It finds victims among many candidates, where a search
// would not come back to its first decisions.
func (s *search) grab() bool {
	s.start()
	rest, on := s.rest[:len(s.goal)], usage{}
	s.victims = s.victims[:0]
	for !isCovered(rest) {
		best, most := -1, resources.Share{Whole: 1}
		for _, i := range s.pool {
			if slices.Contains(s.victims, i) || !s.mayTake(i, on) {
				continue
			}
			if gain := s.gainOf(i, rest); gain.Compare(most) > 0 {
				best, most = i, gain
			}
		}
		if best < 0 || len(s.victims) == s.most {
			return false
		}
		s.victims = append(s.victims, best)
		s.charge(s.ranked[best].Candidate, 1)
		s.spendOn(s.ranked[best].Candidate, &on)
		for k, held := range s.holds(best) {
			rest[k] = max(rest[k]-held, 0)
		}
	}
	slices.Sort(s.victims)
	for at := len(s.victims) - 1; at >= 0; at-- {
		if others := slices.Delete(slices.Clone(s.victims), at, at+1); s.reachGoal(others) {
			s.victims = others
		}
	}
	if s.apart && s.countViolations(s.victims) > s.limit.violations {
		return false
	}
	s.keep(s.victims)
	return true
}

// reachGoal reports whether victims are enough.
func (s *search) reachGoal(victims []int) bool {
	rest := append(s.sums[:0], s.goal...)
	for _, i := range victims {
		for k, held := range s.holds(i) {
			rest[k] = max(rest[k]-held, 0)
		}
	}
	s.sums = rest
	return isCovered(rest)
}

// mayTake reports whether a candidate may go too.
func (s *search) mayTake(i int, on usage) bool {
	c := s.ranked[i].Candidate
	defer s.give(c)
	return !s.spendOn(c, &on) && (!s.floors || s.keepsFloors(c))
}

// gainOf is what a candidate adds of what is missing, against what it uses up of what is left
// of its guarantees and budgets, in parts of those.
func (s *search) gainOf(i int, rest []int64) resources.Share {
	gain := resources.Share{Whole: 1}
	for k, held := range s.holds(i) {
		if rest[k] > 0 {
			gain.Part += parts(min(held, rest[k]), rest[k], unit)
		}
	}
	c := s.ranked[i].Candidate
	for _, f := range c.Floors {
		for kind, v := range c.Amounts {
			if left := s.left[int(f)*s.width+kind]; s.floors && v > 0 && left > 0 {
				gain.Whole += parts(min(v, left), left, unit)
			}
		}
	}
	for _, b := range c.Budgets {
		if left := s.allow[b] + int64(s.limit.violations); s.spends && left > 0 {
			gain.Whole += parts(1, left, unit)
		}
	}
	return gain
}
