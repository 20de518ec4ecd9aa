package order_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/order"
)

// card is an item whose summary is the largest value of its subtree.
type card struct {
	rank, value, most int
	links             order.Links[*card]
}

func (c *card) Before(other *card) bool    { return c.rank < other.rank }
func (c *card) Links() *order.Links[*card] { return &c.links }
func (c *card) Summarise() bool {
	most := c.value
	for _, child := range []*card{c.links.Left, c.links.Right} {
		if child != nil {
			most = max(most, child.most)
		}
	}
	changed := most != c.most
	c.most = most
	return changed
}

// check compares a tree with the sorted list of what should be in it, and every
// summary with a recount.
func check(t *testing.T, tree *order.Tree[*card], want []*card) {
	t.Helper()
	slices.SortFunc(want, func(a, b *card) int { return a.rank - b.rank })
	assert.Assert(t, slices.Equal(slices.Collect(tree.All), want))
	if first := tree.First(); len(want) > 0 {
		assert.Equal(t, first, want[0])
	} else {
		assert.Assert(t, first == nil)
	}
	assert.Equal(t, tree.Len(), len(want))
	recount(t, tree.Root())
}

func recount(t *testing.T, c *card) int {
	t.Helper()
	if c == nil {
		return -1
	}
	most := max(c.value, recount(t, c.links.Left), recount(t, c.links.Right))
	assert.Equal(t, c.most, most)
	return most
}

// TestTreeIsASortedList does the same to a tree and to a list.
func TestTreeIsASortedList(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 0))
		var tree order.Tree[*card]
		var in []*card
		for i := range 300 {
			switch {
			case len(in) == 0 || r.IntN(3) > 0:
				c := &card{rank: r.IntN(100)*1000 + i, value: r.IntN(50)}
				assert.Assert(t, !c.links.In())
				tree.Insert(c)
				assert.Assert(t, c.links.In())
				in = append(in, c)
			case r.IntN(2) == 0:
				i := r.IntN(len(in))
				tree.Remove(in[i])
				assert.Assert(t, !in[i].links.In())
				in = slices.Delete(in, i, i+1)
			default:
				c := in[r.IntN(len(in))]
				c.value = r.IntN(50)
				tree.Touch(c)
			}
			check(t, &tree, slices.Clone(in))
		}
	}
}

// TestSettle tries every change of an item in the tree and of one outside. The update
// is made if and only if there is something to do.
func TestSettle(t *testing.T) {
	for n := range 16 {
		in, wanted, moved, changed := n&1 != 0, n&2 != 0, n&4 != 0, n&8 != 0
		var tree order.Tree[*card]
		item := &card{rank: 50, value: 1}
		others := []*card{{rank: 20, value: 3}, {rank: 40, value: 2}, {rank: 60, value: 4}, {rank: 80, value: 3}}
		for _, c := range others {
			tree.Insert(c)
		}
		if in {
			tree.Insert(item)
		}
		updated := false
		done := tree.Settle(item, wanted, moved, changed, func() {
			updated = true
			if moved {
				item.rank = 10
			}
			if moved || changed {
				item.value = 9
			}
		})
		want := in != wanted || in && (moved || changed)
		assert.Equal(t, done, want, "in %t wanted %t moved %t changed %t", in, wanted, moved, changed)
		assert.Equal(t, updated, want)
		assert.Equal(t, item.links.In(), wanted)
		if wanted {
			others = append(others, item)
		}
		check(t, &tree, others)
	}
}

// TestAllStops ends a visit when it is told to.
func TestAllStops(t *testing.T) {
	var tree order.Tree[*card]
	for i := range 10 {
		tree.Insert(&card{rank: i})
	}
	seen := 0
	for c := range tree.All {
		if seen++; c.rank == 4 {
			break
		}
	}
	assert.Equal(t, seen, 5)
}

// TestDepthIsLogarithmic counts what an insertion compares with, for items that
// arrive sorted, which is the worst case of a tree that does not balance.
func TestDepthIsLogarithmic(t *testing.T) {
	var looked uint64
	tree := order.Tree[*card]{Looked: &looked}
	const n = 1 << 16
	for i := range n {
		tree.Insert(&card{rank: i})
	}
	assert.Assert(t, looked/n <= 20, "%d looked at for each insertion", looked/n)
	assert.Equal(t, testing.AllocsPerRun(10, func() {
		c := tree.Root()
		tree.Remove(c)
		tree.Insert(c)
	}), 0.0)
}

// way counts the items from the top to where an item is, or would be.
func way(top, item *card) int {
	switch {
	case top == nil:
		return 0
	case top == item:
		return 1
	case item.Before(top):
		return 1 + way(top.links.Left, item)
	default:
		return 1 + way(top.links.Right, item)
	}
}

// TestLookedCountsTheWay: an insertion looks at the items of the way, at one of them
// twice where it divides a subtree; a removal also at those that it joins below.
func TestLookedCountsTheWay(t *testing.T) {
	var looked uint64
	tree := order.Tree[*card]{Looked: &looked}
	var all []*card
	for i := range 200 {
		c := &card{rank: i * 83 % 200}
		all = append(all, c)
		want := way(tree.Root(), c)
		looked = 0
		tree.Insert(c)
		assert.Assert(t, looked == uint64(want) || looked == uint64(want)+1, "%d looked at, the way has %d", looked, want)
	}
	joined := 0
	for _, c := range all {
		want := way(tree.Root(), c)
		looked = 0
		tree.Touch(c)
		assert.Equal(t, looked, uint64(want))
		looked = 0
		tree.Remove(c)
		assert.Assert(t, looked >= uint64(want))
		joined += int(looked) - want
	}
	assert.Assert(t, joined > len(all)/2, "%d", joined)
}
