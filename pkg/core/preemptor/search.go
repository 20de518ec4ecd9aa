package preemptor

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// answer is what is known of a question.
type answer uint8

const (
	unknown answer = iota
	no
	yes
)

// A search looks for a given number of candidates of a pool who cover the need:
// any (decide), or the lightest (lighten). It is depth first over the
// candidates by price, see bound.go. Those who come are all dearer, so what a
// branch comes to at least is one look at the sums of prices, and when it is
// too much, so it is in the rest of the level. Equal candidates lie next to each
// other, and once one of them was left out the others are too.
//
// The inner loops know a candidate by the parts of the need that it holds. The
// last of the victims is not searched for: for each kind there are sets of bits
// that say who holds enough of it, and their intersection is who may be last.
type search struct {
	plan  *plan
	kinds int   // of the need
	size  int   // of the pool
	count int   // how many to find
	most  int64 // steps allowed
	steps int64 // done; those of bounds do not count

	pool    []int   // indices of plan.ranked
	weights []int64 // by place in the pool
	parts   []int64 // kinds for each in the pool, of unit, rounded up
	prices  []int64
	picked  []int // of the lowest prices

	multipliers, best, lack []int64 // per kind

	order  []int   // places in the pool, by price
	price_ []int64 // by order, as all that follows
	sums   []int64 // of the prices before
	sizes  []int64 // parts
	same   []bool  // the one before is equal
	groups []int   // by plan.ranked: equal numbers, equal candidates
	tops   []int64 // most that r who come can add: kinds for each r and place
	enough []uint64 // who holds at least that much of a kind: words for each kind and level
	words  int

	rest  []int64 // what is missing with r to come: kinds for each r
	path  []int   // who was chosen with r to come
	limit int64   // of the sum of prices; lower with every find
	any   bool    // the first find is good enough

	kept       []int // indices of plan.ranked
	keptWeight int64
}
