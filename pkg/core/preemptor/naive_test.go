package preemptor

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// A situation is everything that Plan is asked with.
type situation struct {
	cfg  Config
	ask  Ask
	node Node
}

func (s situation) plan() Decision { return Plan(epoch, s.cfg, s.ask, s.node) }

// with is the situation with one strategy only.
func (s situation) with(strategy Strategy) situation {
	s.cfg.Strategies = []Strategy{strategy}
	return s
}

var kindNames = []string{"vcore", "memory", "gpu", "pods"}

// kindsOf is a table of n kinds, numbered as r has it.
func kindsOf(r *rand.Rand, n int) *resources.Kinds {
	kinds := &resources.Kinds{}
	for _, i := range r.Perm(n) {
		if _, err := kinds.Intern(kindNames[i]); err != nil {
			panic(err)
		}
	}
	return kinds
}

// randomSituation is a small full node with everything that can be on it, with
// sizes from a few numbers, so that there are ties, or from many.
func randomSituation(r *rand.Rand) situation {
	width := 1 + r.IntN(4)
	most := int64([]int{3, 10, 1000}[r.IntN(3)])
	amounts := func() resources.Amounts {
		a := make(resources.Amounts, r.IntN(width)+1)
		for i := range a {
			a[i] = r.Int64N(most + 1)
		}
		return a
	}
	priorities := []int{1, 3, 9}[r.IntN(3)]
	s := situation{cfg: DefaultConfig(), node: Node{Kinds: kindsOf(r, width)}}
	s.cfg.VictimsMax = 1 + r.IntN(8)
	s.cfg.DeviationMax = int64(r.IntN(3) * 100)
	s.cfg.SpareForeign = r.IntN(10) == 0
	s.ask = Ask{Key: "ask", Priority: int32(r.IntN(priorities)), Reserved: epoch.Add(-time.Hour)}
	for range r.IntN(width + 1) {
		s.node.Free.Set(resources.Kind(r.IntN(width)), r.Int64N(most)-most/4)
	}
	rare := func() bool { return r.IntN(20) == 0 }
	for i := range r.IntN(15) {
		c := Candidate{
			Key: fmt.Sprint("c", i), Amounts: amounts(), Priority: int32(r.IntN(priorities)) - 1,
			Created: epoch.Add(-time.Duration(r.IntN(3)) * time.Minute),
			Owner:   r.IntN(5) == 0, OptedOut: r.IntN(5) == 0, Foreign: r.IntN(5) == 0,
			Required: rare(), Protected: rare(), Releasing: rare(), Overdue: rare(),
		}
		c.Static = c.Foreign && rare()
		s.node.On = append(s.node.On, c)
	}
	// What is asked for is about what some of them hold.
	s.ask.Amounts = make(resources.Amounts, width)
	part := 2 + r.IntN(5)
	for i := range s.ask.Amounts {
		s.ask.Amounts[i] = 1 + r.Int64N(2)
	}
	for _, c := range s.node.On {
		if r.IntN(part) == 0 {
			s.ask.Amounts.Add(c.Amounts)
		}
	}
	if r.IntN(6) == 0 { // not asked for, though it may be overcommitted
		s.ask.Amounts.Set(resources.Kind(r.IntN(width)), 0)
	}
	return s
}

// missing is what the ask lacks once these candidates and the releasing ones have
// ended.
func missing(s situation, removed ...Candidate) resources.Amounts {
	return missingBut(s, func(*Candidate) bool { return false }, removed)
}

// missingBut is the same, where some of those on the node free no room there.
func missingBut(s situation, elsewhere func(*Candidate) bool, removed []Candidate) resources.Amounts {
	var lacks resources.Amounts
	for i, asked := range s.ask.Amounts {
		kind := resources.Kind(i)
		room := s.node.Free.Of(kind)
		for at := range s.node.On {
			if c := &s.node.On[at]; c.Releasing && !c.Overdue && !elsewhere(c) {
				room += c.Amounts.Of(kind)
			}
		}
		for at := range removed {
			room += removed[at].Amounts.Of(kind)
		}
		if asked > 0 && asked > room {
			lacks.Set(kind, asked-room)
		}
	}
	return lacks
}

// mayBeVictim says by the rules of the design which candidates may be victims.
func mayBeVictim(s situation, c Candidate) bool {
	lacks, useful := missing(s), false
	for i, v := range lacks {
		useful = useful || v > 0 && c.Amounts.Of(resources.Kind(i)) > 0
	}
	return useful && !c.Required && !c.Static && !c.Protected && !c.Releasing && !c.Overdue &&
		c.Priority <= s.ask.Priority && (!c.Foreign || !s.cfg.SpareForeign && c.Priority < s.ask.Priority)
}

func naiveClass(c Candidate) int {
	switch {
	case c.OptedOut:
		return 3
	case c.Foreign:
		return 2
	case c.Owner:
		return 1
	default:
		return 0
	}
}

// A price is what minimal compares, in order.
type price struct {
	class, priority, victims int
	weight                   int64
}

func (p price) less(q price) bool {
	return slices.Compare([]int64{int64(p.class), int64(p.priority), int64(p.victims), p.weight},
		[]int64{int64(q.class), int64(q.priority), int64(q.victims), q.weight}) < 0
}

// naiveWeight is one victim's weight: thousandths of all there is, rounded up.
func naiveWeight(s situation, c Candidate) int64 {
	var weight int64
	for i, v := range c.Amounts {
		kind := resources.Kind(i)
		whole := max(s.node.Free.Of(kind), 0)
		for at := range s.node.On {
			whole += s.node.On[at].Amounts.Of(kind)
		}
		if v > 0 {
			weight += (v*1000 + whole - 1) / whole
		}
	}
	return weight
}

func priceOf(s situation, victims []Candidate) price {
	p := price{priority: -1 << 31, victims: len(victims)}
	for _, c := range victims {
		p.class = max(p.class, naiveClass(c))
		p.priority = max(p.priority, int(c.Priority))
		p.weight += naiveWeight(s, c)
	}
	return p
}

// bruteForce tries every set of at most most victims, and says what the best
// costs.
func bruteForce(s situation, most int) (best price, found bool) {
	var able []Candidate
	for _, c := range s.node.On {
		if mayBeVictim(s, c) {
			able = append(able, c)
		}
	}
	need := missing(s)
	width := len(need)
	sums := make([][4]int64, 1<<len(able))
	prices := make([]price, 1<<len(able))
	prices[0] = priceOf(s, nil)
	for set := 1; set < len(sums); set++ {
		last := bits.TrailingZeros(uint(set))
		before, one := set&(set-1), priceOf(s, able[last:last+1])
		p := prices[before]
		prices[set] = price{max(p.class, one.class), max(p.priority, one.priority), p.victims + 1, p.weight + one.weight}
		enough := true
		for i := range width {
			sums[set][i] = sums[before][i] + able[last].Amounts.Of(resources.Kind(i))
			enough = enough && sums[set][i] >= need[i]
		}
		if enough && prices[set].victims <= most && (!found || prices[set].less(best)) {
			best, found = prices[set], true
		}
	}
	return best, found
}
