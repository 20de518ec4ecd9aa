package preemptor

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// fewestOnNode is the fewest of the candidates of a node that make room for so much.
func fewestOnNode(n Node, need int64) int {
	var held []int64
	for i := range n.On {
		held = append(held, n.On[i].Amounts[0])
	}
	slices.Sort(held)
	room := n.Free.Of(0)
	for taken := 0; ; taken++ {
		switch {
		case room >= need:
			return taken
		case taken == len(held):
			return tooManyVictims
		}
		room += held[len(held)-1-taken]
	}
}

// fewestOnAll is by brute force the fewest victims that serve asks: each of them on any node.
func fewestOnAll(nodes []Node, asks []int64, needs []int64) int {
	if len(asks) == 0 {
		sum := 0
		for i := range nodes {
			if needs[i] > 0 {
				sum = min(sum+fewestOnNode(nodes[i], needs[i]), tooManyVictims)
			}
		}
		return sum
	}
	best := tooManyVictims
	for i := range nodes {
		needs[i] += asks[0]
		best = min(best, fewestOnAll(nodes, asks[1:], needs))
		needs[i] -= asks[0]
	}
	return best
}

// TestBacklogAgainstBruteForce compares what is planned for asks that wait together with
// every way to divide them among the nodes.
func TestBacklogAgainstBruteForce(t *testing.T) {
	var b Backlog
	planned := 0
	for seed := range uint64(5000) {
		r := rand.New(rand.NewPCG(seed, 80))
		kinds := kindsOf(r, 1)
		var nodes []Node
		for range 1 + r.IntN(3) {
			n := Node{Kinds: kinds, Free: resources.Amounts{max(r.Int64N(5)-2, 0)}}
			for range r.IntN(5) {
				n.On = append(n.On, Candidate{Key: fmt.Sprint("c", len(n.On)), Amounts: resources.Amounts{1 + r.Int64N(6)}})
			}
			nodes = append(nodes, n)
		}
		asks := []int64{1 + r.Int64N(5)}
		b.Begin(DefaultConfig(), Ask{Trigger: Priority, Amounts: resources.Amounts{asks[0]}, Priority: 9}, false)
		for range r.IntN(4) {
			asks = append(asks, 1+r.Int64N(5))
			assert.Assert(t, b.Join(resources.Amounts{asks[len(asks)-1]}))
		}
		for _, n := range nodes {
			b.Add(n, nil)
		}
		at, shared, ok := b.Plan()
		best := fewestOnAll(nodes, asks, make([]int64, len(nodes)))
		assert.Equal(t, ok, best < tooManyVictims, "seed %d", seed)
		if ok {
			planned++
			assert.Equal(t, int(b.best[b.states-1]), best, "seed %d", seed)
			assert.Assert(t, fewestOnNode(nodes[at], shared.Amounts[0]) < tooManyVictims && shared.Amounts[0] >= asks[0])
		}
	}
	assert.Assert(t, planned > 1000, "%d", planned)
}

// TestBacklogIsBounded has ten times as many sizes, and asks of one size, as are planned for.
func TestBacklogIsBounded(t *testing.T) {
	var b Backlog
	for _, sizes := range []int64{1, 90} {
		b.Begin(DefaultConfig(), Ask{Trigger: Priority, Amounts: resources.Amounts{1}, Priority: 9}, false)
		joined := int64(1)
		for joined < 1300 && b.Join(resources.Amounts{1 + joined%sizes}) {
			joined++
		}
		b.Add(Node{Kinds: kindsOf(rand.New(rand.NewPCG(1, 1)), 1), Free: resources.Amounts{9000}}, nil)
		_, shared, ok := b.Plan()
		assert.Assert(t, ok && int64(shared.Asks) == joined && b.Work() <= pairsMax, "%d sizes: %d asks, %d compared", sizes, joined, b.Work())
	}
}

// TestBacklogKeepsGuarantees has a guarantee that allows each of two victims, and not both.
func TestBacklogKeepsGuarantees(t *testing.T) {
	var b Backlog
	for _, spare := range []int64{7, 8} {
		b.Begin(DefaultConfig(), Ask{Trigger: Guarantee, Amounts: resources.Amounts{4}, Priority: 9}, false)
		assert.Assert(t, b.Join(resources.Amounts{3}))
		for range 2 {
			b.Add(Node{
				Kinds:  kindsOf(rand.New(rand.NewPCG(1, 1)), 1),
				On:     []Candidate{{Key: "a", Amounts: resources.Amounts{4}, Floors: []int32{0}}},
				Floors: []Floor{{Queue: "root.a", Surplus: resources.Limits{spare}}},
			}, nil)
		}
		_, _, ok := b.Plan()
		assert.Equal(t, ok, spare == 8, "%d", spare)
	}
}
