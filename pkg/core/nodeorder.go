package core

import (
	"maps"
	"math/bits"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/order"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A nodeOrder keeps the open nodes in the order in which they are tried, with the
// most room in every subtree, so that a search skips nodes without room.
type nodeOrder struct {
	tree    order.Tree[*node]
	visited *uint64
	weights []weight
	packing bool
}

// reposition brings the place of a node up to date.
func (o *nodeOrder) reposition(n *node) {
	score := n.scored(o.weights, o.packing)
	o.tree.Settle(n, n.open() && !n.gone, score != n.score, true, func() { n.score = score })
}

// rebuild puts nodes in order again after what decides it has changed.
func (o *nodeOrder) rebuild(nodes func(func(*node) bool)) {
	for n := range nodes {
		if n.links.In() {
			o.tree.Remove(n)
		}
	}
	for n := range nodes {
		o.reposition(n)
	}
}

// first is the first node in order that has room.
func (o *nodeOrder) first(ask resources.Amounts) *node { return o.firstBelow(o.tree.Root(), ask) }

// next is the first node after another in order that has room.
func (o *nodeOrder) next(after *node, ask resources.Amounts) *node {
	return o.nextBelow(o.tree.Root(), after, ask)
}

func (o *nodeOrder) firstBelow(top *node, ask resources.Amounts) *node {
	if top == nil {
		return nil
	}
	*o.visited++
	if !ask.FitsIn(top.most) {
		return nil
	}
	if n := o.firstBelow(top.links.Left, ask); n != nil {
		return n
	}
	if ask.FitsIn(top.room) {
		return top
	}
	return o.firstBelow(top.links.Right, ask)
}

func (o *nodeOrder) nextBelow(top, after *node, ask resources.Amounts) *node {
	if top == nil {
		return nil
	}
	*o.visited++
	if !ask.FitsIn(top.most) {
		return nil
	}
	if !after.Before(top) {
		return o.nextBelow(top.links.Right, after, ask)
	}
	if n := o.nextBelow(top.links.Left, after, ask); n != nil {
		return n
	}
	if ask.FitsIn(top.room) {
		return top
	}
	return o.firstBelow(top.links.Right, ask)
}

// setWeights brings the weights of the kinds into the range of a score.
func (o *nodeOrder) setWeights(kinds *resources.Kinds, weights map[string]int64) {
	if len(weights) == 0 {
		weights = map[string]int64{resources.VCore: 1, resources.Memory: 1}
	}
	var most int64
	for _, w := range weights {
		most = max(most, w)
	}
	scale := 0
	for most>>scale > weightMax {
		scale++
	}
	o.weights = nil
	for _, name := range slices.Sorted(maps.Keys(weights)) {
		kind, err := kinds.Intern(name)
		if err != nil || weights[name] <= 0 {
			continue
		}
		o.weights = append(o.weights, weight{kind, uint64(max(weights[name]>>scale, 1))})
	}
}

// scoreMax is the score of a node that is used up in the kinds that count.
const scoreMax = 1 << 28

// weight is how much one kind counts in the score of a node, at most weightMax.
type weight struct {
	kind   resources.Kind
	weight uint64
}

const weightMax = 1_000_000

// scored is the weighted mean of the used part of each kind the node has, from
// zero to scoreMax, turned round for packing. Integers keep the order total; with
// 256 kinds of weightMax, the most that are configured, the sum stays below 2^56.
func (n *node) scored(weights []weight, packing bool) int64 {
	var sum, total uint64
	for _, w := range weights {
		capacity := n.capacity.Of(w.kind)
		if capacity <= 0 {
			continue
		}
		used := min(max(capacity-n.free.Of(w.kind), 0), capacity)
		hi, lo := bits.Mul64(uint64(used), scoreMax)
		part, _ := bits.Div64(hi, lo, uint64(capacity))
		sum += part * w.weight
		total += w.weight
	}
	if total == 0 {
		return 0
	}
	score := int64(sum / total)
	if packing {
		return scoreMax - score
	}
	return score
}
