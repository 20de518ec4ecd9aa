package preemptor

import (
	"cmp"
	"math"
	"slices"
)

// The search by price compares what candidates hold in parts of the need, rounded up. So
// everything that it rules out is truly impossible; what it accepts is added up exactly.
const (
	unit     = 1 << 16
	fraction = 1 << 16 // of a unit of weight

	multiplierMax = 1 << 30 // keeps sums within 64 bits
	tuneMax       = 40      // rounds
	stalledMax    = 6
)

// prices are what candidates cost: a factor times the weight, minus the value of what they
// hold of the need by multipliers. Victims that cover the need come to no less than
// the cheapest of their number, and the value of the need is added back. (A Lagrangian
// relaxation: Fisher, The Lagrangian relaxation method for solving integer programming
// problems, 1981.)
type prices struct {
	on     bool
	factor int64
	of     []int64 // by problem.ranked
	sums   []int64 // of the prices before each place
	most   int64   // that the prices of victims may come to
	worth  int64   // of the need

	parts                   []int64 // of the need, by problem.ranked and kind
	multipliers, best, lack []int64 // by kind
	picked                  []int   // the cheapest candidates, of problem.ranked
}

// least is the least that the next victims come to, if the most expensive of them is at a place.
func (p *prices) least(at, left int) int64 {
	return p.sums[at+1] - p.sums[at] + p.sums[min(left-1, at)]
}

// below is the most that prices may come to for victims of less than a weight.
func (p *prices) below(weight int64) int64 { return p.factor*(weight-1) - p.worth }

// setParts fills in the parts of the need, once for a plan.
func (s *search) setParts() {
	p, d := &s.priced, len(s.need)
	p.parts = slices.Grow(p.parts[:0], len(s.ranked)*d)[:len(s.ranked)*d]
	for i := range s.ranked {
		for k, held := range s.ranked[i].held {
			p.parts[i*d+k] = parts(held, s.need[k], unit)
		}
	}
	p.of = slices.Grow(p.of[:0], len(s.ranked))[:len(s.ranked)]
	p.multipliers = slices.Grow(p.multipliers[:0], d)[:d]
	p.lack = slices.Grow(p.lack[:0], d)[:d]
}

// decide looks for at most so many victims of the pool, whatever they weigh.
func (s *search) decide(pool []int, within limit, most int) answer {
	if s.most = most; most == 0 {
		return no
	}
	s.first, s.priced.on, s.priced.factor = true, true, 0
	s.begin(pool, within)
	if !s.reached(s.tails[len(pool)*len(s.goal):]) || !s.reached(s.largest()) {
		return no
	}
	for k := range s.priced.multipliers {
		s.priced.multipliers[k] = unit
	}
	return s.searchByPrice()
}

// improve looks for lighter victims of the same number. The lightest that are known are kept.
func (s *search) improve(pool []int, within limit, victims []int) answer {
	s.most, s.first, s.priced.on, s.priced.factor = len(victims), false, true, fraction
	s.begin(pool, within)
	s.kept, s.weight = append(s.kept[:0], victims...), s.weightOf(victims)
	clear(s.priced.multipliers)
	return s.searchByPrice()
}

// searchByPrice searches with the best multipliers, if those prove nothing.
func (s *search) searchByPrice() answer {
	p := &s.priced
	if a := s.tune(); a != unknown {
		return a
	}
	slices.SortFunc(s.pool, func(a, b int) int {
		return cmp.Or(cmp.Compare(p.of[a], p.of[b]), s.compareWorth(a, b), cmp.Compare(a, b))
	})
	p.sums = append(p.sums[:0], 0)
	for at, i := range s.pool {
		p.sums = append(p.sums, p.sums[at]+p.of[i])
	}
	p.most = s.target()
	s.fillTails()
	s.fillTops()
	return s.run()
}

// target is the most that prices may come to.
func (s *search) target() int64 {
	if s.first {
		return -s.priced.worth
	}
	return s.priced.below(s.weight)
}

// price computes the prices at the multipliers and picks the s.most cheapest candidates. It
// returns by how much these are below the target: if they are not, there are no victims.
func (s *search) price() (gap int64) {
	p, d := &s.priced, len(s.need)
	p.picked, p.worth = p.picked[:0], 0
	for _, m := range p.multipliers {
		p.worth += m * unit
	}
	for _, i := range s.pool {
		price := p.factor * s.ranked[i].weight
		for k, part := range p.parts[i*d : i*d+d] {
			price -= p.multipliers[k] * part
		}
		p.of[i] = price
		at := len(p.picked)
		if at == s.most {
			if price >= p.of[p.picked[at-1]] {
				continue
			}
			at--
		} else {
			p.picked = append(p.picked, i)
		}
		for ; at > 0 && p.of[p.picked[at-1]] > price; at-- {
			p.picked[at] = p.picked[at-1]
		}
		p.picked[at] = i
	}
	gap = s.target()
	for _, i := range p.picked {
		gap -= p.of[i]
	}
	return gap
}

// tune looks for the multipliers with the least gap. They may prove that there are no
// victims, or what is picked may be such victims.
func (s *search) tune() answer {
	p := &s.priced
	least, half, stalled := int64(math.MaxInt64), 0, 0
	for range tuneMax {
		gap := s.price()
		if gap < 0 {
			return no
		}
		if s.isPickLawful() {
			if s.keep(p.picked); s.first {
				return yes
			}
		}
		if gap < least {
			least, stalled = gap, 0
			p.best = append(p.best[:0], p.multipliers...)
		} else if stalled++; stalled == 2 {
			half, stalled = half+1, 0
		}
		if half == stalledMax {
			break
		}
		s.climb((gap + unit) >> half)
	}
	copy(p.multipliers, p.best)
	s.price()
	return unknown
}

// isPickLawful reports whether what is picked covers the need, keeps the limit, and is better
// than what is kept.
func (s *search) isPickLawful() bool {
	picked := s.priced.picked
	if !s.first && s.weightOf(picked) >= s.weight || !s.suffice(picked) {
		return false
	}
	if !s.floors && !s.spends {
		return true
	}
	s.victims = append(s.victims[:0], picked...)
	slices.Sort(s.victims)
	return s.within(s.limit, s.victims)
}

// climb moves the multipliers towards what the picked candidates lack, by a step that would
// close the gap if it were linear (Polyak's rule). If weights do not count, only the
// relations of multipliers do.
func (s *search) climb(gap int64) {
	const coarse = 64 // keeps the products within 64 bits
	p, d := &s.priced, len(s.need)
	norm, sum := int64(1), int64(0)
	for k := range p.lack {
		p.lack[k] = unit
		for _, i := range p.picked {
			p.lack[k] -= p.parts[i*d+k]
		}
		if p.lack[k] /= coarse; p.lack[k] > 0 || p.multipliers[k] > 0 {
			norm += p.lack[k] * p.lack[k]
		}
	}
	for k, lack := range p.lack {
		p.multipliers[k] = min(max(p.multipliers[k]+gap/coarse*lack/norm, 0), multiplierMax)
		sum += p.multipliers[k]
	}
	if p.factor > 0 {
		return
	}
	for k := range p.multipliers {
		if sum == 0 {
			p.multipliers[k] = unit
		} else {
			p.multipliers[k] = p.multipliers[k] * int64(d) * unit / sum
		}
	}
}
