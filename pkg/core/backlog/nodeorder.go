package backlog

import (
	"cmp"
	"iter"
	"maps"
	"math/bits"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/order"
	"github.com/narwhal-scheduler/narwhal/pkg/core/tables"
	"github.com/narwhal-scheduler/narwhal/pkg/core/topology"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A NodeOrder keeps the open nodes in the order in which they are tried, with the
// most room in every subtree, so that a search skips nodes without room.
type NodeOrder struct {
	Tree    order.Tree[*orderedNode]
	nodes   []*orderedNode // by the slots of nodes
	visited *uint64
	weights []weight
	Packing bool
	Devices *deviceOrder // nil unless nodes are tried by their devices
	Domains *topology.Topology
	byUse   bool // of nodes that are alike for the order, those of the domain that is used most come first
}

// NewNodeOrder is an order without nodes, which counts what it looks at.
func NewNodeOrder(visited *uint64, domains *topology.Topology) NodeOrder {
	return NodeOrder{Tree: order.Tree[*orderedNode]{Looked: visited}, visited: visited, Domains: domains}
}

// An orderedNode is a node as the order knows it. It stands in it while it is schedulable.
type orderedNode struct {
	*ledger.Node
	links order.Links[*orderedNode]
	tie   tie
	most  resources.Amounts // room on any node of the subtree
}

// Before orders by score, lowest first, then by domain and ID.
func (n *orderedNode) Before(other *orderedNode) bool {
	if n.tie.score != other.tie.score { // mostly, and IDs are elsewhere in memory
		return n.tie.score < other.tie.score
	}
	if n.tie.domain != other.tie.domain {
		if is := compareDomains(n.tie.domain, other.tie.domain); is != 0 {
			return is < 0
		}
	}
	return n.ID < other.ID
}

// Links are the place in the order of the partition.
func (n *orderedNode) Links() *order.Links[*orderedNode] { return &n.links }

// Summarise works out the most room in a subtree of the order.
func (n *orderedNode) Summarise() bool {
	changed := false
	left, right := n.links.Left, n.links.Right
	n.widenMost(left, right)
	for i := range n.most {
		most := n.Room.Of(resources.Kind(i))
		if left != nil {
			most = max(most, left.most.Of(resources.Kind(i)))
		}
		if right != nil {
			most = max(most, right.most.Of(resources.Kind(i)))
		}
		changed = changed || n.most[i] != most
		n.most[i] = most
	}
	return changed
}

// widenMost makes room for kinds that were not known before.
func (n *orderedNode) widenMost(left, right *orderedNode) {
	width := len(n.Room)
	if left != nil {
		width = max(width, len(left.most))
	}
	if right != nil {
		width = max(width, len(right.most))
	}
	for len(n.most) < width {
		n.most = append(n.most, 0)
	}
}

// of is what the order knows of a node; nil before its first place, and after it has gone.
func (o *NodeOrder) of(n *ledger.Node) *orderedNode {
	if at := *tables.At(&o.nodes, n.Slot); at != nil && at.Node == n {
		return at
	}
	return nil
}

// has reports whether a node is open, and so stands in the order.
func (o *NodeOrder) has(n *ledger.Node) bool {
	at := o.of(n)
	return at != nil && at.links.In()
}

// Reposition brings the place of a node up to date. One that is gone is known no longer then.
func (o *NodeOrder) Reposition(n *ledger.Node) {
	at, is := o.of(n), tie{score: o.scoreOf(n)}
	if at == nil {
		at = &orderedNode{Node: n}
		o.nodes[n.Slot] = at
	}
	if o.Domains.Active {
		o.Domains.Change(n, o.usedOf(is.score))
		is.domain = o.domainOf(n)
	}
	o.Tree.Settle(at, n.Schedulable && !n.Gone, is != at.tie, true, func() { at.tie = is })
	if n.Gone {
		o.nodes[n.Slot] = nil
	}
	if o.Devices != nil {
		o.Devices.note(n)
	}
}

// Rebuild puts nodes in order again after what decides it has changed.
func (o *NodeOrder) Rebuild(nodes func(func(*ledger.Node) bool)) {
	for n := range nodes {
		if o.has(n) {
			o.Tree.Remove(o.of(n))
		}
	}
	for n := range nodes {
		o.Reposition(n)
	}
}

// First is the first node in order that has room.
func (o *NodeOrder) First(ask resources.Amounts) *ledger.Node {
	if o.Devices != nil {
		return o.Devices.of(ask).first(o.byUse)
	}
	n := o.firstBelow(o.Tree.Root(), ask)
	if o.byUse && n != nil {
		return firstTie(o.Tree.Root(), o.of(n), ask).Node
	}
	return n
}

// Next is the first node after another in order that has room.
func (o *NodeOrder) Next(after *ledger.Node, ask resources.Amounts) *ledger.Node {
	if o.Devices != nil {
		return o.Devices.of(ask).next(after, o.byUse)
	}
	if o.byUse {
		if next := nextTie(o.Tree.Root(), o.of(after), ask); next != nil {
			return next.Node
		}
		return nil
	}
	return o.nextBelow(o.Tree.Root(), o.of(after), ask)
}

// WithRoom are all nodes that have room, in order, with how well they suit it, from 0 to 100. It takes a step
// for each of them, and for each that is a neighbour of one in the tree.
func (o *NodeOrder) WithRoom(ask resources.Amounts) iter.Seq2[*ledger.Node, int64] {
	return func(yield func(*ledger.Node, int64) bool) {
		if o.Devices != nil {
			ranked := o.Devices.of(ask)
			place, count := 0, ranked.len()
			for n := range ranked.all {
				if !yield(n, int64(pointsMax-pointsMax*place/count)) {
					return
				}
				place++
			}
			return
		}
		o.allBelow(o.Tree.Root(), ask, yield)
	}
}

// Compare compares nodes that have room for an ask as they stand in order, but for what is used of their domains.
func (o *NodeOrder) Compare(ask resources.Amounts) func(a, b *ledger.Node) int {
	if o.Devices != nil {
		ranked := o.Devices.of(ask)
		return func(a, b *ledger.Node) int {
			x, y := *tables.At(&ranked.bySlot, a.Slot), *tables.At(&ranked.bySlot, b.Slot)
			if x == nil || y == nil { // what is kept there for others is to be taken
				return cmp.Compare(a.ID, b.ID)
			}
			return ranked.compare(x, y)
		}
	}
	return func(a, b *ledger.Node) int {
		return cmp.Or(compareTies(o.of(a).tie, o.of(b).tie), cmp.Compare(a.ID, b.ID))
	}
}

// pointsMax is what a node has that suits the order best.
const pointsMax = 100

func (o *NodeOrder) allBelow(top *orderedNode, ask resources.Amounts, yield func(*ledger.Node, int64) bool) bool {
	if top == nil {
		return true
	}
	*o.visited++
	if !ask.FitsIn(top.most) {
		return true
	}
	return o.allBelow(top.links.Left, ask, yield) &&
		(!ask.FitsIn(top.Room) || yield(top.Node, pointsMax-top.tie.score*pointsMax/scoreMax)) &&
		o.allBelow(top.links.Right, ask, yield)
}

func (o *NodeOrder) firstBelow(top *orderedNode, ask resources.Amounts) *ledger.Node {
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
	if ask.FitsIn(top.Room) {
		return top.Node
	}
	return o.firstBelow(top.links.Right, ask)
}

func (o *NodeOrder) nextBelow(top, after *orderedNode, ask resources.Amounts) *ledger.Node {
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
	if ask.FitsIn(top.Room) {
		return top.Node
	}
	return o.firstBelow(top.links.Right, ask)
}

// Configure sets what decides the order.
func (o *NodeOrder) Configure(kinds *resources.Kinds, c api.NodeOrder) {
	o.Packing = c.Packing || len(c.Devices) > 0 || c.Scarcity
	o.setWeights(kinds, c.Weights)
	o.byUse = o.Packing && o.Domains.HasLists()
	o.Devices = newDeviceOrder(kinds, o, c)
}

// setWeights brings the weights of the kinds into the range of a score.
func (o *NodeOrder) setWeights(kinds *resources.Kinds, weights map[string]int64) {
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
	for _, name := range sortedNames(weights) {
		kind, err := kinds.Intern(name)
		if err != nil || weights[name] <= 0 {
			continue
		}
		o.weights = append(o.weights, weight{kind, uint64(max(weights[name]>>scale, 1))})
	}
}

func sortedNames(of map[string]int64) []string { return slices.Sorted(maps.Keys(of)) }

// scoreMax is the score of a node that is used up in the kinds that count.
const scoreMax = 1 << 28

// weight is how much one kind counts in the score of a node, at most weightMax.
type weight struct {
	kind   resources.Kind
	weight uint64
}

const weightMax = 1_000_000

// scoreOf is the weighted mean of the used part of each kind the node has, from
// zero to scoreMax, turned round for packing. Integers keep the order total; with
// 256 kinds of weightMax, the most that are configured, the sum stays below 2^56.
func (o *NodeOrder) scoreOf(n *ledger.Node) int64 {
	var sum, total uint64
	for _, w := range o.weights {
		capacity := n.Capacity.Of(w.kind)
		if capacity <= 0 {
			continue
		}
		used := min(max(resources.Total(capacity, -n.Free.Of(w.kind), n.Assumed(w.kind)), 0), capacity)
		hi, lo := bits.Mul64(uint64(used), scoreMax)
		part, _ := bits.Div64(hi, lo, uint64(capacity))
		sum += part * w.weight
		total += w.weight
	}
	if total == 0 {
		return 0
	}
	score := int64(sum / total)
	if o.Packing {
		return scoreMax - score
	}
	return score
}
