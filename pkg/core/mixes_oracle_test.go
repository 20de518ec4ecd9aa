package core_test

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/internal/seeds"
)

// ofSizes has the asks of a mix differ, up to a size.
func (m *mix) ofSizes(c chance, largest int) {
	for range m.asks {
		m.sizes = append(m.sizes, int64(1+c.IntN(largest)))
	}
}

// An askCount is how many asks there are of each size. Some of them are numbered by
// numbers from zero up to all.
type askCount struct {
	sizes []int64
	each  []int
	all   int
}

func (m *mix) count() (c askCount) {
	for _, s := range m.sizes {
		at := slices.Index(c.sizes, s)
		if at < 0 {
			c.sizes, c.each, at = append(c.sizes, s), append(c.each, 0), len(c.sizes)
		}
		c.each[at]++
	}
	c.all = 1
	for _, n := range c.each {
		c.all *= n + 1
	}
	return c
}

// units is what some of the asks need.
func (c *askCount) units(some int) (sum int64) {
	for i, n := range c.each {
		sum += int64(some%(n+1)) * c.sizes[i]
		some /= n + 1
	}
	return sum
}

// within reports whether some of the asks are among others.
func (c *askCount) within(some, others int) bool {
	for _, n := range c.each {
		if some%(n+1) > others%(n+1) {
			return false
		}
		some, others = some/(n+1), others/(n+1)
	}
	return true
}

// impossible is more victims than there are.
const impossible = math.MaxInt32 / 2

// fewestForUnits is the fewest victims by the units that are then free.
func (n *mixNode) fewestForUnits() []int {
	most := n.free
	for _, p := range n.pods {
		most += p.size
	}
	least := slices.Repeat([]int{impossible}, int(most)+1)
	for set := range uint(1) << len(n.pods) {
		room := n.free
		for i, pod := range n.pods {
			room += int64(set>>i&1) * pod.size
		}
		for units := range room + 1 {
			least[units] = min(least[units], bits.OnesCount(set))
		}
	}
	return least
}

// fewestForAll is by brute force the fewest victims with which all asks are served, if that
// is possible: of each node for any units, and then of all nodes for any of the asks.
func (m *mix) fewestForAll() (victims int, possible bool) {
	c := m.count()
	best := slices.Repeat([]int{impossible}, c.all)
	best[0] = 0
	for _, n := range m.nodes {
		least := n.fewestForUnits()
		for all := c.all - 1; all > 0; all-- {
			for here := 1; here <= all; here++ {
				if units := c.units(here); units < int64(len(least)) && c.within(here, all) {
					best[all] = min(best[all], best[all-here]+least[units])
				}
			}
		}
	}
	return best[c.all-1], best[c.all-1] < impossible
}

// TestAsksOfSeveralSizesShareVictims compares the victims of asks of different sizes that wait
// together with the fewest that there can be, and with those of one decision after the
// other. Sizes decide which asks fit in, so neither way always serves all that it could.
func TestAsksOfSeveralSizesShareVictims(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	for _, c := range []struct {
		largest     int
		pods        []int64
		byGuarantee bool
		most        int // per mille above the fewest
	}{
		{3, []int64{1, 2, 4}, true, 4},
		{3, []int64{1, 2, 4}, false, 10},
		{3, []int64{1, 2, 3, 4, 5, 6}, true, 5},
		{3, []int64{1, 2, 3, 4, 5, 6}, false, 3},
		{6, []int64{1, 2, 4}, true, 9},
		{6, []int64{1, 2, 4}, false, 17},
		{6, []int64{1, 2, 3, 4, 5, 6}, true, 9},
		{6, []int64{1, 2, 3, 4, 5, 6}, false, 14},
	} {
		t.Run(fmt.Sprintf("asks to %d pods %v guarantee=%t", c.largest, c.pods, c.byGuarantee), func(t *testing.T) {
			fewest, taken, alone, worse, less, more := 0, 0, 0, 0, 0, 0
			for seed := range seeds.Part(t, uint64(1000)) {
				random := rand.New(rand.NewPCG(seed, uint64(len(c.pods))))
				m := randomMix(random, c.pods, 1, c.byGuarantee)
				m.ofSizes(random, c.largest)
				least, possible := m.fewestForAll()
				together, single := m.play(t, true), m.play(t, false)
				switch {
				case together.served < single.served:
					less++
				case together.served > single.served:
					more++
				case possible && together.served == m.asks:
					assert.Assert(t, least <= together.victims && least <= single.victims, "seed %d: %+v", seed, m)
					fewest, taken, alone = fewest+least, taken+together.victims, alone+single.victims
					if together.victims > single.victims {
						worse++
					}
				}
			}
			t.Logf("%d victims are the fewest, %d are taken, %d by single decisions: more in %d mixes; fewer asks are served in %d, more in %d",
				fewest, taken, alone, worse, less, more)
			assert.Assert(t, (taken-fewest)*1000 <= fewest*c.most)
			assert.Assert(t, worse <= seeds.Part(t, 5) && less <= seeds.Part(t, 12))
		})
	}
}

// TestManySizesWait has ten times as many sizes wait as are looked at, and a victim that
// serves many of them.
func TestManySizesWait(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	m := mix{asks: 640, byGuarantee: true}
	for i := range m.asks {
		m.sizes = append(m.sizes, 1000+i)
	}
	for range 60 {
		m.nodes = append(m.nodes, mixNode{pods: []mixPod{{size: 20_000}, {size: 1700}, {size: 1700}}})
	}
	o := m.play(t, true)
	assert.Equal(t, o.served, m.asks)
	t.Logf("%d victims for %d asks", o.victims, m.asks)
	assert.Assert(t, o.victims <= 44)
}

// TestMoreSizesCome has larger asks come behind when costs were worked out for small ones.
func TestMoreSizesCome(t *testing.T) {
	m := mix{asks: 5, sizes: []int64{2, 1, 2, 3, 1}, byGuarantee: true}
	for _, size := range []int64{6, 5, 3} {
		m.nodes = append(m.nodes, mixNode{pods: []mixPod{{size: size}, {7 - size, 9}}})
	}
	m.comeInTwo(t, 3, 6)
}

// TestManyNodesAndAsksOfEachSize has ten times as many nodes, and ten times as many asks of each
// of two sizes, as are planned for together. On each node one victim serves one of both.
func TestManyNodesAndAsksOfEachSize(t *testing.T) {
	const pairs = 160
	for _, byGuarantee := range []bool{true, false} {
		m := mix{asks: 2 * pairs, byGuarantee: byGuarantee}
		for range pairs {
			m.sizes = append(m.sizes, 3, 5)
			m.nodes = append(m.nodes, mixNode{pods: []mixPod{{size: 3}, {size: 8}, {size: 5}}})
		}
		together, single := m.play(t, true), m.play(t, false)
		t.Logf("%d victims for %d asks, one by one %d", together.victims, m.asks, single.victims)
		assert.Equal(t, together.served, m.asks)
		assert.Equal(t, together.victims, pairs)
		assert.Assert(t, single.victims > pairs)
	}
}
