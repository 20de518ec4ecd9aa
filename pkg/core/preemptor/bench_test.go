package preemptor

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// families are ways to fill a node. Pods are of the sizes that people give
// them; all others are made to be hard: hardly any two alike, and of sizes that
// do not compare.
var families = []struct {
	name string
	fill func(r *rand.Rand, a resources.Amounts)
}{
	{"pods", func(r *rand.Rand, a resources.Amounts) {
		size := []int64{100, 250, 500, 1000, 2000, 4000}[r.IntN(6)]
		for i := range a {
			a[i] = size << r.IntN(4)
		}
	}},
	{"uniform", func(r *rand.Rand, a resources.Amounts) {
		for i := range a {
			a[i] = 1 + r.Int64N(1<<30)
		}
	}},
	{"correlated", func(r *rand.Rand, a resources.Amounts) {
		size := r.Int64N(1 << 29)
		for i := range a {
			a[i] = 1 + size + r.Int64N(1<<29)
		}
	}},
	{"opposed", func(r *rand.Rand, a resources.Amounts) {
		left := int64(1 << 30)
		for i := range a {
			a[i] = 1 + r.Int64N(left/2)
			left -= a[i] - 1
		}
		r.Shuffle(len(a), func(i, j int) { a[i], a[j] = a[j], a[i] })
	}},
	{"alike", func(r *rand.Rand, a resources.Amounts) {
		for i := range a {
			a[i] = 1<<30 + r.Int64N(1<<24)
		}
	}},
	{"one-sided", func(r *rand.Rand, a resources.Amounts) {
		a[r.IntN(len(a))] = 1 + r.Int64N(1<<30)
		a[r.IntN(len(a))] = 1 + r.Int64N(1<<30)
	}},
}

// hardNode is full, and the ask takes exactly what some of them hold together,
// so that only few sets are enough.
func hardNode(r *rand.Rand, family, n, width int) situation {
	s := situation{cfg: DefaultConfig().only(Minimal), node: Node{Kinds: kindsOf(r, width)}}
	s.ask = Ask{Key: "ask", Priority: 3, Reserved: epoch.Add(-time.Hour), Amounts: make(resources.Amounts, width)}
	for i := range n {
		c := Candidate{
			Key: fmt.Sprint("c", i), Amounts: make(resources.Amounts, width), Priority: int32(r.IntN(3)),
			Owner: r.IntN(8) == 0, OptedOut: r.IntN(8) == 0, Foreign: r.IntN(8) == 0,
			Created: epoch.Add(-time.Duration(r.IntN(1000)) * time.Second),
		}
		families[family].fill(r, c.Amounts)
		s.node.On = append(s.node.On, c)
	}
	for range 1 + r.IntN(6) {
		s.ask.Amounts.Add(s.node.On[r.IntN(n)].Amounts)
	}
	return s
}

func (c Config) only(s Strategy) Config {
	c.Strategies = []Strategy{s}
	return c
}

// worstNode is the hardest node that we know: all candidates have the same class
// and priority, all four kinds are short, no two candidates are equal or
// comparable, and nearly as many victims are needed as are allowed.
func worstNode(r *rand.Rand, n int) situation {
	s := hardNode(r, 3, n, 4)
	clear(s.ask.Amounts)
	for i := range s.node.On {
		c := &s.node.On[i]
		c.Owner, c.Foreign, c.OptedOut, c.Priority = false, false, false, 0
		if i < 9 {
			s.ask.Amounts.Add(c.Amounts)
		}
	}
	return s
}

// BenchmarkMinimal measures whole plans by the strategy minimal, over nodes of
// one family each: the time of the middle one and of the 99th of a hundred, and
// how many of a thousand are not proved.
func BenchmarkMinimal(b *testing.B) {
	for _, n := range []int{64, 256} {
		for family := range families {
			for _, width := range []int{2, 4} {
				b.Run(fmt.Sprintf("%d/%s/%d-kinds", n, families[family].name, width), func(b *testing.B) {
					measure(b, 1000, func(i uint64) situation {
						return hardNode(rand.New(rand.NewPCG(i, 0)), family, n, width)
					})
				})
			}
		}
		b.Run(fmt.Sprintf("%d/all", n), func(b *testing.B) {
			measure(b, 1000, func(i uint64) situation {
				return hardNode(rand.New(rand.NewPCG(i, 0)), int(i)%len(families), n, 1+int(i)/len(families)%4)
			})
		})
		b.Run(fmt.Sprintf("%d/worst", n), func(b *testing.B) {
			measure(b, 50, func(i uint64) situation { return worstNode(rand.New(rand.NewPCG(i, 0)), n) })
		})
	}
}

// measure plans for every one of a fixed number of nodes, b.N times, so run it
// with -benchtime 5x. The fastest time of each node counts, because the others
// contain the garbage collector and other load of the machine.
func measure(b *testing.B, different int, node func(uint64) situation) {
	situations := make([]situation, different)
	times := make([]time.Duration, len(situations))
	for i := range situations {
		situations[i] = node(uint64(i))
		times[i] = time.Hour
	}
	open := 0
	var pl Planner // as the core does
	for b.Loop() {
		open = 0
		for i, s := range situations {
			start := time.Now()
			d := pl.Plan(epoch, s.cfg, s.ask, s.node)
			times[i] = min(times[i], time.Since(start))
			if d.Reason == Chosen && !d.Proof.Proved {
				open++
			}
		}
	}
	slices.Sort(times)
	micros := func(at int) float64 { return float64(times[at].Nanoseconds()) / 1e3 }
	b.ReportMetric(micros(len(times)/2), "p50-µs")
	b.ReportMetric(micros(len(times)*99/100), "p99-µs")
	b.ReportMetric(micros(len(times)-1), "max-µs")
	b.ReportMetric(float64(open)*1000/float64(len(times)), "unproved‰")
	b.ReportMetric(0, "ns/op") // of all nodes together it says nothing
}
