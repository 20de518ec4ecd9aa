package preemptor

import "math"

// The search compares what candidates hold in parts of the need, rounded up. So
// everything that it rules out by these parts is truly impossible; what it
// accepts is added up exactly. Prices are kept in fractions of a unit of weight.
const (
	unit     = 1 << 16
	fraction = 1 << 16

	multiplierMax = 1 << 30 // keeps sums within 64 bits
)

// The limits of the rounds in which multipliers are improved.
const (
	roundsToDecide = 30
	roundsToWeigh  = 40
	stalledMax     = 6
)

// price computes, for each candidate of the pool, factor times its weight minus
// the value of its share of the need at the multipliers, and picks the s.count
// candidates of the lowest prices. It returns a lower bound for any s.count
// candidates that cover the need: the sum of the lowest prices plus the value of
// the need. (A Lagrangian relaxation: Fisher, The Lagrangian relaxation method
// for solving integer programming problems, 1981.)
func (s *search) price(factor int64) int64 {
	picked := 0
	d := s.kinds
	for i := range s.pool {
		price := factor * s.weights[i]
		for k, part := range s.parts[i*d : i*d+d] {
			price -= s.multipliers[k] * part
		}
		s.prices[i] = price
		if picked == s.count {
			if price >= s.prices[s.picked[picked-1]] {
				continue
			}
			picked--
		}
		at := picked
		for ; at > 0 && s.prices[s.picked[at-1]] > price; at-- {
			s.picked[at] = s.picked[at-1]
		}
		s.picked[at] = i
		picked++
	}
	bound := s.worth()
	for _, i := range s.picked[:s.count] {
		bound += s.prices[i]
	}
	return bound
}

// worth is the value of the whole need at the multipliers.
func (s *search) worth() int64 {
	var worth int64
	for _, m := range s.multipliers {
		worth += m * unit
	}
	return worth
}

// lacking fills in what the picked candidates lack of the need, per kind. It is
// negative where they hold more than enough.
func (s *search) lacking() {
	d := s.kinds
	for k := range s.lack {
		s.lack[k] = unit
	}
	for _, i := range s.picked[:s.count] {
		for k, part := range s.parts[i*d : i*d+d] {
			s.lack[k] -= part
		}
	}
}

// refute looks for multipliers which prove that no s.count candidates can cover
// the need, whatever they weigh. It proves that, or finds candidates that cover
// the need and keeps them, or leaves the best multipliers for a search.
func (s *search) refute() answer {
	for k := range s.multipliers { // each kind by itself
		clear(s.multipliers)
		s.multipliers[k] = unit
		if a := s.judge(s.price(0)); a != unknown {
			return a
		}
	}
	for k := range s.multipliers {
		s.multipliers[k] = unit
	}
	best, step, stalled := int64(math.MinInt64), int64(unit), 0
	for range roundsToDecide {
		bound := s.price(0)
		if a := s.judge(bound); a != unknown {
			return a
		}
		// Multipliers may be scaled at will, so bounds compare per multiplier.
		if bound = bound * 16 / s.scale(); bound > best {
			best, stalled = bound, 0
			copy(s.best, s.multipliers)
		} else {
			step = step * 2 / 3
			if stalled++; stalled == stalledMax {
				break
			}
		}
		s.lacking()
		for k := range s.multipliers {
			s.multipliers[k] = max(s.multipliers[k]+step*s.lack[k]/unit, 0)
		}
		if s.scale() == 1 {
			copy(s.multipliers, s.best)
			step /= 2
		}
	}
	copy(s.multipliers, s.best)
	s.price(0)
	return unknown
}

func (s *search) scale() int64 {
	scale := int64(1)
	for _, m := range s.multipliers {
		scale += m
	}
	return scale
}

// judge says what a bound, and the candidates picked for it, prove when weights
// are ignored.
func (s *search) judge(bound int64) answer {
	switch {
	case bound > 0:
		return no
	case s.valid(s.picked[:s.count]):
		s.keep(s.picked[:s.count])
		return yes
	default:
		return unknown
	}
}

// raiseBound looks for multipliers which show how little s.count candidates that
// cover the need can weigh, and keeps lighter candidates that it finds. It
// returns the least weight. If that is below the weight of the kept ones, the
// multipliers are left for a search.
func (s *search) raiseBound() int64 {
	clear(s.multipliers)
	best, half, stalled := int64(math.MinInt64), 0, 0
	for range roundsToWeigh {
		bound := s.price(fraction)
		if bound > best {
			best, stalled = bound, 0
			copy(s.best, s.multipliers)
		} else if stalled++; stalled == 2 {
			half, stalled = half+1, 0
		}
		if s.weigh(s.picked[:s.count]) < s.keptWeight && s.valid(s.picked[:s.count]) {
			s.keep(s.picked[:s.count])
		}
		if best > fraction*(s.keptWeight-1) || half == stalledMax {
			break
		}
		s.climb((fraction*s.keptWeight - bound) >> half)
	}
	copy(s.multipliers, s.best)
	return (s.price(fraction) + fraction - 1) / fraction
}

// climb moves the multipliers towards what the picked candidates lack, by a step
// that would close the gap if the bound were linear (Polyak's rule).
func (s *search) climb(gap int64) {
	const coarse = 64 // keeps the products within 64 bits
	s.lacking()
	norm := int64(1)
	for k, lack := range s.lack {
		if lack /= coarse; lack > 0 || s.multipliers[k] > 0 {
			norm += lack * lack
		}
	}
	for k, lack := range s.lack {
		s.multipliers[k] = min(max(s.multipliers[k]+gap/coarse*(lack/coarse)/norm, 0), multiplierMax)
	}
}
