package core

import (
	"math/rand/v2"
	"testing"

	"gotest.tools/v3/assert"
)

// TestNodeSetAgainstMap: a node is in the set from when it is added, or from the beginning where
// all are, until it changes, and a copy does not change with the set.
func TestNodeSetAgainstMap(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	changed := make([]uint64, 300) // more than fit in one word
	count := uint64(7)
	for range 50 {
		set, known := nodeSet{since: count, all: r.IntN(2) == 0}, map[int]bool{}
		for n := range changed {
			known[n] = set.all
		}
		for range 400 {
			n := r.IntN(len(changed))
			switch r.IntN(3) {
			case 0:
				count++
				changed[n] = count
				delete(known, n)
			default:
				before := set.clone()
				if r.IntN(2) == 0 {
					before = set.view()
				}
				was := before.has(int32(n), changed[n])
				set.add(int32(n), changed[n], count)
				assert.Equal(t, before.has(int32(n), changed[n]), was)
				known[n] = true
			}
			for _, n := range []int{n, r.IntN(len(changed))} {
				assert.Equal(t, set.has(int32(n), changed[n]), known[n], "node %d", n)
			}
		}
	}
}
