package backlog

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
)

// TestGroupAgainstList adds and removes asks at random, beside a sorted list: the order
// is the same, and slots of removed asks do not pile up.
func TestGroupAgainstList(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 0))
		table := make([]waitingAsk, 1001)
		g := &AskGroup{asks: &table}
		var list, removed []*ledger.Request
		for i := range 1000 {
			switch {
			case len(list) > 0 && r.IntN(5) < 2:
				at := r.IntN(len(list))
				if r.IntN(2) == 0 {
					at = 0
				}
				g.remove(list[at])
				removed = append(removed, list[at])
				list = slices.Delete(list, at, at+1)
			default:
				q := &ledger.Request{Allocation: &api.Allocation{Key: api.AllocationKey(fmt.Sprint(i)), Created: time.Unix(int64(r.IntN(50)), 0)}, Number: uint64(i), Slot: int32(i + 1)}
				if len(removed) > 0 && r.IntN(4) == 0 {
					at := r.IntN(len(removed))
					q = removed[at]
					removed = slices.Delete(removed, at, at+1)
				}
				g.add(q)
				at, _ := slices.BinarySearchFunc(list, q, ByAge)
				list = slices.Insert(list, at, q)
			}
			assert.Equal(t, g.Live, len(list))
			if len(list) > 0 {
				assert.Assert(t, g.First() == list[0], "seed %d, step %d", seed, i)
			}
			assert.Assert(t, len(g.slots)-g.head <= max(64, 2*len(list)+1), "seed %d: %d slots for %d asks", seed, len(g.slots)-g.head, len(list))
		}
		var all []*ledger.Request
		for q := range g.All {
			all = append(all, q)
		}
		assert.Assert(t, slices.Equal(all, list), "seed %d", seed)
	}
}
