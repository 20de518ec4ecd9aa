package tables_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/tables"
)

// TestNumbersAreDense takes numbers and gives them back in any order: none is taken twice, and none is
// as large as the most that were taken at one time.
func TestNumbersAreDense(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		numbers, taken, most := tables.From(1), []int32{}, 0
		for range 500 {
			if len(taken) > 0 && r.IntN(2) == 0 {
				at := r.IntN(len(taken))
				numbers.GiveBack(taken[at])
				taken = slices.Delete(taken, at, at+1)
			} else {
				taken = append(taken, numbers.Take())
			}
			most = max(most, len(taken))
			assert.Equal(t, numbers.Used(), len(taken))
			sorted := slices.Sorted(slices.Values(taken))
			assert.Equal(t, len(slices.Compact(sorted)), len(taken))
			assert.Assert(t, len(taken) == 0 || sorted[0] >= 1 && int(sorted[len(sorted)-1]) <= most)
		}
	}
}

// TestAt lets a table grow to the place that is asked for, and not shrink.
func TestAt(t *testing.T) {
	var table []string
	*tables.At(&table, 2) = "third"
	*tables.At(&table, 0) = "first"
	assert.DeepEqual(t, table, []string{"first", "", "third"})
}

// TestTable knows something of objects by their numbers, which may be far from each other, and nothing of one
// that has the number of another.
func TestTable(t *testing.T) {
	var table tables.Table[string, int]
	table.Drop(3)
	*table.Of(3, "a") += 7
	*table.Of(70_000, "far") += 2
	assert.Assert(t, table.Get(3, "a") == 7 && table.Get(70_000, "far") == 2 && table.Get(3, "b") == 0 && table.Get(640, "a") == 0 && table.Get(99_000, "a") == 0)
	*table.Of(3, "b") += 5
	assert.Assert(t, table.Get(3, "a") == 0 && *table.Of(3, "b") == 5)
	table.Drop(3)
	table.Drop(640)
	left := maps.Collect(table.All)
	assert.DeepEqual(t, left, map[int32]string{70_000: "far"})
}

// TestSwapRemove: what took the place of another knows it.
func TestSwapRemove(t *testing.T) {
	type item struct{ at int }
	list := []*item{{0}, {1}, {2}}
	first, last := list[0], list[2]
	list = tables.SwapRemove(list, first.at, func(i *item) *int { return &i.at })
	assert.Assert(t, len(list) == 2 && list[0] == last && last.at == 0)
}

// TestCounts compares counts with a map.
func TestCounts(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		var counts tables.Counts
		naive := map[int32]int{}
		for range 300 {
			priority := int32(r.IntN(9))
			if naive[priority] > 0 && r.IntN(2) == 0 {
				counts.Remove(priority)
				naive[priority]--
			} else {
				counts.Add(priority)
				naive[priority]++
			}
			below := false
			for other, count := range naive {
				below = below || other < priority && count > 0
			}
			assert.Equal(t, counts.Below(priority), below)
			for _, c := range counts {
				assert.Equal(t, naive[c.Priority], c.Count)
				assert.Assert(t, c.Count > 0)
			}
		}
	}
}
