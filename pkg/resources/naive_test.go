package resources

import (
	"encoding/binary"
	"math"
	"math/big"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// The naive twins: vectors as maps of big integers, where a missing kind is
// looked up and nothing can overflow.
type naive map[Kind]*big.Int

func naiveOf(values []int64) naive {
	n := naive{}
	for i, v := range values {
		n[Kind(i)] = big.NewInt(v)
	}
	return n
}

func (n naive) of(kind Kind) *big.Int {
	if v, ok := n[kind]; ok {
		return v
	}
	return new(big.Int)
}

func (n naive) fitsIn(free naive) bool {
	for kind, v := range n {
		if v.Sign() > 0 && v.Cmp(free.of(kind)) > 0 {
			return false
		}
	}
	return true
}

// room reports whether used plus n is within limits, of which those that say
// Unlimited are left out.
func (n naive) room(used naive, limits []int64) bool {
	for i, limit := range limits {
		more := n.of(Kind(i))
		if limit == Unlimited || more.Sign() <= 0 {
			continue
		}
		if new(big.Int).Add(used.of(Kind(i)), more).Cmp(big.NewInt(limit)) > 0 {
			return false
		}
	}
	return true
}

// clamp is the nearest number that an int64 holds.
func clamp(v *big.Int) int64 {
	switch {
	case v.IsInt64():
		return v.Int64()
	case v.Sign() > 0:
		return math.MaxInt64
	default:
		return math.MinInt64
	}
}

// vectors cuts bytes into three vectors. Most numbers come out small or at the
// ends of int64, which is where mistakes are.
func vectors(data []byte) (out [3][]int64) {
	for i := 0; len(data) >= 9; i++ {
		v := int64(binary.LittleEndian.Uint64(data[1:]))
		switch data[0] / 3 % 4 {
		case 0:
			v %= 8
		case 1:
			v = math.MaxInt64 - (v&math.MaxInt64)%8
		case 2:
			v = math.MinInt64 + (v&math.MaxInt64)%8
		}
		to := &out[int(data[0]%3)]
		*to = append(*to, v)
		data = data[9:]
	}
	return out
}

func FuzzArithmetic(f *testing.F) {
	f.Add([]byte("0--------3--------1--------4--------2--------"))
	for seed := range byte(40) {
		data := make([]byte, 0, 9*12)
		state := uint64(seed) + 1
		for range 9 * 12 {
			state = state*6364136223846793005 + 1442695040888963407
			data = append(data, byte(state>>56))
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v := vectors(data)
		a, b, limits := Amounts(v[0]), Amounts(v[1]), Limits(v[2])
		before := [3]string{dump(a), dump(b), dump(limits)}
		checkSums(t, a, b)
		checkExactSums(t, v[:])
		checkOrders(t, a, b)
		na, nb := naiveOf(a), naiveOf(b)
		assert.Equal(t, a.FitsIn(b), na.fitsIn(nb), "%v in %v", a, b)
		assert.Equal(t, a.FitsInSum(b, v[2]), a.FitsIn(b.Plus(v[2])), "%v in %v and %v", a, b, v[2])
		assert.Equal(t, a.Within(limits), na.room(naive{}, limits), "%v within %v", a, limits)
		assert.Equal(t, limits.Room(a, b), nb.room(na, limits), "%v: %v and %v", limits, a, b)
		assert.Equal(t, a.FitsIn(b), a.Shortfall(b).IsZero(), "shortfall of %v in %v", a, b)
		checkLimits(t, a, limits, Limits(b))
		assert.Equal(t, before, [3]string{dump(a), dump(b), dump(limits)}, "an argument was changed")
	})
}

func dump(values []int64) string {
	var b strings.Builder
	for _, v := range values {
		b.WriteString(big.NewInt(v).String())
		b.WriteByte(' ')
	}
	return b.String()
}

func checkSums(t *testing.T, a, b Amounts) {
	sum, difference, raised := a.Plus(b), a.Minus(b), a.Clone()
	raised.Raise(b)
	overflows := false
	for i := range max(len(a), len(b)) {
		kind := Kind(i)
		x, y := big.NewInt(a.Of(kind)), big.NewInt(b.Of(kind))
		exact := new(big.Int).Add(x, y)
		overflows = overflows || !exact.IsInt64()
		assert.Equal(t, sum.Of(kind), clamp(exact), "%v + %v", x, y)
		assert.Equal(t, difference.Of(kind), clamp(new(big.Int).Sub(x, y)), "%v - %v", x, y)
		if i < len(b) {
			assert.Equal(t, raised.Of(kind), max(a.Of(kind), b.Of(kind)))
		}
	}
	checkNegative(t, a)
	if !overflows {
		assert.Assert(t, sum.Minus(b).Equal(a), "%v + %v", a, b)
	}
}

func checkNegative(t *testing.T, a Amounts) {
	kind, negative := a.Negative()
	for i, v := range a {
		assert.Assert(t, v >= 0 || negative && int(kind) <= i, "%v: kind %d", a, kind)
	}
	assert.Assert(t, !negative || a.Of(kind) < 0, "%v: kind %d", a, kind)
}

// checkExactSums adds and takes away vectors until many of the sums are beyond int64, and
// back to nothing.
func checkExactSums(t *testing.T, vectors [][]int64) {
	const times = 5
	var sum, all Sum
	exact := map[Kind]*big.Int{}
	check := func() {
		t.Helper()
		for kind, want := range exact {
			assert.Equal(t, sum.Of(kind), clamp(want), "kind %d of %v", kind, vectors)
		}
	}
	step := func(vector []int64, sign int64) {
		if sign > 0 {
			sum.Add(vector)
		} else {
			sum.Sub(vector)
		}
		for i, v := range vector {
			if exact[Kind(i)] == nil {
				exact[Kind(i)] = new(big.Int)
			}
			exact[Kind(i)].Add(exact[Kind(i)], new(big.Int).Mul(big.NewInt(v), big.NewInt(sign)))
		}
		check()
	}
	for range times {
		for _, vector := range vectors {
			step(vector, 1)
			before := sum
			before.Amounts = before.Amounts.Clone() // exact is replaced, never changed
			all.AddSum(sum)
			assert.Assert(t, sum.Same(before) && before.Same(sum))
			step(vector, -1)
			assert.Equal(t, sum.Same(before), Amounts(vector).IsZero(), "%v", vectors)
			step(vector, 1)
			assert.Assert(t, sum.Same(before), "%v", vectors)
		}
	}
	for range times {
		for _, vector := range vectors {
			step(vector, -1)
		}
	}
	assert.Assert(t, sum.IsZero() && sum.exact == nil)
	var parts Sum
	for range times {
		for i := range vectors {
			for _, vector := range vectors[:i+1] {
				parts.Add(vector)
			}
		}
	}
	for range times * (times - 1) / 2 {
		for _, vector := range vectors {
			for range vectors {
				parts.Add(vector)
			}
		}
	}
	assert.Assert(t, parts.Same(all), "%v", vectors)
}

func checkOrders(t *testing.T, a, b Amounts) {
	equal := true
	for i := range max(len(a), len(b)) {
		equal = equal && a.Of(Kind(i)) == b.Of(Kind(i))
	}
	assert.Equal(t, a.Equal(b), equal)
	assert.Equal(t, b.Equal(a), equal)
	for i := range min(len(a), len(b)) {
		one := Share{Part: max(a[i], 0), Whole: max(b[i], 1)}
		for j := range min(len(a), len(b)) {
			two := Share{Part: max(a[j], 0), Whole: max(b[j], 1)}
			want := big.NewRat(one.Part, one.Whole).Cmp(big.NewRat(two.Part, two.Whole))
			assert.Equal(t, one.Compare(two), want, "%v and %v", one, two)
		}
		thousandths := new(big.Int).Mul(big.NewInt(one.Part), big.NewInt(1000))
		thousandths.Quo(thousandths, big.NewInt(one.Whole))
		assert.Equal(t, one.PerMille(), clamp(thousandths), "%v", one)
	}
}

func checkLimits(t *testing.T, used Amounts, one, two Limits) {
	left, least := one.Minus(used), one.Least(two)
	for i := range max(len(used), len(one), len(two)) {
		kind := Kind(i)
		assert.Equal(t, least.Of(kind), min(one.Of(kind), two.Of(kind)))
		want := one.Of(kind)
		if want != Unlimited {
			exact := new(big.Int).Sub(big.NewInt(want), big.NewInt(used.Of(kind)))
			want = clamp(exact)
		}
		assert.Equal(t, left.Of(kind), want, "%v - %v", one, used)
	}
	assert.Assert(t, least.Equal(two.Least(one)))
}

// FuzzParseQuantity reads the number by hand: digits times a factor.
func FuzzParseQuantity(f *testing.F) {
	for _, text := range []string{"10", "500m", "1.5Gi", "-3", "9223372036854775806", "0.0005", "8 Ei", "1e3", ""} {
		f.Add(true, text)
		f.Add(false, text)
	}
	factors := map[string]string{
		"": "1", "k": "1000", "M": "1000000", "G": "1000000000", "T": "1000000000000", "P": "1000000000000000",
		"E": "1000000000000000000", "Ki": "1024", "Mi": "1048576", "Gi": "1073741824", "Ti": "1099511627776",
		"Pi": "1125899906842624", "Ei": "1152921504606846976",
	}
	f.Fuzz(func(t *testing.T, cores bool, text string) {
		kind := Memory
		if cores {
			kind = VCore
		}
		got, err := ParseQuantity(kind, text)
		if err != nil {
			assert.ErrorIs(t, err, ErrQuantity)
			assert.Equal(t, got, int64(0))
			return
		}
		assert.Assert(t, got >= 0 && got != Unlimited, "%q is %d", text, got)
		trimmed := strings.TrimSpace(text)
		digits := strings.TrimRight(trimmed, "mkKMGTPEi")
		suffix := trimmed[len(digits):]
		want, ok := new(big.Rat).SetString(strings.TrimSpace(digits))
		assert.Assert(t, ok, "%q", text)
		if suffix == "m" {
			assert.Assert(t, cores, "%q", text)
		} else {
			factor, ok := new(big.Rat).SetString(factors[suffix])
			assert.Assert(t, ok, "%q", text)
			want.Mul(want, factor)
			if cores {
				want.Mul(want, big.NewRat(1000, 1))
			}
		}
		assert.Assert(t, want.IsInt() && want.Num().IsInt64(), "%q is %s", text, want)
		assert.Equal(t, got, want.Num().Int64(), "%q", text)
	})
}
