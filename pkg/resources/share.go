package resources

import (
	"cmp"
	"math/bits"
)

// A Share is a fraction Part/Whole, both at least zero and Whole at least one
// except in the zero value, which is a share of nothing. Shares are compared
// exactly; no division takes place.
type Share struct {
	Part, Whole int64
}

// Compare orders shares by size. The zero value is the smallest, equal to any
// share with Part zero.
func (s Share) Compare(other Share) int {
	if s.Part == 0 || other.Part == 0 {
		return cmp.Compare(s.Part, other.Part)
	}
	hi1, lo1 := bits.Mul64(uint64(s.Part), uint64(other.Whole))
	hi2, lo2 := bits.Mul64(uint64(other.Part), uint64(s.Whole))
	if c := cmp.Compare(hi1, hi2); c != 0 {
		return c
	}
	return cmp.Compare(lo1, lo2)
}

// PerMille is the share in thousandths, rounded down, for people to read.
func (s Share) PerMille() int64 {
	if s.Part == 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(s.Part), 1000)
	if hi >= uint64(s.Whole) {
		return Unlimited
	}
	quotient, _ := bits.Div64(hi, lo, uint64(s.Whole))
	return int64(min(quotient, Unlimited))
}

// ShareOf is a part, above zero, of a whole: nothing where that is unlimited, all where it is
// zero.
func ShareOf(part, whole int64) Share {
	switch {
	case whole == Unlimited:
		return Share{}
	case whole <= 0:
		return Share{Part: 1, Whole: 1}
	}
	return Share{Part: part, Whole: whole}
}

// DominantShare is the largest share over the kinds in use, each measured
// against its guaranteed quantity, or, where nothing is guaranteed, against
// fairMax. A kind that is bounded by neither does not count; one whose bound is
// zero counts as used up entirely.
func DominantShare(used, guaranteed Amounts, fairMax Limits) Share {
	var most Share
	for i, v := range used {
		if v <= 0 {
			continue
		}
		whole := guaranteed.Of(Kind(i))
		if whole <= 0 {
			whole = fairMax.Of(Kind(i))
		}
		if share := ShareOf(v, whole); share.Compare(most) > 0 {
			most = share
		}
	}
	return most
}

// MissingShare is the largest part, over the kinds, of what is asked for that is not free.
func (a Amounts) MissingShare(free Amounts) Share {
	var most Share
	for i, short := range a.Shortfall(free) {
		if short <= 0 {
			continue
		}
		share := Share{Part: short, Whole: a[i]}
		if share.Compare(most) > 0 {
			most = share
		}
	}
	return most
}
