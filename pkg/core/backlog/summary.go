package backlog

import (
	"cmp"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// leastOf is, for each kind, the least of up to three least amounts, nil ones left out:
// room that does not hold it holds none of the asks that they are of. Nil is of no asks.
// Least amounts are never changed, and many summaries share them: before is returned if it
// is the result already, and the amounts of a class where all asks want the same.
func leastOf(before, a, b, c *resources.Amounts) *resources.Amounts {
	if b == c && (b == nil || b == a) { // as in most summaries, where this is inlined
		return a
	}
	return leastOfSeveral(before, a, b, c)
}

func leastOfSeveral(before, a, b, c *resources.Amounts) *resources.Amounts {
	some := cmp.Or(a, b, c)
	if (a == nil || a == some) && (b == nil || b == some) && (c == nil || c == some) {
		return some
	}
	x, y, z := cmp.Or(a, some), cmp.Or(b, some), cmp.Or(c, some)
	for _, least := range [4]*resources.Amounts{before, x, y, z} {
		if least != nil && isLeast(*least, *x, *y, *z) {
			return least
		}
	}
	least := make(resources.Amounts, min(len(*x), len(*y), len(*z)))
	for i := range least {
		least[i] = min((*x)[i], (*y)[i], (*z)[i])
	}
	return &least
}

// isLeast reports whether amounts are the least of three others. What is beyond the end of
// one of them is zero, and nothing is less.
func isLeast(least, x, y, z resources.Amounts) bool {
	width := min(len(x), len(y), len(z))
	for i := range width {
		if least.Of(resources.Kind(i)) != min(x[i], y[i], z[i]) {
			return false
		}
	}
	return len(least) <= width || least[width:].IsZero()
}

// A Summary says what waits in a part of the backlog: all that a search needs to
// skip it. The zero value is not empty; EmptySummary is.
type Summary struct {
	Top      int32 // the highest priority
	ready    int32 // of what may be tried now: of open classes, and of those that room may be made for
	untried  bool  // a nominated class may fit some node
	attempts bool  // room may be made for some ask
	// Open is the least of the classes that may fit some node, parked of those that fit none
	// but nodes with new room; nominated is of nominated asks, whose quota is kept.
	Open, parked, nominated *resources.Amounts
	// Wanted is the least of the asks of limited users and groups for which room may be made,
	// now or later.
	wanted *resources.Amounts
}

// emptySummary is that of nothing.
var emptySummary = Summary{Top: api.PriorityNone, ready: api.PriorityNone}

// Become sets the summary of a subtree to that of an item and of the subtrees left
// and right of it, which may be nil. It reports whether it changed.
func (s *Summary) Become(own, left, right *Summary) bool {
	if left == nil {
		left = &emptySummary
	}
	if right == nil {
		right = &emptySummary
	}
	return s.set(Summary{
		Top:       max(own.Top, left.Top, right.Top),
		ready:     max(own.ready, left.ready, right.ready),
		untried:   own.untried || left.untried || right.untried,
		attempts:  own.attempts || left.attempts || right.attempts,
		Open:      leastOf(s.Open, own.Open, left.Open, right.Open),
		parked:    leastOf(s.parked, own.parked, left.parked, right.parked),
		nominated: leastOf(s.nominated, own.nominated, left.nominated, right.nominated),
		wanted:    leastOf(s.wanted, own.wanted, left.wanted, right.wanted),
	})
}

// set replaces the summary and reports whether it changed.
func (s *Summary) set(next Summary) bool {
	if *s == next {
		return false
	}
	*s = next
	return true
}
