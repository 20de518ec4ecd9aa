package preemptor

import (
	"cmp"
	"math/bits"
	"slices"
)

// answer is the known answer to a question.
type answer uint8

const (
	unknown answer = iota
	no
	yes
)

// A search looks for a given number of candidates of a pool that cover the need:
// any (decide), or the lightest (improve). It goes depth first through the
// candidates by price, see bound.go. Later candidates have higher prices, so the
// sums of prices give a lower bound for a branch, and when it is above the limit,
// the rest of the candidates is skipped too. Equal candidates are adjacent, and
// when the first is left out, the others are left out too.
//
// The inner loops know a candidate by the parts of the need that it holds. The
// last victim is not searched for. For each kind there are sets of the candidates
// that hold at least a certain part of it; the intersection of these sets holds
// the candidates for the last victim.
type search struct {
	plan  *plan
	kinds int   // of the need
	count int   // of candidates to find
	most  int64 // steps allowed
	steps int64 // steps taken; those of bounds do not count

	pool    []int   // indices of plan.ranked
	all     []int64 // parts of the need, by plan.ranked: kinds for each
	groups  []int   // by plan.ranked; equal candidates have equal numbers
	parts   []int64 // by place in the pool: kinds for each
	weights []int64 // by place in the pool
	prices  []int64 // by place in the pool
	picked  []int   // places of the lowest prices

	multipliers, best, lack []int64 // per kind

	byPrice []int    // places in the pool, by price
	costs   []int64  // prices, in the order of byPrice
	sums    []int64  // of the prices before each place of byPrice
	sizes   []int64  // parts, in the order of byPrice
	same    []bool   // equal to the one before
	tops    []int64  // the most that r candidates from a place on can hold: kinds for each place for each r
	holders []uint64 // sets of those that hold at least a level of a kind: words for each level for each kind
	words   int

	rest  []int64 // what is missing, with r victims to come: kinds for each r
	path  []int   // place in byPrice of the victim chosen with r to come
	limit int64   // of the sum of prices
	first bool    // stop at the first solution

	floored    bool    // floors may be broken; plan.left is what the path leaves of them
	violations int     // how many victims may violate a budget; anyViolations if budgets do not matter
	allowances []int64 // by budget: what the path leaves of it and of the violations
	every      []int   // scratch: all candidates
	victims    []int   // scratch

	kept       []int // indices of plan.ranked
	keptWeight int64
}

// levels is the number of levels of holders, a power of two.
const levels = 64

// newSearch allocates the memory for searches among all of the plan's candidates.
func newSearch(p *plan) *search {
	n, d, most := len(p.ranked), len(p.need), min(p.victimsMax(), len(p.ranked))
	numbers := make([]int64, n*(3*d+4)+1+(most+5)*d)
	places := make([]int, 5*n+3*most+1)
	s := &search{
		plan: p, kinds: d, words: (n + 63) / 64, same: make([]bool, n),
		all: takeFirst(&numbers, n*d), parts: takeFirst(&numbers, n*d), sizes: takeFirst(&numbers, n*d),
		weights: takeFirst(&numbers, n), prices: takeFirst(&numbers, n), costs: takeFirst(&numbers, n), sums: takeFirst(&numbers, n+1),
		multipliers: takeFirst(&numbers, d), best: takeFirst(&numbers, d), lack: takeFirst(&numbers, d),
		rest: takeFirst(&numbers, (most+1)*d),
		pool: takeFirst(&places, n), groups: takeFirst(&places, n), byPrice: takeFirst(&places, n),
		picked: takeFirst(&places, most), every: takeFirst(&places, n), path: takeFirst(&places, most+1), kept: takeFirst(&places, most),
		holders: make([]uint64, d*(levels+1)*((n+63)/64)),
		floored: p.floored(),
	}
	s.most = s.stepsMax()
	for i := range p.ranked {
		for k, held := range p.ranked[i].held {
			s.all[i*d+k] = parts(held, p.need[k], unit)
		}
	}
	return s
}

// stepsProved is the limit of steps among few candidates. It only bounds the time
// of a partition; it takes half a second to reach.
const stepsProved = 1 << 26

// stepsPerExact is how many steps take as long as one of an exact search.
const stepsPerExact = 32

// stepsTried is the limit if there is another strategy to fall back on.
const stepsTried = 1 << 19

func (s *search) stepsMax() int64 {
	few := len(s.plan.ranked) <= ProvedMax
	switch {
	case few && s.plan.rules.configured:
		return stepsProved
	case few:
		return stepsTried
	case s.plan.cfg.StepsMax == 0:
		return DefaultConfig().StepsMax
	default:
		return s.plan.cfg.StepsMax
	}
}

// takeFirst takes the first n elements off a slab.
func takeFirst[T any](slab *[]T, n int) []T {
	piece := (*slab)[:n:n]
	*slab = (*slab)[n:]
	return piece
}

// group gives equal candidates equal numbers; order is scratch. If floors may be
// broken, candidates are equal only if they count for the same floors with the
// same amounts, and if budgets may be, for the same budgets. Which of equals violate
// a budget can depend on the others, so if some may, no candidates are equal.
func (s *search) group(order []int) {
	ranked := s.plan.ranked
	compare := func(a, b int) int {
		c := cmp.Or(cmp.Compare(ranked[a].weight, ranked[b].weight), slices.Compare(ranked[a].held, ranked[b].held))
		if c == 0 && s.floored {
			c = cmp.Or(slices.Compare(ranked[a].Floors, ranked[b].Floors), s.plan.compareAmounts(&ranked[a], &ranked[b]))
		}
		if c == 0 && s.violations >= 0 {
			c = slices.Compare(ranked[a].Budgets, ranked[b].Budgets)
		}
		if c == 0 && s.violations > 0 {
			c = cmp.Compare(a, b)
		}
		return c
	}
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, compare)
	for at, i := range order {
		switch {
		case at == 0:
			s.groups[i] = 0
		case compare(order[at-1], i) == 0:
			s.groups[i] = s.groups[order[at-1]]
		default:
			s.groups[i] = s.groups[order[at-1]] + 1
		}
	}
}

// among sets the pool to the candidates up to this class and priority.
func (s *search) among(worst Class, priority int32) {
	s.pool = s.pool[:0]
	d := s.kinds
	for i := range s.plan.ranked {
		e := &s.plan.ranked[i]
		if e.class > worst || e.Priority > priority {
			continue
		}
		at := len(s.pool)
		s.pool = append(s.pool, i)
		s.weights[at] = e.weight
		copy(s.parts[at*d:at*d+d], s.all[i*d:i*d+d])
	}
}

// decide says whether count candidates of the pool, which is not empty, cover the
// need, and keeps them if so. If count is larger than the pool, it tries all.
func (s *search) decide(count int) answer {
	s.count = min(count, len(s.pool))
	if a := s.refute(); a != unknown {
		return a
	}
	s.first, s.limit = true, -s.worth()
	s.kept = s.kept[:0]
	s.run()
	switch {
	case len(s.kept) > 0:
		return yes
	case s.steps > s.most:
		return unknown
	default:
		return no
	}
}

// improve replaces the kept candidates by the lightest count candidates of the
// pool that cover the need. It returns a lower bound of their weight.
func (s *search) improve(count int) (weightMin int64) {
	s.count = count
	s.keptWeight = 0
	for _, i := range s.kept {
		s.keptWeight += s.plan.ranked[i].weight
	}
	if weightMin = s.raiseBound(); weightMin < s.keptWeight {
		s.first, s.limit = false, fraction*(s.keptWeight-1)-s.worth()
		s.run()
		if s.steps > s.most {
			return min(weightMin, s.keptWeight)
		}
	}
	return s.keptWeight
}

// run sorts the pool by price, and searches.
func (s *search) run() {
	s.sortByPrice()
	s.sumTops()
	s.fillHolders()
	for k := range s.kinds {
		s.rest[s.count*s.kinds+k] = unit
	}
	s.descend(s.count, 0, 0)
}

func (s *search) sortByPrice() {
	d := s.kinds
	s.byPrice = s.byPrice[:len(s.pool)]
	for at := range s.byPrice {
		s.byPrice[at] = at
	}
	slices.SortFunc(s.byPrice, func(a, b int) int {
		return cmp.Or(
			cmp.Compare(s.prices[a], s.prices[b]),
			cmp.Compare(s.groups[s.pool[a]], s.groups[s.pool[b]]),
			cmp.Compare(a, b), // the less important of equals
		)
	})
	for at, place := range s.byPrice {
		s.costs[at] = s.prices[place]
		s.sums[at+1] = s.sums[at] + s.prices[place]
		copy(s.sizes[at*d:at*d+d], s.parts[place*d:place*d+d])
		s.same[at] = at > 0 && s.groups[s.pool[place]] == s.groups[s.pool[s.byPrice[at-1]]]
	}
}

// sumTops fills in tops, from the last place to the first, with the sums of the
// largest parts of each kind seen so far.
func (s *search) sumTops() {
	n, d := len(s.byPrice), s.kinds
	if size := (s.count + 1) * (n + 1) * d; cap(s.tops) < size {
		s.tops = make([]int64, size)
	} else {
		s.tops = s.tops[:size]
	}
	for k := range d {
		largest := s.prices[:s.count] // scratch: the prices are in costs by now
		clear(largest)
		for at := n; at >= 0; at-- {
			if at < n {
				insert(largest, s.sizes[at*d+k])
			}
			var sum int64
			for r := 1; r <= s.count; r++ {
				sum += largest[r-1]
				s.tops[(r*(n+1)+at)*d+k] = sum
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

func (s *search) fillHolders() {
	clear(s.holders)
	for at := range s.byPrice {
		for k := range s.kinds {
			level := int(s.sizes[at*s.kinds+k] * levels / unit)
			s.holders[(k*(levels+1)+level)*s.words+at/64] |= 1 << (at % 64)
		}
	}
	for k := range s.kinds {
		for level := levels - 1; level >= 0; level-- {
			to := (k*(levels+1) + level) * s.words
			for w := range s.words {
				s.holders[to+w] |= s.holders[to+s.words+w]
			}
		}
	}
}

// descend tries the candidates from a place on, one after the other, as the next
// of r victims to come; sum is the sum of the prices of those chosen so far.
func (s *search) descend(r, from int, sum int64) {
	if r == 1 {
		s.chooseLast(from, sum)
		return
	}
	n, d := len(s.byPrice), s.kinds
	rest, next := s.rest[r*d:r*d+d], s.rest[r*d-d:r*d]
	for at := from; at+r <= n; at++ {
		if at > from && s.same[at] {
			continue
		}
		s.steps++
		if s.steps > s.most || sum+s.sums[at+r]-s.sums[at] > s.limit {
			return
		}
		tops := s.tops[(r*(n+1)+at)*d:][:d]
		for k, missing := range rest {
			if missing > tops[k] {
				return
			}
		}
		sizes := s.sizes[at*d : at*d+d]
		for k, missing := range rest {
			next[k] = max(missing-sizes[k], 0)
		}
		s.path[r] = at
		if !s.bound() {
			s.descend(r-1, at+1, sum+s.costs[at])
			continue
		}
		if c := s.plan.ranked[s.pool[s.byPrice[at]]].Candidate; s.take(c) {
			s.descend(r-1, at+1, sum+s.costs[at])
			s.giveBack(c)
		}
	}
}

// chooseLast looks for the last victim.
func (s *search) chooseLast(from int, sum int64) {
	d := s.kinds
	for w := from / 64; w < s.words; w++ {
		s.steps++
		able := ^uint64(0)
		if w == from/64 {
			able <<= from % 64
		}
		for k, missing := range s.rest[d : 2*d] {
			able &= s.holders[(k*(levels+1)+int(missing*levels/unit))*s.words+w]
		}
		for ; able != 0; able &= able - 1 {
			s.steps++
			at := w*64 + bits.TrailingZeros64(able)
			if sum+s.costs[at] > s.limit {
				return
			}
			s.path[1] = at
			s.consider()
		}
	}
}
