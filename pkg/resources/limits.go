package resources

import (
	"math"
	"slices"
)

// Unlimited is the limit of a kind that has none.
const Unlimited = math.MaxInt64

// Limits is a bound per kind; a kind beyond its end is unlimited. Zero means
// that nothing of the kind may be used. What is left of limits may be negative.
type Limits []int64

// Of is the limit of one kind.
func (l Limits) Of(kind Kind) int64 {
	if int(kind) >= len(l) {
		return Unlimited
	}
	return l[kind]
}

// Set changes the limit of one kind in place.
func (l *Limits) Set(kind Kind, quantity int64) {
	for int(kind) >= len(*l) {
		*l = append(*l, Unlimited)
	}
	(*l)[kind] = quantity
}

// Minus is what is left of the limits after use, saturating. What is unlimited
// stays so.
func (l Limits) Minus(used Amounts) Limits {
	left := slices.Clone(l)
	for i := range min(len(left), len(used)) {
		if left[i] != Unlimited {
			left[i] = minus(left[i], used[i])
		}
	}
	return left
}

// Least is the tighter of two limits, kind by kind.
func (l Limits) Least(other Limits) Limits {
	if len(l) < len(other) {
		l, other = other, l
	}
	least := slices.Clone(l)
	for i, v := range other {
		least[i] = min(least[i], v)
	}
	return least
}

// Clone is a copy that shares nothing.
func (l Limits) Clone() Limits { return slices.Clone(l) }

// Equal reports whether the limits of all kinds are the same.
func (l Limits) Equal(other Limits) bool {
	if len(l) < len(other) {
		l, other = other, l
	}
	for i, v := range l {
		if v != other.Of(Kind(i)) {
			return false
		}
	}
	return true
}

// Room reports whether used plus more stays within the limits, for the kinds
// that more asks for. It is used.Plus(more) within l without making a vector.
func (l Limits) Room(used, more Amounts) bool { return l.Holds(more, used, more) }

// Holds reports whether the sum of parts stays within the limits, for the kinds
// that ask asks for. It makes no vector.
func (l Limits) Holds(ask Amounts, parts ...Amounts) bool {
	for i := range min(len(l), len(ask)) {
		if ask[i] <= 0 || l[i] == Unlimited {
			continue
		}
		var sum int64
		for _, part := range parts {
			sum = plus(sum, part.Of(Kind(i)))
		}
		if sum > l[i] {
			return false
		}
	}
	return true
}
