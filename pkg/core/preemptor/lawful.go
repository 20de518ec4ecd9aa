package preemptor

import (
	"cmp"
	"slices"
)

// A lawful is the search for the optimal victims on a required node where
// guarantees or budgets bind: the fewest victims that break a guarantee, the lowest
// class, the fewest violations of budgets, the lowest priority, the fewest victims
// and the least weight. It lowers one field of the limit after the other, as far as
// victims are found within it.
//
// It goes depth first through the candidates in order, so that budgets are spent as
// countViolations spends them. A victim that breaks a guarantee is set aside: it
// does not use up what others may take.
type lawful struct {
	*plan
	most    int  // victims
	first   bool // any victims are looked for, otherwise lighter ones
	pool    []int
	groups  []int   // by plan.ranked; candidates of a group are interchangeable
	tops    []int64 // the most that r candidates from a place on hold: kinds for each place for each r
	rest    []int64 // what is missing, with r victims to come: kinds for each r
	tried   []int   // by r and group: the last call of descend in which one of the group was tried
	calls   int
	steps   int64
	until   int64 // steps at which this search is stopped
	path    []int // of plan.ranked, with r to come
	kept    []int
	found   bool
	weight  int64 // of kept
	opened  bool  // the steps did not suffice for a proof
	stopped bool  // they did not in this search
}

// The limits of steps: of one search, so that the others still find something when
// it is stopped, and of all searches of one plan, which take about 30 ms.
const (
	lawfulSteps    = 1 << 17
	lawfulStepsAll = 1 << 19
)

// lawful finds the optimum, and the limit that it keeps.
func (p *plan) lawful() (choice, limit) {
	p.weighAll()
	n, d := len(p.ranked), len(p.need)
	most := min(p.victimsMax(), n)
	s := lawful{
		plan: p, most: most, first: true, groups: make([]int, n), tops: make([]int64, (most+1)*(n+1)*d),
		rest: make([]int64, (most+1)*d), tried: make([]int, (most+1)*n), path: make([]int, most+1),
	}
	p.limit = p.highestLimit()
	if !s.find() && !(s.opened && s.findAny()) {
		return choice{failure: s.whyNone()}, p.limit
	}
	s.lowerLimit()
	counts := len(s.kept)
	s.lower(counts, func(at int) { s.most = at + 1 })
	proof := Proof{VictimsMin: 1}
	if !s.opened {
		proof.VictimsMin = len(s.kept)
	}
	if s.improve(); !s.opened {
		proof.Proved, proof.WeightMin = true, s.weight
	}
	proof.Steps = s.steps
	return choice{victims: slices.Clone(s.kept), proof: proof}, p.limit
}

// findAny is the search of minimal for victims within the highest limit, where
// guarantees do not count, and budgets only if they must not be exceeded.
func (s *lawful) findAny() bool {
	node := s.node
	s.node.Floors = nil
	if !s.budgeted() {
		s.node.Budgets = nil
	}
	s.kept = append(s.kept[:0], s.minimal().victims...)
	s.node = node
	return len(s.kept) > 0
}

// whyNone is why there are no victims: too many are needed unless a budget that
// must not be exceeded is in the way.
func (s *lawful) whyNone() Failure {
	if s.opened {
		return Failure{Why: TooLong, Most: s.steps}
	}
	if s.budgeted() {
		return Failure{Why: OverBudget}
	}
	return Failure{Why: TooMany, Victims: s.most + 1, Most: int64(s.victimsMax())}
}

// lowerLimit lowers one field of the limit after the other.
func (s *lawful) lowerLimit() {
	l := &s.limit
	priorities := s.priorities()
	lowerViolations := func() {
		if l.violations > 0 {
			s.lower(len(s.kept)+1, func(at int) { l.violations = at })
		}
	}
	s.lower(len(s.kept)+1, func(at int) { l.below = at })
	s.lower(Classes, func(at int) { l.class = Class(at) })
	if s.cfg.Budgets != StrictPriority {
		lowerViolations()
	}
	s.lower(len(priorities), func(at int) { l.priority = priorities[at] })
	if s.cfg.Budgets == StrictPriority {
		lowerViolations()
	}
}

// lower sets the least of n values with which victims are found. They are found
// with the last.
func (s *lawful) lower(n int, set func(at int)) {
	low, high := 0, n-1
	for low < high {
		middle := (low + high) / 2
		if set(middle); s.find() {
			high = middle
		} else {
			low = middle + 1
		}
	}
	set(high)
}

// find reports whether there are victims within the limit, and keeps some.
func (s *lawful) find() bool {
	if c := s.multiple(); len(c.victims) > 0 && len(c.victims) <= s.most {
		s.kept = append(s.kept[:0], c.victims...)
		return true
	}
	s.first, s.found = true, false
	s.run()
	return s.found
}

// improve looks for the lightest victims within the limit.
func (s *lawful) improve() {
	s.weight = 0
	for _, i := range s.kept {
		s.weight += s.ranked[i].weight
	}
	s.first = false
	s.run()
}

// run searches the pool within the limit.
func (s *lawful) run() {
	s.pool = s.pool[:0]
	for i := range s.ranked {
		if s.limit.allows(&s.ranked[i]) {
			s.pool = append(s.pool, i)
		}
	}
	s.group()
	s.sumTops()
	s.fillFloors()
	s.fillBudgets()
	copy(s.rest[s.most*len(s.need):], s.need)
	s.stopped, s.until = false, min(s.steps+lawfulSteps, lawfulStepsAll)
	s.descend(s.most, 0, usage{})
	s.opened = s.opened || s.stopped
}

// group gives interchangeable candidates equal numbers: those that hold and weigh
// the same and count for the same guarantees and budgets. Where a candidate counts
// for several budgets, the number of violations depends on the order, and no
// candidates are interchangeable unless there are no violations.
func (s *lawful) group() {
	ordered := false
	for _, i := range s.pool {
		ordered = ordered || len(s.ranked[i].Budgets) > 1 && s.limit.violations > 0
	}
	compare := func(a, b int) int {
		x, y := &s.ranked[a], &s.ranked[b]
		return cmp.Or(
			cmp.Compare(x.weight, y.weight), slices.Compare(x.held, y.held), s.compareAmounts(x, y),
			slices.Compare(x.Floors, y.Floors), slices.Compare(x.Budgets, y.Budgets),
		)
	}
	order := slices.Clone(s.pool)
	slices.SortFunc(order, compare)
	for at, i := range order {
		s.groups[i] = at
		if at > 0 && !ordered && compare(order[at-1], i) == 0 {
			s.groups[i] = s.groups[order[at-1]]
		}
	}
}

// sumTops fills in tops, from the last place to the first.
func (s *lawful) sumTops() {
	n, d := len(s.pool), len(s.need)
	largest := make([]int64, s.most)
	for k := range d {
		clear(largest)
		for at := n; at >= 0; at-- {
			if at < n && s.most > 0 {
				insert(largest, s.ranked[s.pool[at]].held[k])
			}
			sum := int64(0)
			for r := range s.most {
				sum = add(sum, largest[r])
				s.tops[((r+1)*(n+1)+at)*d+k] = sum
			}
		}
	}
}

// usage is what the victims on the path have used of the limit, and their weight.
type usage struct {
	below, violations int
	weight            int64
}

// descend tries the candidates from a place on, one after the other, as the next of
// r victims to come.
func (s *lawful) descend(r, from int, on usage) {
	rest := s.rest[r*len(s.need):][:len(s.need)]
	if slices.Max(rest) <= 0 {
		s.keep(r, on.weight)
		return
	}
	if r == 0 {
		return
	}
	s.calls++
	call := s.calls
	for at := from; at < len(s.pool) && s.reaches(r, at, rest); at++ {
		if s.steps == s.until {
			s.stopped = true
			return
		}
		s.steps++
		i := s.pool[at]
		tried := &s.tried[r*len(s.ranked)+s.groups[i]]
		weight := on.weight + s.ranked[i].weight
		if *tried == call || !s.helpsWith(rest, i) || !s.first && weight >= s.weight {
			continue
		}
		*tried = call
		s.add(r, at, usage{on.below, on.violations, weight})
		if s.first && s.found {
			return
		}
	}
}

// add makes a candidate the next victim: as one that keeps the guarantees, and as one
// that is set aside.
func (s *lawful) add(r, at int, on usage) {
	i, d := s.pool[at], len(s.need)
	c := s.ranked[i].Candidate
	if len(s.node.Budgets) > 0 {
		if s.spend(c) {
			on.violations++
		}
		defer s.unspend(c)
	}
	if on.violations > s.limit.violations {
		return
	}
	s.path[r] = i
	for k, missing := range s.rest[r*d : r*d+d] {
		s.rest[r*d-d+k] = max(missing-s.ranked[i].held[k], 0)
	}
	if s.keepsFloors(c) {
		s.charge(c, 1)
		s.descend(r-1, at+1, on)
		s.charge(c, -1)
	}
	if on.below < s.limit.below && s.floors(c) && (!s.first || !s.found) {
		on.below++
		s.descend(r-1, at+1, on)
	}
}

// floors reports whether any guarantee protects a candidate.
func (s *lawful) floors(c *Candidate) bool { return len(s.node.Floors) > 0 && len(c.Floors) > 0 }

// reaches reports whether r candidates from a place on can hold what is missing.
func (s *lawful) reaches(r, at int, rest []int64) bool {
	tops := s.tops[(r*(len(s.pool)+1)+at)*len(s.need):]
	for k, missing := range rest {
		if missing > tops[k] {
			return false
		}
	}
	return true
}

// keep keeps the path of a search, if it is better.
func (s *lawful) keep(r int, weight int64) {
	if !s.first && weight >= s.weight {
		return
	}
	s.found, s.weight = true, weight
	s.kept = append(s.kept[:0], s.path[r+1:s.most+1]...)
	slices.Sort(s.kept)
}
