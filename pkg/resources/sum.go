package resources

import (
	"math"
	"math/bits"
)

// A Sum is a sum of amounts in 128 bits: exact, however many and however large they
// are, so that taking one away gives back what was there before. Its Amounts are the
// sum as int64 holds it, saturated; they are for reading only, and are changed by Add
// and Sub alone. The zero value is a sum of nothing.
//
//	exact is nil, or has every kind, and at least one is beyond int64
//	Amounts = exact, saturated, if it is not nil
type Sum struct {
	Amounts
	exact *[]wide // a pointer, since sums are many and those beyond int64 are few
}

// A wide is a number of 128 bits in two's complement.
type wide struct {
	high int64
	low  uint64
}

func widen(v int64) wide { return wide{v >> 63, uint64(v)} }

func (w wide) plus(v wide) wide {
	low, carry := bits.Add64(w.low, v.low, 0)
	return wide{w.high + v.high + int64(carry), low}
}

func (w wide) minus(v wide) wide {
	low, borrow := bits.Sub64(w.low, v.low, 0)
	return wide{w.high - v.high - int64(borrow), low}
}

// saturated is the nearest number that an int64 holds, and whether it is the same one.
func (w wide) saturated() (v int64, same bool) {
	switch {
	case w.high == int64(w.low)>>63:
		return int64(w.low), true
	case w.high < 0:
		return math.MinInt64, false
	default:
		return math.MaxInt64, false
	}
}

// Add adds amounts in place.
func (s *Sum) Add(b Amounts) {
	if s.exact == nil && !s.overflows(b) {
		s.extend(len(b))
		for i, v := range b {
			s.Amounts[i] += v
		}
		return
	}
	s.change(len(b), func(kind Kind, sum wide) wide { return sum.plus(widen(b.Of(kind))) })
}

// Sub takes amounts away in place.
func (s *Sum) Sub(b Amounts) {
	if s.exact == nil && !s.underflows(b) {
		s.extend(len(b))
		for i, v := range b {
			s.Amounts[i] -= v
		}
		return
	}
	s.change(len(b), func(kind Kind, sum wide) wide { return sum.minus(widen(b.Of(kind))) })
}

// AddSum adds another sum in place.
func (s *Sum) AddSum(b Sum) {
	if b.exact == nil {
		s.Add(b.Amounts)
		return
	}
	s.change(len(b.Amounts), func(kind Kind, sum wide) wide { return sum.plus(b.of(kind)) })
}

// Same reports whether two sums are the same in all kinds, beyond int64 too.
func (s *Sum) Same(b Sum) bool {
	if s.exact == nil && b.exact == nil {
		return s.Equal(b.Amounts)
	}
	for i := range max(len(s.Amounts), len(b.Amounts)) {
		if s.of(Kind(i)) != b.of(Kind(i)) {
			return false
		}
	}
	return true
}

func (s *Sum) of(kind Kind) wide {
	if s.exact == nil || int(kind) >= len(*s.exact) {
		return widen(s.Of(kind))
	}
	return (*s.exact)[kind]
}

// overflows reports whether Add would saturate, and underflows whether Sub would.
func (s *Sum) overflows(b Amounts) bool {
	var signs int64
	for i, v := range b {
		before := s.Of(Kind(i))
		sum := before + v
		signs |= (before ^ sum) & (v ^ sum)
	}
	return signs < 0
}

func (s *Sum) underflows(b Amounts) bool {
	var signs int64
	for i, v := range b {
		before := s.Of(Kind(i))
		difference := before - v
		signs |= (before ^ v) & (before ^ difference)
	}
	return signs < 0
}

// change sets at least a number of kinds to what is made of them.
func (s *Sum) change(width int, next func(Kind, wide) wide) {
	s.extend(width)
	exact, fits := make([]wide, len(s.Amounts)), true
	for i := range exact {
		exact[i] = next(Kind(i), s.of(Kind(i)))
		v, same := exact[i].saturated()
		s.Amounts[i], fits = v, fits && same
	}
	s.exact = &exact
	if fits {
		s.exact = nil
	}
}
