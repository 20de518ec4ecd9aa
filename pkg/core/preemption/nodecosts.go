package preemption

import (
	"github.com/narwhal-scheduler/narwhal/pkg/core/backlog"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A Key is what asks have in common for which making room costs the same
// on every node.
type Key struct {
	Class   *backlog.Class // without constraints
	Leaf    *ledger.Queue  // of the asks; nil for a queue over its max, which has no ask
	Scope   *ledger.Queue  // that victims are in
	Trigger preemptor.Trigger
}

// NodeCosts are what it costs to make room for the asks of one key on every node. The
// nodes where it is possible stand in a heap, the cheapest first. What was worked out for
// a node holds until the node changes, so the next ask of the key looks at the nodes that
// changed and at the best one only. Until its cost is worked out, and again after a
// change, a node stands there with a lower bound. Of the others only the status is kept,
// so that a key for which there is no room anywhere needs little memory.
type NodeCosts struct {
	Key
	costMemory

	counts [statuses]int
	near   NodeCost // of the insufficient nodes the one that lacks the least; none if it has changed
	Seen   uint64   // the generation of nodes that is taken into account
	used   uint64   // when it was used last

	Relations    map[*ledger.Queue]*Relation
	guarded      []*ledger.Queue
	floorNumbers map[*ledger.Queue]int32 // of guarded
	floors       []preemptor.Floor       // of guarded, as of this attempt
	numbers      []int32                 // of guarded, in the input that is being made, from one
	// needs are, by guarded, the most of its surplus that victims could use up on
	// one node. While there is more, what was worked out for the nodes holds.
	needs []resources.Amounts
	// Volatile are the nodes where a surplus is not enough for all candidates, or
	// budgets or groups count: what they cost depends on more than the node.
	Volatile  []*ledger.Node
	regrouped uint64 // ledger.regrouped then
	deficits  []bool // of the queues of the asks, as of this attempt

	Attempt uint64 // the last attempt for which everything was brought up to date
	goesOn  bool   // an attempt goes on for which that was done before
	moved   bool   // a surplus is another one since
	broken  bool   // and what was worked out for some node does not hold

	// behind are the asks that wait behind one of the key, alike says that all have its size, step
	// divides what any of them needs, and expected counts how often they were others.
	behind   []preemptor.Behind
	all      resources.Amounts // what all of a group ask for in the leaf; nil for an ask by itself
	Alike    bool
	step     resources.Amounts
	unowed   []resources.Kind // of which nothing is freed for those behind
	Expected uint32
}

// A costMemory is what takes space. That of costs which are dropped is used for those of the next key
// (see BenchmarkAttempt, each-its-own).
type costMemory struct {
	Heap   []NodeCost   // of the nodes that are sufficient or not evaluated
	at     []int32      // the places in the heap by node.slot, from one
	Status []nodeStatus // of every node, by node.slot
}

// A NodeCost is a node and what it costs to make room there, at least.
type NodeCost struct {
	Node   *ledger.Node
	Cost   preemptor.Cost
	Status nodeStatus
	// shared says that the victims serve asks behind too: those of a number of NodeCosts.expected.
	// Bounded says that they might be worth more if more waited.
	Shared, bounded bool
	Expected        uint32
}

// nodeStatus is what is known of a node.
type nodeStatus uint8

// What is known of a node.
const (
	absent nodeStatus = iota // there is no such node, or it is left out for now
	notEvaluated
	closed       // to the ask: cordoned, kept for other asks, or with overdue evictions
	tooSmall     // it could never hold the ask
	insufficient // too little can be freed
	Sufficient
	statuses = iota
)

// InHeap reports whether nodes of a status stand in the heap.
func (s nodeStatus) InHeap() bool { return s == notEvaluated || s == Sufficient }

// nodes is how many nodes there are.
func (c *NodeCosts) nodes() (n int) {
	for _, count := range c.counts[notEvaluated:] {
		n += count
	}
	return n
}

// Less compares by cost, then by node.
func (a *NodeCost) Less(b *NodeCost) bool {
	for k := range a.Cost {
		if a.Cost[k] != b.Cost[k] {
			return a.Cost[k] < b.Cost[k]
		}
	}
	return a.Node.ID < b.Node.ID
}

func (c *NodeCosts) before(i, j int) bool { return c.Heap[i].Less(&c.Heap[j]) }

func (c *NodeCosts) swap(i, j int) {
	c.Heap[i], c.Heap[j] = c.Heap[j], c.Heap[i]
	c.at[c.Heap[i].Node.Slot], c.at[c.Heap[j].Node.Slot] = int32(i+1), int32(j+1)
}

func (c *NodeCosts) up(i int) int {
	for i > 0 && c.before(i, (i-1)/2) {
		c.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
	return i
}

func (c *NodeCosts) down(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(c.Heap); child++ {
			if c.before(child, least) {
				least = child
			}
		}
		if least == i {
			return
		}
		c.swap(i, least)
		i = least
	}
}

// find is the place of a node in the heap.
func (c *NodeCosts) find(n *ledger.Node) (int, bool) {
	if int(n.Slot) >= len(c.at) {
		return 0, false
	}
	i := int(c.at[n.Slot]) - 1
	return i, i >= 0
}

// put sets what is known of a node.
func (c *NodeCosts) put(next NodeCost) {
	c.setStatus(next.Node, next.Status)
	switch i, known := c.find(next.Node); {
	case !next.Status.InHeap():
		if known {
			c.remove(i)
		}
		if next.Status == insufficient && (c.near.Node == nil || next.Less(&c.near)) {
			c.near = next
		}
	case known:
		c.Heap[i] = next
		c.down(c.up(i))
	default:
		i = len(c.Heap)
		c.Heap = append(c.Heap, next)
		for len(c.at) <= int(next.Node.Slot) {
			c.at = append(c.at, 0)
		}
		c.at[next.Node.Slot] = int32(i + 1)
		c.up(i)
	}
}

// setStatus counts a node with another status.
func (c *NodeCosts) setStatus(n *ledger.Node, next nodeStatus) {
	for len(c.Status) <= int(n.Slot) {
		c.Status = append(c.Status, absent)
	}
	c.counts[c.Status[n.Slot]]--
	c.Status[n.Slot] = next
	c.counts[next]++
	if c.near.Node == n {
		c.near = NodeCost{}
	}
}

// drop forgets a node.
func (c *NodeCosts) drop(n *ledger.Node) {
	c.setStatus(n, absent)
	if i, known := c.find(n); known {
		c.remove(i)
	}
}

// remove takes a place out of the heap.
func (c *NodeCosts) remove(i int) {
	last := len(c.Heap) - 1
	c.swap(i, last)
	c.at[c.Heap[last].Node.Slot] = 0
	c.Heap[last] = NodeCost{}
	c.Heap = c.Heap[:last]
	if i < last {
		c.down(c.up(i))
	}
}

// compact gives memory back that an empty heap does not need.
func (c *NodeCosts) compact() {
	if len(c.Heap) == 0 {
		c.Heap, c.at = nil, nil
	}
}
