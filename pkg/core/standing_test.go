package core

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"testing"

	"gotest.tools/v3/assert"
)

// A stander is an ask of a leaf.
type stander struct {
	leaf     *queue
	priority int32
	Standing
}

// standers are asks of leaves below some queues, of which some have fences and offsets.
func standers(random *rand.Rand) (list []stander) {
	parents := []*queue{newQueue(nil, &QueueConfig{Name: "root"})}
	for i := range 8 {
		q := newQueue(parents[random.IntN(len(parents))], &QueueConfig{Name: fmt.Sprint("q", i)})
		q.properties.PriorityFence, q.properties.PriorityOffset = random.IntN(2) == 0, int32(random.IntN(3))
		parents = append(parents, q)
	}
	for range 6 {
		leaf, priority := parents[random.IntN(len(parents))], int32(random.IntN(4))
		list = append(list, stander{leaf, priority, leaf.standing(priority)})
	}
	return list
}

// TestStandingsCompareWherePathsMeet compares standings with the priorities that the lowest
// queue above both asks sees. What is kept for two asks is kept from those that either is
// kept from, and the order of asks is total and puts the higher ones first.
func TestStandingsCompareWherePathsMeet(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	seen := func(s stander, above *queue) int64 {
		value, fixed := seenAt(s.leaf, above)
		if fixed {
			return value
		}
		return value + int64(s.priority)
	}
	higher := 0
	for range 3000 {
		list := standers(random)
		for _, a := range list {
			for _, b := range list {
				common := commonQueue(a.leaf, b.leaf)
				order := a.compare(b.Standing)
				assert.Equal(t, order, cmp.Compare(seen(a, common), seen(b, common)), "%v %v", a, b)
				rank := a.inOrder(a.priority, b.Standing, b.priority)
				assert.Equal(t, rank, -b.inOrder(b.priority, a.Standing, a.priority))
				if order > 0 {
					higher++
					assert.Equal(t, rank, -1, "%v %v", a, b)
				}
				for _, c := range list {
					either := a.compare(c.Standing) >= 0 || b.compare(c.Standing) >= 0
					assert.Equal(t, a.join(b.Standing).compare(c.Standing) >= 0, either, "%v %v %v", a, b, c)
					if next := b.inOrder(b.priority, c.Standing, c.priority); rank <= 0 && next <= 0 {
						assert.Assert(t, a.inOrder(a.priority, c.Standing, c.priority) <= 0, "%v %v %v", a, b, c)
					}
				}
			}
		}
	}
	assert.Assert(t, higher > 3000)
}
