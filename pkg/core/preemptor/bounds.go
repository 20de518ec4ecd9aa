package preemptor

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

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

// fillTails fills in what all before each place can give.
func (s *search) fillTails() {
	d := len(s.goal)
	s.tails = slices.Grow(s.tails[:0], (len(s.pool)+1)*d)[:(len(s.pool)+1)*d]
	clear(s.tails[:d])
	for at, i := range s.pool {
		for k, held := range s.holds(i) {
			s.tails[at*d+d+k] = add(s.tails[at*d+k], held)
		}
	}
	if s.floors {
		s.caps = s.caps[:0]
		for f := range s.node.Floors {
			for _, kind := range s.short {
				s.caps = append(s.caps, max(s.node.Floors[f].Surplus.Of(kind), 0))
			}
			for range len(s.goal) - len(s.short) {
				s.caps = append(s.caps, math.MaxInt64)
			}
		}
		s.capTails(s.limit.below, func(c *Candidate) []int32 {
			if c.With != nil {
				return nil // others of the unit may count for other floors
			}
			return c.Floors
		})
	}
	if s.spends {
		firstBudget := func(c *Candidate) []int32 { return c.Budgets[:min(len(c.Budgets), 1)] }
		s.caps = slices.Grow(s.caps[:0], len(s.node.Budgets)*d)[:len(s.node.Budgets)*d]
		clear(s.caps)
		for _, i := range s.pool {
			for _, b := range firstBudget(s.ranked[i].Candidate) {
				for k, held := range s.holds(i) {
					s.caps[int(b)*d+k] = max(s.caps[int(b)*d+k], held)
				}
			}
		}
		for at := range s.caps {
			s.caps[at] = times(int64(max(s.node.Budgets[at/d].Allowed, 0)), s.caps[at])
		}
		s.capTails(s.limit.violations, firstBudget)
	}
}

// capTails lowers the tails to what groups of candidates can give that are capped, each
// within the next. As many more as are beyond the caps may give as much as the largest.
func (s *search) capTails(beyond int, groupsOf func(*Candidate) []int32) {
	d := len(s.goal)
	s.sums = slices.Grow(s.sums[:0], 2*d)[:2*d]
	sum, spare := s.sums[:d], s.sums[d:]
	clear(s.sums)
	for _, i := range s.pool {
		for k, held := range s.holds(i) {
			spare[k] = max(spare[k], times(int64(beyond), held))
		}
	}
	for at, i := range s.pool {
		groups := groupsOf(s.ranked[i].Candidate)
		for k, held := range s.holds(i) {
			gives := held
			for _, g := range groups {
				gives = min(gives, s.caps[int(g)*d+k])
			}
			for _, g := range groups {
				if left := &s.caps[int(g)*d+k]; *left != math.MaxInt64 {
					*left -= gives
				}
			}
			more := min(held-gives, spare[k])
			spare[k] -= more
			sum[k] = add(sum[k], gives+more)
			s.tails[at*d+d+k] = min(s.tails[at*d+d+k], sum[k])
		}
	}
}

// fillTops fills in the most that up to s.most candidates before each place hold.
func (s *search) fillTops() {
	n, d := len(s.pool), len(s.goal)
	if s.tops = s.tops[:0]; !s.many {
		return
	}
	size := (s.most + 1) * (n + 1) * d
	s.tops = slices.Grow(s.tops[:0], size)[:size]
	s.sums = slices.Grow(s.sums[:0], s.most)[:s.most]
	for k := range d {
		clear(s.sums)
		for at := range n + 1 {
			if at > 0 && s.most > 0 {
				insert(s.sums, s.holds(s.pool[at-1])[k])
			}
			sum := int64(0)
			for r, held := range s.sums {
				sum = add(sum, held)
				s.tops[((r+1)*(n+1)+at)*d+k] = sum
			}
		}
	}
}

// insert puts v in its place in a descending list, and drops the last element.
func insert(falling []int64, v int64) {
	at := len(falling) - 1
	if v <= falling[at] {
		return
	}
	for ; at > 0 && falling[at-1] < v; at-- {
		falling[at] = falling[at-1]
	}
	falling[at] = v
}

// fillTwins finds for each place the one before it of a candidate that holds the same and
// counts for the same guarantees and budgets. The more harmful one of twins only goes with the
// other. Where nothing but the need is looked at, the search makes no wrong choices.
func (s *search) fillTwins() {
	n := len(s.pool)
	if s.apart {
		return
	}
	s.order = s.order[:0]
	for at := range n {
		s.order = append(s.order, at)
	}
	slices.SortFunc(s.order, func(a, b int) int { return cmp.Or(s.compareWorth(s.pool[a], s.pool[b]), cmp.Compare(a, b)) })
	for at := 1; at < n; at++ {
		if before := s.order[at-1]; s.compareWorth(s.pool[before], s.pool[s.order[at]]) == 0 {
			s.twins[s.order[at]] = before
		}
	}
}

func (s *search) compareWorth(a, b int) int {
	x, y := &s.ranked[a], &s.ranked[b]
	return cmp.Or(
		slices.Compare(s.holds(a), s.holds(b)), s.compareAmounts(x, y),
		slices.Compare(x.Floors, y.Floors), slices.Compare(x.Budgets, y.Budgets),
		cmp.Compare(x.Group, y.Group), strings.Compare(x.Unit, y.Unit),
	)
}
