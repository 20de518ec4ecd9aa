package simulator

import (
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

// TestMeterAgreesWithANaiveOne adds up a quantity millisecond by millisecond.
func TestMeterAgreesWithANaiveOne(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		m := newMeter()
		c := m.counter()
		var naive []int64 // by second, in thousandths
		now := time.Duration(0)
		for range 200 {
			next := now + time.Duration(random.IntN(9000))*tick
			for at := now; at < next; at += tick {
				second := int(at / time.Second)
				for len(naive) <= second {
					naive = append(naive, 0)
				}
				naive[second] += c.value
			}
			now = next
			m.advance(now)
			m.change(c, random.Int64N(100)-min(c.value, 40))
		}
		m.finish()
		per := int(m.step / time.Second)
		for i, mean := range m.means(c) {
			sum := int64(0)
			for j := i * per; j < min((i+1)*per, len(naive)); j++ {
				sum += naive[j]
			}
			covered := min(m.step*time.Duration(i+1), now) - m.step*time.Duration(i)
			assert.Equal(t, mean, sum/int64(covered/tick), "seed %d step %d", seed, i)
		}
		assert.Assert(t, len(c.buckets) <= bucketsMax)
	}
}

func TestIntegralHasRoom(t *testing.T) {
	var s integral
	want := new(big.Int)
	for range 1000 {
		s.add(1<<62, spanMax)
		want.Add(want, new(big.Int).Mul(big.NewInt(1<<62), big.NewInt(int64(spanMax/tick))))
	}
	got := new(big.Int).Add(new(big.Int).Lsh(new(big.Int).SetUint64(s.hi), 64), new(big.Int).SetUint64(s.lo))
	assert.Equal(t, got.Cmp(want), 0)
	assert.Equal(t, integral{}.mean(0), int64(0))
}

func TestEventsAreOrdered(t *testing.T) {
	var a eventQueue
	var seen []int
	for i, at := range []time.Duration{5, 3, 5, 1, 3} {
		a.plan(at, func() { seen = append(seen, i) })
	}
	for {
		at, ok := a.next()
		if !ok {
			break
		}
		for _, e := range a.take(at) {
			e.do()
		}
	}
	assert.DeepEqual(t, seen, []int{3, 1, 4, 0, 2})
}

func TestDevicesKeepWholeOnesWhole(t *testing.T) {
	table := newDeviceTable(Devices{Count: 3, Model: "T4"})
	third := Demand{Count: 1, Milli: 300}
	a, b := table.take(third), table.take(third)
	assert.DeepEqual(t, a, b)
	assert.DeepEqual(t, table.free, []int64{400, 1000, 1000})

	check := func(d Demand) error {
		w := newWants(d, nil)
		return table.check(&w)
	}
	assert.NilError(t, check(Demand{Count: 2, Milli: 1000}))
	assert.Error(t, check(Demand{Count: 3, Milli: 500}), "the free parts of the GPUs do not add up to 0.500 of each of 3 GPUs")
	assert.NilError(t, check(Demand{Count: 3, Milli: 400, Models: []string{"P100", "T4"}}))
	assert.Error(t, check(Demand{Count: 1, Milli: 1, Models: []string{"P100", "A10"}}), "no GPU of P100 or A10")
	table.give(third, a)
	table.give(third, b)
	assert.DeepEqual(t, table.free, []int64{1000, 1000, 1000})
}

func TestTextsOfTimesAndQuantities(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                       "0s",
		850 * time.Millisecond:  "850ms",
		1500 * time.Millisecond: "1.5s",
		30 * time.Second:        "30s",
		90 * time.Second:        "1m30s",
		10 * time.Minute:        "10m",
		2 * time.Hour:           "2h",
		125 * time.Minute:       "2h05m",
		50 * time.Hour:          "2d2h",
	} {
		assert.Equal(t, Clock(d), want)
	}
	for _, c := range []struct {
		kind     string
		quantity int64
		want     string
	}{
		{"vcore", 1500, "1.5"},
		{"vcore", 12_345_678, "12,346"},
		{"vcore", 1, "<0.1"},
		{"memory", 3 << 30, "3"},
		{"gpu", 600, "0.6"},
		{"ephemeral-storage", 3 << 29, "1.5"},
		{"hugepages-2Mi", 4 << 20, "4"},
		{"nvidia.com/gpu", 1234, "1,234"},
		{"pods", 1234, "1,234"},
		{"pods", -1234, "-1,234"},
	} {
		assert.Equal(t, UnitOf(c.kind, c.quantity).Format(c.quantity), c.want)
	}
}

func TestReadable(t *testing.T) {
	for text, want := range map[string]string{
		"needs memory=4294967296 vcore=2000":   "needs memory=4Gi vcore=2",
		"memory=4508876800, memory=1024":       "memory=4300Mi, memory=1Ki",
		"memory=1025 and memory=0":             "memory=1025 and memory=0",
		"memory=99999999999999999999":          "memory=99999999999999999999",
		"video-memory=2048 gpumemory=1024 a=1": "video-memory=2048 gpumemory=1024 a=1",
	} {
		assert.Equal(t, Readable(text), want)
	}
}

func TestSpans(t *testing.T) {
	random := stream(1, "test")
	s, err := ParseSpan("1s..3s")
	assert.NilError(t, err)
	for range 1000 {
		d, ends := s.draw(random)
		assert.Assert(t, ends && d >= time.Second && d <= 3*time.Second)
	}
	s, err = ParseSpan("exponential 10s")
	assert.NilError(t, err)
	sum := time.Duration(0)
	for range 10_000 {
		d, _ := s.draw(random)
		sum += d
	}
	mean := sum / 10_000
	assert.Assert(t, mean > 9500*time.Millisecond && mean < 10500*time.Millisecond, "%s", mean)
	_, ends := Forever.draw(random)
	assert.Assert(t, !ends)
	for _, text := range []string{"", "x", "5", "-1s", "3s..1s", "exponential", "100000h"} {
		_, err := ParseSpan(text)
		assert.Assert(t, err != nil, text)
	}
}

// AssertSums checks what must hold of the counts of every run.
func AssertSums(t testing.TB, r *Result) {
	t.Helper()
	p := r.Pods
	assert.Equal(t, p.Arrived, p.Placed+p.Pending+p.GaveUp+p.Rejected+p.Cancelled)
	assert.Equal(t, p.Placed, p.Ended+p.Running+p.Evicted+p.Lost)
	assert.Equal(t, p.Placements, p.Placed+r.Faults.BindFailures)
	pending := 0
	for _, reason := range r.Pending {
		pending += reason.Pods
	}
	assert.Equal(t, pending, p.Pending)
	for _, use := range r.Resources {
		assert.Assert(t, use.Mean <= use.Peak, "%+v", use)
	}
}
