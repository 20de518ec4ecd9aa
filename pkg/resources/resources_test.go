package resources

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

func TestParseQuantity(t *testing.T) {
	for _, c := range []struct {
		kind, text string
		want       int64
	}{
		{VCore, "10", 10_000},
		{VCore, "500m", 500},
		{VCore, "0", 0},
		{VCore, "0m", 0},
		{VCore, "1.5", 1500},
		{VCore, "0.001", 1},
		{VCore, "10k", 10_000_000},
		{VCore, " 2 ", 2000},
		{VCore, "2 k", 2_000_000},
		{Memory, "10", 10},
		{Memory, "10k", 10_000},
		{Memory, "10Ki", 10_240},
		{Memory, "10Gi", 10 << 30},
		{Memory, "1.5Gi", 3 << 29},
		{Memory, "1.5k", 1500},
		{Memory, "7M", 7e6},
		{Memory, "7Mi", 7 << 20},
		{Memory, "7G", 7e9},
		{Memory, "7T", 7e12},
		{Memory, "7Ti", 7 << 40},
		{Memory, "7P", 7e15},
		{Memory, "7Pi", 7 << 50},
		{Memory, "7E", 7e18},
		{Memory, "7Ei", 7 << 60},
		{Memory, "9223372036854775806", math.MaxInt64 - 1},
		{"nvidia.com/gpu", "8", 8},
		{"nvidia.com/gpu", "007", 7},
		{"pods", "2.0", 2},
	} {
		got, err := ParseQuantity(c.kind, c.text)
		assert.NilError(t, err, "%s %q", c.kind, c.text)
		assert.Equal(t, got, c.want, "%s %q", c.kind, c.text)
	}
}

func TestParseQuantityErrors(t *testing.T) {
	for _, c := range []struct{ kind, text, want string }{
		{Memory, "", `not a quantity: ""; write a number such as 10, 1.5 or 10Gi`},
		{Memory, "-1", `not a quantity: "-1" is negative`},
		{Memory, "+1", `not a quantity: "+1"; write a number such as 10, 1.5 or 10Gi`},
		{Memory, "ten", `not a quantity: "ten"; write a number such as 10, 1.5 or 10Gi`},
		{Memory, "1e3", `not a quantity: "1e3"; write a number such as 10, 1.5 or 10Gi`},
		{Memory, "0x10", `not a quantity: "0x10"; write a number such as 10, 1.5 or 10Gi`},
		{Memory, "1.", `not a quantity: "1."; write a number such as 10, 1.5 or 10Gi`},
		{Memory, ".5", `not a quantity: ".5"; write a number such as 10, 1.5 or 10Gi`},
		{Memory, "1,5", `not a quantity: "1,5"; write a number such as 10, 1.5 or 10Gi`},
		{Memory, "1 G i", `not a quantity: "1 G i"; write a number such as 10, 1.5 or 10Gi`},
		{Memory, "1K", `not a quantity: "1K" has the unknown suffix "K"; known are m, k, M, G, T, P, E and Ki, Mi, Gi, Ti, Pi, Ei`},
		{Memory, "1gi", `not a quantity: "1gi" has the unknown suffix "gi"; known are m, k, M, G, T, P, E and Ki, Mi, Gi, Ti, Pi, Ei`},
		{Memory, "1m", `not a quantity: "1m" has the suffix m, which only vcore knows`},
		{Memory, "1.5", `not a quantity: "1.5" is not a whole number of bytes`},
		{VCore, "1.5m", `not a quantity: "1.5m" is not a whole number of thousandths of a core`},
		{VCore, "0.0001", `not a quantity: "0.0001" is not a whole number of thousandths of a core`},
		{"pods", "0.5", `not a quantity: "0.5" is not a whole number of units`},
		{Memory, "8Ei", `not a quantity: "8Ei" is larger than 64 bits hold`},
		{Memory, "9223372036854775807", `not a quantity: "9223372036854775807" is larger than 64 bits hold`},
		{VCore, "1E", `not a quantity: "1E" is larger than 64 bits hold`},
	} {
		_, err := ParseQuantity(c.kind, c.text)
		assert.Error(t, err, c.want)
		assert.Assert(t, errors.Is(err, ErrQuantity), "%s %q", c.kind, c.text)
	}
}

func TestFitsIn(t *testing.T) {
	for _, c := range []struct {
		ask, free Amounts
		want      bool
	}{
		{nil, nil, true},
		{Amounts{0, 0}, nil, true},
		{Amounts{1}, nil, false},
		{Amounts{1}, Amounts{1}, true},
		{Amounts{2}, Amounts{1}, false},
		{Amounts{1, 0, 0}, Amounts{1}, true},
		{Amounts{1, 0, 1}, Amounts{1}, false},
		{Amounts{1}, Amounts{1, -5}, true},
		{Amounts{0}, Amounts{-1}, true},
		{Amounts{-1}, Amounts{-5}, true},
		{Amounts{1}, Amounts{-1}, false},
	} {
		assert.Equal(t, c.ask.FitsIn(c.free), c.want, "%v in %v", c.ask, c.free)
	}
}

func TestWithin(t *testing.T) {
	for _, c := range []struct {
		used Amounts
		max  Limits
		want bool
	}{
		{nil, nil, true},
		{Amounts{math.MaxInt64}, nil, true},
		{Amounts{math.MaxInt64}, Limits{Unlimited}, true},
		{Amounts{1}, Limits{0}, false},
		{Amounts{0}, Limits{0}, true},
		{Amounts{0, 1}, Limits{-3, 1}, true},
		{Amounts{5, 1}, Limits{5}, true},
		{Amounts{6}, Limits{5, 9}, false},
	} {
		assert.Equal(t, c.used.Within(c.max), c.want, "%v within %v", c.used, c.max)
	}
}

func TestRoom(t *testing.T) {
	for _, c := range []struct {
		max        Limits
		used, more Amounts
		want       bool
	}{
		{nil, Amounts{9}, Amounts{9}, true},
		{Limits{10}, Amounts{9}, Amounts{1}, true},
		{Limits{10}, Amounts{9}, Amounts{2}, false},
		{Limits{10}, Amounts{11}, Amounts{0, 3}, true},
		{Limits{10}, nil, Amounts{11}, false},
		{Limits{0}, nil, Amounts{1}, false},
		{Limits{Unlimited}, Amounts{math.MaxInt64}, Amounts{1}, true},
		{Limits{Unlimited - 1}, Amounts{math.MaxInt64}, Amounts{1}, false},
	} {
		assert.Equal(t, c.max.Room(c.used, c.more), c.want, "%v: %v and %v", c.max, c.used, c.more)
	}
}

func TestLimits(t *testing.T) {
	var l Limits
	l.Set(2, 0)
	assert.DeepEqual(t, l, Limits{Unlimited, Unlimited, 0})
	assert.Equal(t, l.Of(7), int64(Unlimited))
	assert.DeepEqual(t, l.Minus(Amounts{5, 5, 5, 5}), Limits{Unlimited, Unlimited, -5})
	assert.DeepEqual(t, l.Least(Limits{4}), Limits{4, Unlimited, 0})
	assert.DeepEqual(t, Limits{4}.Least(l), Limits{4, Unlimited, 0})
	assert.Assert(t, Limits{4}.Equal(Limits{4, Unlimited}))
	assert.Assert(t, !Limits{4}.Equal(Limits{4, 0}))
	assert.DeepEqual(t, l, Limits{Unlimited, Unlimited, 0})
}

// TestSaturation adds and subtracts at the ends of 64 bits.
func TestSaturation(t *testing.T) {
	for _, c := range []struct{ a, b, sum, difference int64 }{
		{0, math.MinInt64, math.MinInt64, math.MaxInt64},
		{1, math.MinInt64, math.MinInt64 + 1, math.MaxInt64},
		{-1, math.MinInt64, math.MinInt64, math.MaxInt64},
		{0, math.MaxInt64, math.MaxInt64, -math.MaxInt64},
		{-1, math.MaxInt64, math.MaxInt64 - 1, math.MinInt64},
		{-2, math.MaxInt64, math.MaxInt64 - 2, math.MinInt64},
		{math.MaxInt64, 1, math.MaxInt64, math.MaxInt64 - 1},
		{math.MaxInt64, -1, math.MaxInt64 - 1, math.MaxInt64},
		{math.MinInt64, 1, math.MinInt64 + 1, math.MinInt64},
		{math.MinInt64, -1, math.MinInt64, math.MinInt64 + 1},
		{math.MinInt64, math.MinInt64, math.MinInt64, 0},
	} {
		assert.Equal(t, Amounts{c.a}.Plus(Amounts{c.b}).Of(0), c.sum, "%d + %d", c.a, c.b)
		assert.Equal(t, Amounts{c.a}.Minus(Amounts{c.b}).Of(0), c.difference, "%d - %d", c.a, c.b)
	}
}

func TestAbove(t *testing.T) {
	assert.Assert(t, Amounts{1, 5}.Above(4))
	assert.Assert(t, !Amounts{1, 5}.Above(5))
	assert.Assert(t, !Amounts(nil).Above(0))
}

// Sums beyond int64 that are equal in the kinds of one are not the same if the other has more.
func TestSumsOfDifferentKinds(t *testing.T) {
	var few, many Sum
	for range 2 {
		few.Add(Amounts{math.MaxInt64})
		many.Add(Amounts{math.MaxInt64, 5})
	}
	assert.Assert(t, !few.Same(many) && !many.Same(few))
	many.Sub(Amounts{0, 10})
	assert.Assert(t, few.Same(many) && many.Same(few))
}

func TestShortfall(t *testing.T) {
	for _, c := range []struct{ ask, free, want Amounts }{
		{Amounts{3, 3}, Amounts{5, 1}, Amounts{0, 2}},
		{Amounts{3}, Amounts{-4}, Amounts{3}},
		{Amounts{3}, nil, Amounts{3}},
		{nil, Amounts{3}, nil},
	} {
		assert.Assert(t, c.ask.Shortfall(c.free).Equal(c.want), "%v of %v", c.ask, c.free)
	}
}

func TestShareCompare(t *testing.T) {
	const most = math.MaxInt64
	for _, c := range []struct {
		a, b Share
		want int
	}{
		{Share{}, Share{}, 0},
		{Share{}, Share{0, 7}, 0},
		{Share{}, Share{1, most}, -1},
		{Share{1, 2}, Share{2, 4}, 0},
		{Share{1, 3}, Share{1, 2}, -1},
		{Share{3, 2}, Share{1, 1}, 1},
		{Share{most, most - 1}, Share{most - 1, most - 2}, -1},
		{Share{most, 1}, Share{most, 2}, 1},
	} {
		assert.Equal(t, c.a.Compare(c.b), c.want, "%v and %v", c.a, c.b)
		assert.Equal(t, c.b.Compare(c.a), -c.want, "%v and %v", c.b, c.a)
	}
}

func TestSharePerMille(t *testing.T) {
	for _, c := range []struct {
		share Share
		want  int64
	}{
		{Share{}, 0},
		{Share{1, 3}, 333},
		{Share{1, 1}, 1000},
		{Share{5, 2}, 2500},
		{Share{math.MaxInt64, math.MaxInt64}, 1000},
		{Share{math.MaxInt64, 1}, Unlimited},
	} {
		assert.Equal(t, c.share.PerMille(), c.want, "%v", c.share)
	}
}

func TestDominantShare(t *testing.T) {
	for _, c := range []struct {
		used, guaranteed Amounts
		fairMax          Limits
		want             Share
	}{
		{nil, nil, nil, Share{}},
		{Amounts{5}, nil, nil, Share{}},
		{Amounts{5}, Amounts{10}, nil, Share{5, 10}},
		{Amounts{5}, nil, Limits{20}, Share{5, 20}},
		{Amounts{5}, Amounts{10}, Limits{20}, Share{5, 10}},
		{Amounts{5, 5}, Amounts{10, 6}, nil, Share{5, 6}},
		{Amounts{5}, nil, Limits{0}, Share{1, 1}},
		{Amounts{-5}, Amounts{10}, nil, Share{}},
	} {
		got := DominantShare(c.used, c.guaranteed, c.fairMax)
		assert.Equal(t, got, c.want, "%v of %v or %v", c.used, c.guaranteed, c.fairMax)
	}
}

func TestKinds(t *testing.T) {
	var k Kinds
	_, err := k.Intern("")
	assert.Error(t, err, "a resource kind without a name")
	a, err := k.Amounts(map[string]int64{VCore: 500, Memory: 1024, "pods": 0})
	assert.NilError(t, err)
	assert.Equal(t, k.Format(a), "memory=1024 vcore=500")
	assert.Equal(t, k.Format(nil), "nothing")
	l, err := k.Limits(map[string]int64{VCore: 0})
	assert.NilError(t, err)
	assert.Equal(t, k.FormatLimits(l), "vcore=0")
	assert.Equal(t, k.FormatLimits(nil), "unlimited")
	assert.DeepEqual(t, k.Map(a), map[string]int64{VCore: 500, Memory: 1024})
	assert.DeepEqual(t, k.LimitMap(l), map[string]int64{VCore: 0})
	_, known := k.Lookup("never")
	assert.Assert(t, !known)
}

// Amounts of many kinds with long names are written whole.
func TestFormatOfManyKinds(t *testing.T) {
	var k Kinds
	values, want := map[string]int64{}, []string{}
	for i := range 80 {
		name := fmt.Sprintf("example.com/a-device-of-many-%02d", i)
		values[name] = int64(i + 1)
		want = append(want, fmt.Sprintf("%s=%d", name, i+1))
	}
	a, err := k.Amounts(values)
	assert.NilError(t, err)
	assert.Equal(t, k.Format(a), strings.Join(want, " "))
}

func TestKindsAreFull(t *testing.T) {
	var k Kinds
	for i := range KindsMax {
		_, err := k.Intern(fmt.Sprint("kind-", i))
		assert.NilError(t, err)
	}
	_, err := k.Intern("one-more")
	assert.Assert(t, is.ErrorIs(err, ErrTooManyKinds))
	assert.ErrorContains(t, err, "16384 are known") // as the documents say
	again, err := k.Intern("kind-7")
	assert.NilError(t, err)
	assert.Equal(t, again, Kind(7))
	assert.Equal(t, k.Len(), KindsMax)
}

// What is printed and compared does not depend on the numbers of kinds.
func TestOrderOfInterningDoesNotShow(t *testing.T) {
	var one, two Kinds
	for _, name := range []string{"a", "b", "c"} {
		_, err := one.Intern(name)
		assert.NilError(t, err)
	}
	for _, name := range []string{"c", "a", "b"} {
		_, err := two.Intern(name)
		assert.NilError(t, err)
	}
	small, large := map[string]int64{"a": 1, "b": 9}, map[string]int64{"a": 2, "c": 1}
	for _, k := range []*Kinds{&one, &two} {
		s, err := k.Amounts(small)
		assert.NilError(t, err)
		l, err := k.Amounts(large)
		assert.NilError(t, err)
		assert.Equal(t, k.Compare(s, l), -1)
		assert.Equal(t, k.Compare(l, s), 1)
		assert.Equal(t, k.Compare(l, l), 0)
		// A kind beyond the end of the other is compared as well.
		only, err := k.Amounts(map[string]int64{"a": 2})
		assert.NilError(t, err)
		assert.Equal(t, k.Compare(only, l), -1)
		assert.Equal(t, k.Compare(l, only), 1)
		assert.Equal(t, k.Format(l), "a=2 c=1")
	}
}

func TestHotPathMakesNoGarbage(t *testing.T) {
	ask, free := Amounts{100, 200, 0, 1}, Amounts{1000, 2000, 5, 8}
	limits := Limits{1000, Unlimited, 5, 8}
	fits := true
	checks := map[string]func(){
		"FitsIn": func() { fits = fits && ask.FitsIn(free) },
		"Within": func() { fits = fits && ask.Within(limits) },
		"Room":   func() { fits = fits && limits.Room(free[:2], ask[2:]) },
		"Add":    func() { free.Add(ask); free.Sub(ask) },
		"Share":  func() { fits = fits && DominantShare(ask, free, limits).Compare(Share{1, 1}) < 0 },
	}
	for name, check := range checks {
		assert.Equal(t, testing.AllocsPerRun(100, check), 0.0, name)
	}
	assert.Assert(t, fits)
}
