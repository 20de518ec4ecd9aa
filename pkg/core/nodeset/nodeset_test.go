package nodeset

import (
	"math/rand/v2"
	"testing"

	"gotest.tools/v3/assert"
)

// TestAgainstMap: a node is in the set from when it is added, or from the beginning where
// all are, until it changes, and a copy does not change with the set.
func TestAgainstMap(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	changed := make([]uint64, 300) // more than fit in one word
	count := uint64(7)
	for range 50 {
		set, known := New(count), map[int]bool{}
		if r.IntN(2) == 0 {
			set = All(count)
		}
		for n := range changed {
			known[n] = set.IsAll()
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
					before = set.Share()
				}
				was := before.Has(int32(n), changed[n])
				set.Add(int32(n), changed[n], count)
				assert.Equal(t, before.Has(int32(n), changed[n]), was)
				known[n] = true
			}
			for _, n := range []int{n, r.IntN(len(changed))} {
				assert.Equal(t, set.Has(int32(n), changed[n]), known[n], "node %d", n)
			}
		}
	}
}
