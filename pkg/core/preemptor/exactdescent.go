package preemptor

import (
	"cmp"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A descent goes depth first through the groups, in one of several orders, and
// tries how many of each go.
type descent struct {
	order   []int   // of groups
	rest    []int64 // by depth and row: what is open of the cover rows, and left of the others
	tails   []int64 // by depth and row: what all groups from there on hold
	worths  []int64 // by depth and relaxation: the worth of what is taken
	ceiling []int64 // by depth and relaxation: the most that the groups from there on add
	stop    int64   // the step after which it stops
	stopped bool

	failed []int64 // states known to fail, see noteFailed
	key    []int64
	runs   int64
}

// The orders in which the groups are tried.
const (
	byWorth = iota // the best relation of what is needed to what is used up first
	bySize         // the largest part of the need first
	byUse          // those that use up the least of what is scarce first
	byQueue        // queue after queue, so that what was tried in one is remembered
	orders         // how many there are
)

// arrange puts the groups in an order.
func (x *exact) arrange(order int) {
	x.descent.order = x.descent.order[:0]
	for i := range x.groups {
		x.descent.order = append(x.descent.order, i)
	}
	g := len(x.groups)
	worths := x.worth[(x.relaxations-1)*g:][:g]
	slices.SortFunc(x.descent.order, func(a, b int) int {
		first := 0
		switch order {
		case bySize:
			first = cmp.Compare(x.size[b], x.size[a])
		case byUse:
			first = cmp.Compare(x.use[a], x.use[b])
		case byQueue:
			first = slices.Compare(x.floorsOf(a), x.floorsOf(b))
		}
		return cmp.Or(first, cmp.Compare(worths[b], worths[a]), cmp.Compare(a, b))
	})
}

func (x *exact) floorsOf(g int) []int32 {
	return x.ranked[x.able[x.members[x.groups[g].from]]].Floors
}

// takeOneByOne takes, one after the other, the candidate that adds the most for
// what it uses up of what is left then. It reports whether that covers the need. It
// finds victims among many candidates, where a descent would not come back to its
// first decisions. What is arranged does not matter.
func (x *exact) takeOneByOne() bool {
	if !x.start() {
		return false
	}
	w := len(x.bounds)
	rest := x.rest[:w]
	for !x.isCovered(rest) {
		best, gain, use := -1, int64(0), int64(1)
		for i := range x.groups {
			g := &x.groups[i]
			column := x.columnOf(g)
			if g.taken == g.high || x.useful(g, column, rest) == 0 {
				continue
			}
			x.steps++
			adds, costs := x.gain(column, rest)
			if best < 0 || (resources.Share{Part: adds, Whole: costs}).Compare(resources.Share{Part: gain, Whole: use}) > 0 {
				best, gain, use = i, adds, costs
			}
		}
		if best < 0 {
			return false
		}
		x.groups[best].taken++
		x.lower(rest, rest, x.columnOf(&x.groups[best]), 1)
	}
	x.chosen = x.victims(x.chosen[:0])
	return x.isWithinLimit(rest)
}

// gain is what a column adds of what is open, and what it uses up of what is left,
// in parts of those.
func (r *rows) gain(column, rest []int64) (adds, costs int64) {
	costs = 1
	for row, v := range column {
		switch {
		case v <= 0 || rest[row] <= 0:
		case row < r.covers:
			adds += parts(min(v, rest[row]), rest[row], wholeRow)
		default:
			costs += parts(v, rest[row], wholeRow)
		}
	}
	return adds, costs
}

// run searches in the order that was arranged, up to this step.
func (x *exact) run(stop int64) answer {
	x.stop, x.stopped = stop, false
	x.runs++
	if !x.start() {
		return no
	}
	switch {
	case x.descend(0):
		return yes
	case x.stopped:
		return unknown
	default:
		return no
	}
}

// start takes the least of every group, and fills in what all groups from each
// depth on hold. It reports whether that breaks nothing.
func (x *exact) start() bool {
	w, n, m := len(x.bounds), len(x.groups), x.relaxations
	x.rest = slices.Grow(x.rest[:0], (n+1)*w)[:(n+1)*w]
	x.tails = slices.Grow(x.tails[:0], (n+1)*w)[:(n+1)*w]
	x.worths = slices.Grow(x.worths[:0], (n+1)*m)[:(n+1)*m]
	x.ceiling = slices.Grow(x.ceiling[:0], (n+1)*m)[:(n+1)*m]
	copy(x.rest[:w], x.bounds)
	clear(x.worths[:m])
	clear(x.tails[n*w:])
	clear(x.ceiling[n*m:])
	for at := n - 1; at >= 0; at-- {
		g := &x.groups[x.descent.order[at]]
		g.taken = g.low
		column := x.columnOf(g)
		free := int64(g.high - g.low)
		for row, v := range column {
			x.tails[at*w+row] = add(x.tails[(at+1)*w+row], times(free, v))
		}
		for i := range m {
			worth := x.worth[i*n+x.descent.order[at]]
			x.worths[i] += int64(g.low) * worth
			x.ceiling[at*m+i] = x.ceiling[(at+1)*m+i] + free*max(worth, 0)
		}
		if g.low > 0 && !x.lower(x.rest[:w], x.rest[:w], column, g.low) {
			return false
		}
	}
	return true
}

// descend decides about the groups from a depth on.
func (x *exact) descend(at int) bool {
	if x.steps++; x.steps > x.stop {
		x.stopped = true
		return false
	}
	w, m := len(x.bounds), x.relaxations
	rest := x.rest[at*w : at*w+w]
	if x.isCovered(rest) {
		x.chosen = x.victims(x.chosen[:0])
		return x.isWithinLimit(rest)
	}
	if at == len(x.groups) || x.isHopeless(at, rest) || x.failedBefore(at, rest) {
		return false
	}
	index := x.descent.order[at]
	g := &x.groups[index]
	column := x.columnOf(g)
	for count := x.useful(g, column, rest); count >= 0; count-- {
		x.lower(x.rest[at*w+w:at*w+2*w], rest, column, count)
		for i := range m {
			x.worths[at*m+m+i] = x.worths[at*m+i] + int64(count)*x.worth[i*len(x.groups)+index]
		}
		g.taken = g.low + count
		if x.descend(at + 1) {
			return true
		}
		if x.stopped {
			return false
		}
	}
	g.taken = g.low
	x.noteFailed(at, rest)
	return false
}

// useful is how many of a group may go, and are of use.
func (x *exact) useful(g *group, column, rest []int64) int {
	count, use := int64(g.high-g.low), int64(0)
	for row, v := range column {
		switch {
		case v <= 0:
		case row >= x.covers:
			count = min(count, rest[row]/v)
		case rest[row] > 0:
			use = max(use, (rest[row]-1)/v+1)
		}
	}
	return int(min(count, use))
}

// isHopeless reports whether the groups from a depth on cannot cover what is open,
// by each row and by each relaxation.
func (x *exact) isHopeless(at int, rest []int64) bool {
	w, m := len(x.bounds), x.relaxations
	for row, open := range rest[:x.covers] {
		if open > x.tails[at*w+row] {
			return true
		}
	}
	for i := range m {
		if x.worths[at*m+i]+x.ceiling[at*m+i] < x.target[i] {
			return true
		}
	}
	return x.limit > 0 && x.single && x.violationsOf(rest) > int64(x.limit)
}

// violationsOf is how many victims violate a budget, if none counts for two.
func (x *exact) violationsOf(rest []int64) int64 {
	var sum int64
	for _, row := range x.ofBudget {
		if row >= 0 {
			sum += max(int64(x.limit)-rest[row], 0)
		}
	}
	return sum
}

// isWithinLimit reports whether the chosen, in any order, violate few enough budgets.
// Further victims would not violate fewer.
func (x *exact) isWithinLimit(rest []int64) bool {
	switch {
	case x.limit <= 0:
		return true
	case x.single:
		return x.violationsOf(rest) <= int64(x.limit)
	}
	slices.Sort(x.chosen)
	return x.countViolations(x.chosen) <= x.limit
}

// failedMax is how many failed states are remembered, a power of two.
const failedMax = 1 << 12

// keyOf is a state: the depth, and what is open or left, as far as it matters to the
// groups from there on. The table is used again by the next run, so the run is part
// of the key, but not of the slot, so that no result depends on earlier plans.
func (x *exact) keyOf(at int, rest []int64) (slot int) {
	w := len(x.bounds)
	x.key = append(x.key[:0], -2-(x.runs<<16|int64(at))) // no other value is below -1
	hash := uint64(at)
	for row, v := range rest {
		tail := x.tails[at*w+row]
		slack := int64(0) // what a violation leaves
		if x.limit > 0 {
			slack = int64(x.limit)
		}
		if row >= x.covers && v-slack >= tail {
			v = -1 // enough is left
		}
		x.key = append(x.key, v)
		hash = (hash ^ uint64(v)) * 0x9E3779B97F4A7C15
		hash ^= hash >> 29
	}
	return int(hash>>20) & (failedMax - 1)
}

// failedBefore reports whether this state is known to fail.
func (x *exact) failedBefore(at int, rest []int64) bool {
	if !x.remembers(at) {
		return false
	}
	w := len(x.bounds) + 1
	slot := x.keyOf(at, rest)
	return len(x.failed) >= failedMax*w && slices.Equal(x.failed[slot*w:slot*w+w], x.key)
}

// noteFailed remembers that no victims complete this state. A later state may take
// its place.
func (x *exact) noteFailed(at int, rest []int64) {
	if !x.remembers(at) {
		return
	}
	w := len(x.bounds) + 1
	if len(x.failed) < failedMax*w {
		x.failed = make([]int64, failedMax*w)
	}
	slot := x.keyOf(at, rest)
	copy(x.failed[slot*w:slot*w+w], x.key)
}

// remembers reports whether the states at a depth are remembered: not the last ones,
// and not where the violations are not known from the rows.
func (x *exact) remembers(at int) bool {
	return at+2 < len(x.groups) && (x.limit <= 0 || x.single)
}
