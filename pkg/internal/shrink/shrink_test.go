package shrink_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/internal/shrink"
)

// What is needed stays, whatever it is, and nothing else; a thousand elements of which few are needed take few tries.
func TestLeast(t *testing.T) {
	chance := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		list := make([]int, chance.IntN(1000))
		var needed []int
		for i := range list {
			if list[i] = i; chance.IntN(300) == 0 {
				needed = append(needed, i)
			}
		}
		tries := 0
		got := shrink.Least(list, func(some []int) bool {
			tries++
			return !slices.ContainsFunc(needed, func(n int) bool { return !slices.Contains(some, n) })
		})
		assert.Assert(t, slices.Equal(got, needed), "%v: %v", needed, got)
		assert.Assert(t, tries <= 40*(len(needed)+1), "%d needed, %d tries", len(needed), tries)
	}
}

// Where elements need each other no single one can be left out in the end.
func TestLeastOfWhatBelongsTogether(t *testing.T) {
	even := func(list []int) bool { return slices.Contains(list, 7) && len(list)%2 == 0 }
	got := shrink.Least([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, even)
	assert.Assert(t, even(got))
	for i := range got {
		assert.Assert(t, !even(slices.Delete(slices.Clone(got), i, i+1)), "%v", got)
	}
	assert.Equal(t, len(shrink.Least([]int{1}, func([]int) bool { return true })), 0)
}
