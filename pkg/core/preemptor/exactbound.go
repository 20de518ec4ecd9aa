package preemptor

import (
	"math"
	"slices"
)

// relaxed are conditions that every solution keeps, each a sum of all rows by
// multipliers. A candidate is worth what it adds to the cover rows minus what it
// uses up of the others; the victims together must be worth the target. If all
// groups of a positive worth come to less, there are no victims. (A Lagrangian
// relaxation, like that of bound.go.)
type relaxed struct {
	relaxations int
	worth       []int64 // by relaxation and group
	target      []int64 // by relaxation
	size, use   []int64 // by group: the largest part of a cover row, and of any other
	refuted     bool    // one of them is broken by all groups together

	shares      []int64 // by group and row: parts of the bound
	factors     []int64 // multipliers, by row
	bestFactors []int64
	slope       []int64 // by row: what the groups of a positive worth hold, in parts
	values      []int64 // scratch, by group
}

// Parts of a bound are rounded so that what is ruled out is impossible: up in cover
// rows and down in others.
const (
	wholeRow    = 1 << 20
	factorsMax  = 1 << 13
	roundsRelax = 24
)

// relax sets up a relaxation for each cover row alone, and one for all of them.
func (x *exact) relax() {
	x.setShares()
	g := len(x.groups)
	n := (x.covers + 1) * g
	x.worth = slices.Grow(x.worth[:0], n)[:n]
	x.target = slices.Grow(x.target[:0], x.covers+1)[:x.covers+1]
	x.refuted, x.relaxations = false, 0
	first := 0
	if x.covers == 1 {
		first = 1 // both are the same
	}
	for row := first; row <= x.covers && !x.refuted; row++ {
		x.climbFrom(row)
		x.target[x.relaxations] = x.evaluate(x.bestFactors)
		copy(x.worth[x.relaxations*g:], x.values)
		x.relaxations++
	}
}

func (x *exact) setShares() {
	w, g := len(x.bounds), len(x.groups)
	x.shares = slices.Grow(x.shares[:0], g*w)[:g*w]
	x.size = slices.Grow(x.size[:0], g)[:g]
	x.use = slices.Grow(x.use[:0], g)[:g]
	for i := range x.groups {
		x.size[i], x.use[i] = 0, 0
		for row, v := range x.columnOf(&x.groups[i]) {
			share := int64(0)
			switch bound := x.bounds[row]; {
			case bound == 0:
			case row < x.covers:
				share = parts(v, bound, wholeRow)
				x.size[i] = max(x.size[i], share)
			case v > 0 && bound >= v:
				share = wholeRow - parts(bound-v, bound, wholeRow)
				x.use[i] = max(x.use[i], share)
			}
			x.shares[i*w+row] = share
		}
	}
	x.values = slices.Grow(x.values[:0], g)[:g]
	x.factors = slices.Grow(x.factors[:0], w)[:w]
	x.bestFactors = slices.Grow(x.bestFactors[:0], w)[:w]
	x.slope = slices.Grow(x.slope[:0], w)[:w]
}

// climbFrom looks for the best multipliers, from those of one cover row alone or,
// after the last of them, of all.
func (x *exact) climbFrom(row int) {
	clear(x.factors)
	for k := range x.covers {
		if k == row || row == x.covers {
			x.factors[k] = factorsMax / 4
		}
	}
	best, step := int64(math.MinInt64), int64(factorsMax/4)
	for range roundsRelax {
		gap := x.evaluate(x.factors) // minus what all groups of a positive worth come to
		for i, worth := range x.values {
			gap -= max(worth, 0) * int64(x.groups[i].high)
		}
		if gap > best {
			best = gap
			copy(x.bestFactors, x.factors)
		} else {
			step = max(step*2/3, 1)
		}
		if gap > 0 {
			x.refuted = true
			return
		}
		for r, held := range x.slope {
			lack := min(max(wholeRow-held, -wholeRow), wholeRow)
			if r >= x.covers {
				lack = -lack
			} else if row < x.covers {
				continue
			}
			x.factors[r] = min(max(x.factors[r]+step*lack/wholeRow, 0), factorsMax)
		}
	}
}

// evaluate fills in the worth of each group by these multipliers, and returns the
// target.
func (x *exact) evaluate(factors []int64) (target int64) {
	w := len(x.bounds)
	clear(x.slope)
	for r, f := range factors {
		if r < x.covers {
			target += f * wholeRow
		} else {
			target -= f * wholeRow
		}
	}
	for i := range x.groups {
		shares := x.shares[i*w : i*w+w]
		worth := int64(0)
		for r, share := range shares {
			if r < x.covers {
				worth += factors[r] * share
			} else {
				worth -= factors[r] * share
			}
		}
		x.values[i] = worth
		if worth <= 0 {
			continue
		}
		for r, share := range shares {
			x.slope[r] += share * int64(x.groups[i].high)
		}
	}
	return target
}
