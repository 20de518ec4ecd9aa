package preemptor

import (
	"cmp"
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
// victims, by the most harmful of each, and of those by the next. By importance the
// first victims that it finds are the answer: no others spare a more important
// candidate. By price (price.go) it goes on to the lightest of a number of victims.
//
// A branch is cut off where all before a place hold too little, as far as guarantees
// and budgets let them go, or those that may come yet do if they are the largest.
type search struct {
	*problem
	limit  limit
	most   int   // how many victims there may be
	pool   []int // of problem.ranked, the least harmful first
	first  bool  // the first victims found are the answer, otherwise the lightest are
	priced prices

	goal    []int64 // the need, and one of each clause
	helds   []int64 // what candidates hold of the goal, by problem.ranked
	clauses []bool  // by clause and problem.ranked: one of these must go

	floors bool // floors may be broken
	spends bool // budgets may be exceeded
	apart  bool // some candidates count for several budgets, so the order matters

	tails []int64 // by place: the most that all before it can give, by kind
	tops  []int64 // by number and place: the most that so many before it hold; if the number is limited
	twins []int   // by place: an equal one before it, or -1
	rest  []int64 // by victims so far: what is missing, by kind
	path  []int   // the victims so far, as places of the pool
	allow []int64 // what is left of each budget

	steps, before, stop int64 // taken for this plan, for those before it, and allowed
	stopped             bool
	kept                []int // the victims found, of problem.ranked, in order
	weight              int64 // of these
	found               bool

	victims []int // scratch, like the next ones
	order   []int
	caps    []int64
	sums    []int64
}

// The limits of a plan: steps of all searches together among few candidates, which take
// some 30 ms, and clauses. With more candidates the steps are configured.
const (
	stepsFew   = 1 << 19
	clausesMax = 64
)

// reset begins the searches for a plan.
func (s *search) reset(p *problem) {
	s.before += s.steps
	s.problem, s.steps, s.clauses = p, 0, s.clauses[:0]
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

// spare looks for the victims of the least importance, among candidates which are in
// order. What the resource manager refuses, it refuses with fewer victims too. So from a refusal
// follows a clause, and with it the search begins again.
func (s *search) spare(pool []int, within limit, fits func([]string) error) answer {
	for range clausesMax {
		s.most, s.first, s.priced.on = len(pool), true, false
		s.begin(pool, within)
		a := s.run()
		if a != yes || fits == nil || fits(s.keysOf(s.kept)) == nil {
			return a
		}
		if !s.learn(fits) {
			return no
		}
	}
	return unknown
}

// learn notes a clause: some candidates of which the resource manager wants one to end. They are
// those that stay if as many others as possible go, the most important first, besides the victims. It is
// false if there are none.
func (s *search) learn(fits func([]string) error) bool {
	stays := make([]bool, len(s.ranked))
	gone := slices.Clone(s.kept)
	order := slices.DeleteFunc(slices.Clone(s.ranks()), func(i int) bool { return slices.Contains(gone, i) })
	slices.Reverse(order)
	found := false
	for len(order) > 0 {
		// The first low of them can go, the first high cannot.
		low, high := 0, len(order)+1
		for step := len(order); high-low > 1; step = (high - low) / 2 {
			if fits(s.keysOf(slices.Sorted(slices.Values(append(gone, order[:low+step]...))))) != nil {
				low += step
			} else {
				high = low + step
			}
		}
		gone = append(gone, order[:low]...)
		if low < len(order) {
			stays[order[low]], found = true, true
		}
		order = order[min(low+1, len(order)):]
	}
	s.clauses = append(s.clauses, stays...)
	return found
}

// spareAsking does the same where nothing but the need and the resource manager has to agree,
// and it has too many conditions for clauses. It asks about each candidate that can stay.
func (s *search) spareAsking(pool []int, fits func([]string) error) answer {
	s.kept = append(s.kept[:0], pool...)
	if fits(s.keysOf(s.kept)) != nil {
		return no
	}
	for _, i := range slices.Backward(pool) {
		others := slices.DeleteFunc(slices.Clone(s.kept), func(other int) bool { return other == i })
		if s.suffice(others) && fits(s.keysOf(others)) == nil {
			s.kept = others
		}
	}
	slices.Sort(s.kept)
	return yes
}

// begin takes the pool and the limit.
func (s *search) begin(pool []int, within limit) {
	s.pool, s.limit = append(s.pool[:0], pool...), within
	s.setGoal()
	s.setBounds()
	s.fillTails()
	s.tops = s.tops[:0]
	s.found, s.stopped = false, false
}

// setGoal takes the need and the clauses.
func (s *search) setGoal() {
	n := len(s.ranked)
	s.goal = append(s.goal[:0], s.need...)
	for range len(s.clauses) / max(n, 1) {
		s.goal = append(s.goal, 1)
	}
	s.helds = s.helds[:0]
	for i := range s.ranked {
		s.helds = append(s.helds, s.ranked[i].held...)
		for at := i; at < len(s.clauses); at += n {
			held := int64(0)
			if s.clauses[at] {
				held = 1
			}
			s.helds = append(s.helds, held)
		}
	}
}

// holds is what a candidate holds of the goal.
func (s *search) holds(i int) []int64 { return s.helds[i*len(s.goal):][:len(s.goal)] }

// setBounds finds out what can rule out victims of the pool.
func (s *search) setBounds() {
	s.floors, s.spends, s.apart = false, false, false
	if s.limit.below < len(s.pool) {
		s.floors = s.breaking(s.pool) > 0
	}
	if len(s.node.Budgets) > 0 && s.limit.violations < len(s.pool) {
		s.spends = s.countViolations(s.pool) > s.limit.violations
	}
	for _, i := range s.pool {
		s.apart = s.apart || s.spends && len(s.ranked[i].Budgets) > 1
	}
}

// run searches the pool. If the search is stopped, the first victims are those that a greedy
// choice finds.
//
// Mostly few steps are enough. Only then it is worth looking for twins.
func (s *search) run() answer {
	n := len(s.pool)
	most := s.steps + max((s.stepsMax()-s.steps)/2, 1)
	s.twins = slices.Grow(s.twins[:0], n)[:n]
	for at := range s.twins {
		s.twins[at] = -1
	}
	for _, s.stop = range [2]int64{min(s.steps+int64(4*n), most), most} {
		s.stopped = false
		s.start()
		if s.descend(0, -1, n, usage{}); !s.stopped {
			break
		}
		s.fillTwins()
	}
	switch {
	case s.found && (s.first || !s.stopped):
		return yes
	case !s.stopped:
		return no
	case s.first && s.grab():
		return yes
	default:
		return unknown
	}
}

// start begins with no victims.
func (s *search) start() {
	d := len(s.goal)
	s.rest = slices.Grow(s.rest[:0], (s.most+1)*d)[:(s.most+1)*d]
	s.path = slices.Grow(s.path[:0], s.most)[:s.most]
	copy(s.rest, s.goal)
	s.fillFloors()
	s.fillBudgets()
	s.allow = append(s.allow[:0], s.allowed...)
}

// fillTwins finds for each place the one before it of a candidate that holds and weighs the same and
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
		cmp.Compare(x.weight, y.weight), slices.Compare(s.holds(a), s.holds(b)), s.compareAmounts(x, y),
		slices.Compare(x.Floors, y.Floors), slices.Compare(x.Budgets, y.Budgets),
	)
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
		s.capTails(s.limit.below, func(c *Candidate) []int32 { return c.Floors })
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

// largest is what the s.most largest of the pool hold of each kind.
func (s *search) largest() []int64 {
	d := len(s.goal)
	s.sums = slices.Grow(s.sums[:0], d+s.most)[:d+s.most]
	sums, falling := s.sums[:d], s.sums[d:]
	clear(sums)
	for k := range d {
		clear(falling)
		for _, i := range s.pool {
			insert(falling, s.holds(i)[k])
		}
		for _, held := range falling {
			sums[k] = add(sums[k], held)
		}
	}
	return sums
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
