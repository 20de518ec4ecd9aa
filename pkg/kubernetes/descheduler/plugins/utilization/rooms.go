package utilization

import (
	"math"
	"math/bits"
)

// rooms says whether one of the nodes that may get pods holds a pod. It is a tree: a leaf has
// what is free of each dimension on one node, and what is above it the most of the two
// below. A question goes down only where each dimension may have enough, so that it does
// not look at all nodes, and a move changes one path.
type rooms struct {
	thresholds []Percentage // at which a node is full
	takes      func(*account) bool
	accounts   []*account
	index      map[*account]int
	in         []bool // by index: the node may get pods
	count      int    // of these
	first      int    // number of the first leaf; the top is 1, and below i are 2i and 2i+1
	free       []int64
	looks      int // at parts of the tree, for tests
}

// noRoom is what is free where no pod may go.
const noRoom = math.MinInt64

// newRooms makes rooms of those accounts that takes says may get pods.
func newRooms(accounts []*account, thresholds []Percentage, takes func(*account) bool) *rooms {
	r := &rooms{
		thresholds: thresholds, takes: takes, accounts: accounts,
		index: make(map[*account]int, len(accounts)), in: make([]bool, len(accounts)), first: 1,
	}
	for r.first < len(accounts) {
		r.first *= 2
	}
	r.free = make([]int64, 2*r.first*len(thresholds))
	for i := range r.free {
		r.free[i] = noRoom
	}
	for i, a := range accounts {
		r.index[a] = i
		if takes(a) {
			r.in[i] = true
			r.count++
			r.measure(i)
		}
	}
	for i := r.first - 1; i > 0; i-- {
		r.join(i)
	}
	return r
}

// anyAccount lets all nodes get pods.
func anyAccount(*account) bool { return true }

// has says whether a node may get pods.
func (r *rooms) has(a *account) bool {
	i, known := r.index[a]
	return known && r.in[i]
}

// update notes that the use of a node has changed.
func (r *rooms) update(a *account) {
	i, known := r.index[a]
	if !known {
		return
	}
	r.measure(i)
	for i = (r.first + i) / 2; i > 0; i /= 2 {
		r.join(i)
	}
}

// review asks again whether a node may get pods.
func (r *rooms) review(a *account) {
	if r == nil {
		return
	}
	i, known := r.index[a]
	if !known {
		return
	}
	if before := r.in[i]; before {
		r.count--
	}
	if r.in[i] = r.takes(a); r.in[i] {
		r.count++
	}
	r.update(a)
}

// hold says whether one of the nodes stays at or below the thresholds with a pod more.
func (r *rooms) hold(amounts []int64) bool { return r.count > 0 && r.below(1, amounts) }

func (r *rooms) below(i int, amounts []int64) bool {
	r.looks++
	for d, free := range r.at(i) {
		if amounts[d] > free {
			return false
		}
	}
	return i >= r.first || r.below(2*i, amounts) || r.below(2*i+1, amounts)
}

// at is what is free at one part of the tree.
func (r *rooms) at(i int) []int64 {
	n := len(r.thresholds)
	return r.free[i*n : (i+1)*n]
}

// join works out a part of the tree from the two below it.
func (r *rooms) join(i int) {
	left, right := r.at(2*i), r.at(2*i+1)
	for d := range left {
		r.at(i)[d] = max(left[d], right[d])
	}
}

// measure works out a leaf.
func (r *rooms) measure(i int) {
	a, free := r.accounts[i], r.at(r.first+i)
	for d, threshold := range r.thresholds {
		free[d] = noRoom
		if r.in[i] {
			free[d] = partOf(a.all[d], threshold) - a.used[d]
		}
	}
}

// partOf is the most that may be used of all without being above a part of it.
func partOf(all int64, part Percentage) int64 {
	if all <= 0 || part <= 0 {
		return 0
	}
	high, low := bits.Mul64(uint64(all), uint64(part))
	whole, _ := bits.Div64(high, low, uint64(full)) // a part is at most all of it
	return int64(whole)
}
