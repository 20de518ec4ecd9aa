package core

import (
	"github.com/narwhal-scheduler/narwhal/pkg/core/backlog"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A preemptionKey is what asks have in common for which making room costs the same
// on every node.
type preemptionKey struct {
	class   *backlog.Class // without constraints
	leaf    *ledger.Queue  // of the asks; nil for a queue over its max, which has no ask
	scope   *ledger.Queue  // that victims are in
	trigger preemptor.Trigger
}

// nodeCosts are what it costs to make room for the asks of one key on every node. The
// nodes where it is possible stand in a heap, the cheapest first. What was worked out for
// a node holds until the node changes, so the next ask of the key looks at the nodes that
// changed and at the best one only. Until its cost is worked out, and again after a
// change, a node stands there with a lower bound. Of the others only the status is kept,
// so that a key for which there is no room anywhere needs little memory.
type nodeCosts struct {
	preemptionKey
	costMemory

	counts [statuses]int
	near   nodeCost // of the insufficient nodes the one that lacks the least; none if it has changed
	seen   uint64   // the generation of nodes that is taken into account
	used   uint64   // when it was used last

	relations    map[*ledger.Queue]*relation
	guarded      []*ledger.Queue
	floorNumbers map[*ledger.Queue]int32 // of guarded
	floors       []preemptor.Floor       // of guarded, as of this attempt
	numbers      []int32                 // of guarded, in the input that is being made, from one
	// needs are, by guarded, the most of its surplus that victims could use up on
	// one node. While there is more, what was worked out for the nodes holds.
	needs []resources.Amounts
	// volatile are the nodes where a surplus is not enough for all candidates, or
	// budgets or groups count: what they cost depends on more than the node.
	volatile  []*ledger.Node
	regrouped uint64 // ledger.regrouped then
	deficits  []bool // of the queues of the asks, as of this attempt

	attempt uint64 // the last attempt for which everything was brought up to date
	goesOn  bool   // an attempt goes on for which that was done before
	moved   bool   // a surplus is another one since
	broken  bool   // and what was worked out for some node does not hold

	// behind are the asks that wait behind one of the key, alike says that all have its size, step
	// divides what any of them needs, and expected counts how often they were others.
	behind   []preemptor.Behind
	alike    bool
	step     resources.Amounts
	unowed   []resources.Kind // of which nothing is freed for those behind
	expected uint32
}

// A costMemory is what takes space. That of costs which are dropped is used for those of the next key
// (see BenchmarkAttempt, each-its-own).
type costMemory struct {
	heap   []nodeCost   // of the nodes that are sufficient or not evaluated
	at     []int32      // the places in the heap by node.slot, from one
	status []nodeStatus // of every node, by node.slot
}

// A nodeCost is a node and what it costs to make room there, at least.
type nodeCost struct {
	node   *ledger.Node
	cost   preemptor.Cost
	status nodeStatus
	// shared says that the victims serve asks behind too: those of a number of nodeCosts.expected.
	// Bounded says that they might be worth more if more waited.
	shared, bounded bool
	expected        uint32
}

// nodeStatus is what is known of a node.
type nodeStatus uint8

const (
	absent nodeStatus = iota // there is no such node, or it is left out for now
	notEvaluated
	closed       // to the ask: cordoned, kept for other asks, or with overdue evictions
	tooSmall     // it could never hold the ask
	insufficient // too little can be freed
	sufficient
	statuses = iota
)

// inHeap reports whether nodes of a status stand in the heap.
func (s nodeStatus) inHeap() bool { return s == notEvaluated || s == sufficient }

// nodes is how many nodes there are.
func (c *nodeCosts) nodes() (n int) {
	for _, count := range c.counts[notEvaluated:] {
		n += count
	}
	return n
}

// less compares by cost, then by node.
func (a *nodeCost) less(b *nodeCost) bool {
	for k := range a.cost {
		if a.cost[k] != b.cost[k] {
			return a.cost[k] < b.cost[k]
		}
	}
	return a.node.ID < b.node.ID
}

func (c *nodeCosts) before(i, j int) bool { return c.heap[i].less(&c.heap[j]) }

func (c *nodeCosts) swap(i, j int) {
	c.heap[i], c.heap[j] = c.heap[j], c.heap[i]
	c.at[c.heap[i].node.Slot], c.at[c.heap[j].node.Slot] = int32(i+1), int32(j+1)
}

func (c *nodeCosts) up(i int) int {
	for i > 0 && c.before(i, (i-1)/2) {
		c.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
	return i
}

func (c *nodeCosts) down(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(c.heap); child++ {
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
func (c *nodeCosts) find(n *ledger.Node) (int, bool) {
	if int(n.Slot) >= len(c.at) {
		return 0, false
	}
	i := int(c.at[n.Slot]) - 1
	return i, i >= 0
}

// put sets what is known of a node.
func (c *nodeCosts) put(next nodeCost) {
	c.setStatus(next.node, next.status)
	switch i, known := c.find(next.node); {
	case !next.status.inHeap():
		if known {
			c.remove(i)
		}
		if next.status == insufficient && (c.near.node == nil || next.less(&c.near)) {
			c.near = next
		}
	case known:
		c.heap[i] = next
		c.down(c.up(i))
	default:
		i = len(c.heap)
		c.heap = append(c.heap, next)
		for len(c.at) <= int(next.node.Slot) {
			c.at = append(c.at, 0)
		}
		c.at[next.node.Slot] = int32(i + 1)
		c.up(i)
	}
}

// setStatus counts a node with another status.
func (c *nodeCosts) setStatus(n *ledger.Node, next nodeStatus) {
	for len(c.status) <= int(n.Slot) {
		c.status = append(c.status, absent)
	}
	c.counts[c.status[n.Slot]]--
	c.status[n.Slot] = next
	c.counts[next]++
	if c.near.node == n {
		c.near = nodeCost{}
	}
}

// drop forgets a node.
func (c *nodeCosts) drop(n *ledger.Node) {
	c.setStatus(n, absent)
	if i, known := c.find(n); known {
		c.remove(i)
	}
}

// remove takes a place out of the heap.
func (c *nodeCosts) remove(i int) {
	last := len(c.heap) - 1
	c.swap(i, last)
	c.at[c.heap[last].node.Slot] = 0
	c.heap[last] = nodeCost{}
	c.heap = c.heap[:last]
	if i < last {
		c.down(c.up(i))
	}
}

// compact gives memory back that an empty heap does not need.
func (c *nodeCosts) compact() {
	if len(c.heap) == 0 {
		c.heap, c.at = nil, nil
	}
}
