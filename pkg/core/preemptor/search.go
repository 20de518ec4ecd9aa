package preemptor

import (
	"math"
	"slices"
)

// answer is the known answer to a question.
type answer uint8

const (
	unknown answer = iota
	no
	yes
)

// A search looks for victims among a pool of candidates that cover the need and keep
// a limit: how many of them break a guarantee, and how many exceed a budget.
//
// The pool is in an order of harm. The search goes depth first through the sets of
// victims, by the most harmful of each, and of those by the next. So the first victims
// that it finds are the answer: no others spare a more harmful candidate.
//
// Where the pool is in the order of weight, the search goes on to the lightest victims.
//
// A branch is cut off where all before a place hold too little, as far as guarantees
// and budgets let them go, or those that may come yet do if they are the largest.
type search struct {
	*problem
	limit limit
	most  int    // how many victims there may be
	pool  []int  // of problem.ranked, the least harmful first
	light bool   // the pool is in the order of weight
	must  []bool // by problem.ranked: the ask is refused unless all of these go; nil if there are none

	goal  []int64 // the need; what all kinds of it come to; how many must go
	helds []int64 // what candidates hold of the goal, by problem.ranked

	floors bool // floors may be broken
	spends bool // budgets may be exceeded
	apart  bool // some candidates count for several budgets, so the order matters
	units  bool // some are units, all of which count for a budget as one
	stops  bool // more groups may stop than the limit allows
	many   bool // not all candidates may go, since they are too many

	tails []int64 // by place: the most that all before it can give, by kind
	tops  []int64 // by number and place: the most that so many before it hold; if the number is limited
	twins []int   // by place: an equal one before it, or -1
	rest  []int64 // by victims so far: what is missing, by kind
	path  []int   // the victims so far, as places of the pool
	allow []int64 // what is left of each budget

	steps, before, stop int64 // taken for this plan, for those before it, and allowed
	stopped             bool
	found               bool
	kept                []int // the victims found, of problem.ranked, in order
	weight              int64 // of these

	order []int // scratch, like the next ones
	caps  []int64
	sums  []int64
}

// stepsFew is how many steps all searches of a plan may take together among few candidates,
// which is some 30 ms. With more candidates the steps are configured.
const stepsFew = 1 << 19

// reset begins the searches for a plan.
func (s *search) reset(p *problem) {
	s.before += s.steps
	s.problem, s.steps, s.must = p, 0, nil
}

// stepsMax is how many steps all searches of a plan may take together. Each of them may
// take half of what is left, so that the next one finds something too.
func (s *search) stepsMax() int64 {
	switch {
	case len(s.ranked) <= ProvedMax:
		return stepsFew
	case s.cfg.StepsMax == 0:
		return DefaultConfig().StepsMax
	default:
		return s.cfg.StepsMax
	}
}

// find looks for at most so many victims of the pool that keep the limit. If it is stopped, it
// keeps what it found so far.
func (s *search) find(pool []int, within limit, most int) answer {
	s.pool, s.limit = append(s.pool[:0], pool...), within
	count := s.countOf(pool)
	s.most, s.many = min(most, count), most < count
	s.stopped, s.found, s.weight = false, false, math.MaxInt64
	s.setGoal()
	s.setBounds()
	s.fillTails()
	s.fillTops()
	s.run()
	switch {
	case s.found:
		return yes
	case s.stopped:
		return unknown
	default:
		return no
	}
}

// run searches. Mostly few steps are enough. Only then it is worth looking for twins.
func (s *search) run() {
	n := len(s.pool)
	most := s.steps + max((s.stepsMax()-s.steps)/2, 1)
	s.twins = slices.Grow(s.twins[:0], n)[:n]
	for at := range s.twins {
		s.twins[at] = -1
	}
	for _, s.stop = range [2]int64{min(s.steps+int64(4*n), most), most} {
		s.stopped = false
		s.begin()
		if s.descend(0, -1, n, usage{}); !s.stopped {
			return
		}
		s.fillTwins()
	}
}

// unit is the whole of a need where parts of different kinds are added up.
const unit = 1 << 16

// setGoal takes the need. Where the number of victims is limited, what they hold of all kinds
// together is a need too: few that hold much of one kind each are not enough. Parts are rounded
// up, so that nothing possible is ruled out.
func (s *search) setGoal() {
	together := len(s.need) > 1 && s.many
	s.goal = append(s.goal[:0], s.need...)
	if together {
		s.goal = append(s.goal, int64(len(s.need))*unit)
	}
	if s.must != nil {
		s.goal = append(s.goal, 0)
	}
	s.helds = s.helds[:0]
	for i := range s.ranked {
		held := s.ranked[i].held
		s.helds = append(s.helds, held...)
		if together {
			sum := int64(0)
			for k, v := range held {
				sum += parts(v, s.need[k], unit)
			}
			s.helds = append(s.helds, sum)
		}
		if s.must != nil {
			one := int64(0)
			if s.must[i] {
				one = 1
			}
			s.helds = append(s.helds, one)
			s.goal[len(s.goal)-1] += one
		}
	}
}

// holds is what a candidate holds of the goal.
func (s *search) holds(i int) []int64 { return s.helds[i*len(s.goal):][:len(s.goal)] }

// setBounds finds out what can rule out victims of the pool.
func (s *search) setBounds() {
	s.floors, s.spends, s.apart, s.units, s.stops = false, false, false, false, false
	if !s.bound {
		return
	}
	if s.limit.below < len(s.pool) {
		s.floors = s.breaking(s.pool) > 0
	}
	if len(s.node.Budgets) > 0 && s.limit.violations < len(s.pool) {
		s.order = append(s.order[:0], s.pool...)
		slices.Sort(s.order) // which may not be that of the pool, and the count depends on it
		s.spends = s.countViolations(s.order) > s.limit.violations
	}
	for _, i := range s.pool {
		e := &s.ranked[i]
		s.units = s.units || s.spends && e.With != nil
		s.apart = s.apart || s.units || s.spends && len(e.Budgets) > 1
	}
	s.stops = s.countStops(s.pool) > s.limit.stops
}

// begin begins with no victims.
func (s *search) begin() {
	d := len(s.goal)
	s.rest = slices.Grow(s.rest[:0], (s.most+1)*d)[:(s.most+1)*d]
	s.path = slices.Grow(s.path[:0], s.most)[:s.most]
	copy(s.rest, s.goal)
	s.fillFloors()
	s.fillBudgets()
	s.allow = append(s.allow[:0], s.allowed...)
	s.fillGone()
}

// usage is what the victims so far have used of the limits.
type usage struct {
	below, violations int
	count, stops      int // of allocations that end, and of groups that stop
	weight            int64
}

// descend tries the candidates before a place as the next victim, from one on that must go in
// any case, if it is not less than zero. It reports whether the search is over.
func (s *search) descend(taken, must, upper int, on usage) (over bool) {
	d := len(s.goal)
	rest := s.rest[taken*d:][:d]
	if isCovered(rest) {
		return s.consider(s.path[:taken], on)
	}
	left := s.most - on.count
	if left == 0 {
		return false
	}
	for at := s.firstReaching(left, max(must, 0), upper, rest); at < upper; at++ {
		if s.steps >= s.stop {
			s.stopped = true
			return true
		}
		s.steps++
		if s.light && on.weight+s.ranked[s.pool[at]].weight >= s.weight {
			return false
		}
		next := s.twins[at]
		if at != must {
			next = max(next, must)
		}
		if next >= 0 && left == 1 || s.ranked[s.pool[at]].count > left || !helpsWith(rest, s.holds(s.pool[at])) {
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
	d, e, held := len(s.goal), &s.ranked[s.pool[at]], s.holds(s.pool[at])
	c := e.Candidate
	for k, missing := range s.rest[taken*d : taken*d+d] {
		s.rest[taken*d+d+k] = max(missing-held[k], 0)
	}
	s.path[taken] = at
	on.weight, on.count = on.weight+e.weight, on.count+e.count
	if s.stops {
		defer s.stay(c)
		if s.end(c) {
			on.stops++
		}
		if on.stops > s.limit.stops {
			return false
		}
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
	for ; c != nil; c = c.With {
		for _, b := range c.Budgets {
			s.allow[b]--
			over = over || s.allow[b] < 0
			exceeds = exceeds || !s.units && s.allow[b] < -int64(s.limit.violations)
		}
	}
	if over && !s.apart {
		on.violations++
	}
	return exceeds || on.violations > s.limit.violations
}

func (s *search) give(c *Candidate) {
	for ; c != nil; c = c.With {
		for _, b := range c.Budgets {
			s.allow[b]++
		}
	}
}

// consider keeps victims, given as places of the pool, which reach the goal, if they are lawful. It
// reports whether the search is over.
func (s *search) consider(places []int, on usage) (over bool) {
	s.order = s.order[:0]
	for _, at := range places {
		s.order = append(s.order, s.pool[at])
	}
	slices.Sort(s.order)
	if s.apart && s.countViolations(s.order) > s.limit.violations {
		return false
	}
	s.kept, s.found, s.weight = append(s.kept[:0], s.order...), true, on.weight
	return !s.light
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
