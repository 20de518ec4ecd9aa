package resources

import (
	"math"
	"slices"
)

// Amounts is a quantity per kind; a kind beyond its end is zero. Quantities may
// be negative where something is overcommitted.
//
// Methods with a value receiver do not change the vector; Set, Add, Sub and Raise
// change it in place and are for the owner of the vector.
type Amounts []int64

// Of is the quantity of one kind.
func (a Amounts) Of(kind Kind) int64 {
	if int(kind) >= len(a) {
		return 0
	}
	return a[kind]
}

// Set changes the quantity of one kind.
func (a *Amounts) Set(kind Kind, quantity int64) {
	if int(kind) >= len(*a) {
		if quantity == 0 {
			return
		}
		a.extend(int(kind) + 1)
	}
	(*a)[kind] = quantity
}

func (a *Amounts) extend(n int) {
	if n > len(*a) {
		*a = append(*a, make([]int64, n-len(*a))...)
	}
}

// HoldsAny reports whether a has any of a kind that is wanted, in which both are above zero.
func (a Amounts) HoldsAny(wanted Amounts) bool {
	for kind, v := range wanted {
		if v > 0 && a.Of(Kind(kind)) > 0 {
			return true
		}
	}
	return false
}

// FitsIn reports whether free covers a: for each kind asked for, at least as
// much is free. A negative free quantity counts as nothing.
func (a Amounts) FitsIn(free Amounts) bool {
	if len(a) > len(free) {
		for _, v := range a[len(free):] {
			if v > 0 {
				return false
			}
		}
		a = a[:len(free)]
	}
	for i, v := range a {
		if v > 0 && v > free[i] {
			return false
		}
	}
	return true
}

// FitsInSum reports whether free and more together cover a, as FitsIn does, without making the
// sum.
func (a Amounts) FitsInSum(free, more Amounts) bool {
	for i, v := range a {
		if v > 0 && v > plus(free.Of(Kind(i)), more.Of(Kind(i))) {
			return false
		}
	}
	return true
}

// TimesIn is how many times a fits in free: each quantity above zero counts, and the most there is
// if there is none.
func (a Amounts) TimesIn(free Amounts) int64 {
	times := int64(math.MaxInt64)
	for i, v := range a {
		if v > 0 {
			times = min(times, max(free.Of(Kind(i)), 0)/v)
		}
	}
	return times
}

// Within reports whether every quantity is at most its limit. What is not asked
// for is within any limit, even one that is already exceeded.
func (a Amounts) Within(l Limits) bool {
	for i := range min(len(a), len(l)) {
		if v := a[i]; v > 0 && v > l[i] {
			return false
		}
	}
	return true
}

// Add adds b in place, saturating.
func (a *Amounts) Add(b Amounts) {
	a.extend(len(b))
	for i, v := range b {
		(*a)[i] = plus((*a)[i], v)
	}
}

// Sub subtracts b in place, saturating.
func (a *Amounts) Sub(b Amounts) {
	a.extend(len(b))
	for i, v := range b {
		(*a)[i] = minus((*a)[i], v)
	}
}

// Raise lifts each quantity to that of b where b has more.
func (a *Amounts) Raise(b Amounts) {
	a.extend(len(b))
	for i, v := range b {
		if v > (*a)[i] {
			(*a)[i] = v
		}
	}
}

// Plus is the sum, saturating.
func (a Amounts) Plus(b Amounts) Amounts {
	sum := a.Clone()
	sum.Add(b)
	return sum
}

// Minus is the difference, saturating.
func (a Amounts) Minus(b Amounts) Amounts {
	difference := a.Clone()
	difference.Sub(b)
	return difference
}

// Clone is a copy that shares nothing.
func (a Amounts) Clone() Amounts { return slices.Clone(a) }

// IsZero reports whether there is nothing of any kind.
func (a Amounts) IsZero() bool {
	for _, v := range a {
		if v != 0 {
			return false
		}
	}
	return true
}

// Negative is a kind with a quantity below zero, if there is one.
func (a Amounts) Negative() (Kind, bool) {
	i := slices.IndexFunc(a, func(v int64) bool { return v < 0 })
	return Kind(i), i >= 0
}

// Above reports whether there is more of any kind than a limit.
func (a Amounts) Above(limit int64) bool {
	for _, v := range a {
		if v > limit {
			return true
		}
	}
	return false
}

// Equal reports whether the quantities of all kinds are the same.
func (a Amounts) Equal(b Amounts) bool {
	if len(a) < len(b) {
		a, b = b, a
	}
	for i, v := range a {
		if v != b.Of(Kind(i)) {
			return false
		}
	}
	return true
}

// Shortfall is what a asks for beyond what is free, per kind.
func (a Amounts) Shortfall(free Amounts) Amounts {
	var short Amounts
	for i, v := range a {
		left := max(free.Of(Kind(i)), 0)
		if v > left {
			short.Set(Kind(i), v-left)
		}
	}
	return short
}

// Total is the sum of quantities, saturating at each step.
func Total(quantities ...int64) (sum int64) {
	for _, v := range quantities {
		sum = plus(sum, v)
	}
	return sum
}

func plus(a, b int64) int64 {
	sum := a + b
	switch {
	case a > 0 && b > 0 && sum < 0:
		return math.MaxInt64
	case a < 0 && b < 0 && sum >= 0:
		return math.MinInt64
	}
	return sum
}

func minus(a, b int64) int64 {
	difference := a - b
	switch {
	case a >= 0 && b < 0 && difference < 0:
		return math.MaxInt64
	case a < 0 && b > 0 && difference >= 0:
		return math.MinInt64
	}
	return difference
}
