package core_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// backlogBounds are a tenth of BacklogAsks, what it is, and ten times as many.
var backlogBounds = []int{(preemptor.BacklogAsks + 5) / 10, preemptor.BacklogAsks, 10 * preemptor.BacklogAsks}

// TestBacklogAsksAtATenthAndTenTimes plays equal asks and asks of many sizes, more than BacklogAsks
// of them, on nodes with pods of many sizes. With a tenth of the bound and with ten times as much
// every ask is served, the books agree, and there is at most one victim more or less.
func TestBacklogAsksAtATenthAndTenTimes(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	for _, byGuarantee := range []bool{false, true} {
		for sizes, victims := range map[int64]int{1: 7, 3: 10, 8: 18, 40: 71} {
			t.Run(fmt.Sprintf("guarantee=%t/sizes=%d", byGuarantee, sizes), func(t *testing.T) {
				m := mix{asks: 120, byGuarantee: byGuarantee, nodes: mixedNodes(200, 4)}
				for i := range m.asks {
					m.sizes = append(m.sizes, 2+i*7%sizes)
				}
				for i := range m.nodes {
					large := mixPod{size: 20 + int64(i%20)}
					m.nodes[i].pods = append(m.nodes[i].pods, large, large)
				}
				for _, m.lookedAt = range backlogBounds {
					o := m.play(t, true)
					t.Logf("bound %d: %d victims", m.lookedAt, o.victims)
					assert.Equal(t, o.served, m.asks)
					assert.Assert(t, o.victims >= victims-1 && o.victims <= victims+1)
				}
			})
		}
	}
}

// TestFewVictimsWithAnyBacklogAsks plays mixes by chance: at a tenth of the bound victims are at most
// a twentieth more than the fewest that there can be, else a fortieth.
func TestFewVictimsWithAnyBacklogAsks(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	for _, byGuarantee := range []bool{false, true} {
		for _, bound := range backlogBounds {
			taken, fewest := 0, 0
			for seed := range uint64(200) {
				random := rand.New(rand.NewPCG(seed, 3))
				m := randomMix(random, []int64{1, 2, 3, 4, 5, 6}, 1, byGuarantee)
				m.ofSizes(random, 6)
				m.lookedAt = bound
				o := m.play(t, true)
				if least, possible := m.fewestForAll(); possible && o.served == m.asks {
					taken, fewest = taken+o.victims, fewest+least
				}
			}
			t.Logf("guarantee %t, bound %d: %d victims, %d are the fewest", byGuarantee, bound, taken, fewest)
			most := fewest / 40
			if bound < preemptor.BacklogAsks {
				most = fewest / 20
			}
			assert.Assert(t, fewest > 500 && taken-fewest <= most)
		}
	}
}
