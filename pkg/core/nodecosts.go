package core

import (
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A preemptionKey is what asks have in common for which making room costs the same
// on every node.
type preemptionKey struct {
	class   *class // without constraints
	leaf    *queue // of the asks; nil for a queue over its max, which has no ask
	scope   *queue // that victims are in
	trigger preemptor.Trigger
}

// nodeCosts are what it costs to make room for the asks of one key on every node, the
// cheapest first. What was worked out for a node holds until the node changes, so
// the next ask of the key looks at the nodes that changed and at the best one only.
// Until its cost is worked out, and again after a change, a node has a lower bound.
type nodeCosts struct {
	preemptionKey

	heap []nodeCost
	at   []int32 // the places in the heap by node.slot, from one
	seen uint64  // the generation of nodes that is taken into account

	relations    map[*queue]*relation
	guarded      []*queue
	floorNumbers map[*queue]int32  // of guarded
	floors       []preemptor.Floor // of guarded, as of this attempt
	numbers      []int32           // of guarded, in the input that is being made, from one
	// needs are, by guarded, the most of its surplus that victims could use up on
	// one node. While there is more, what was worked out for the nodes holds.
	needs []resources.Amounts
	// volatile are the nodes where a surplus is not enough for all candidates, or
	// budgets count: what they cost depends on more than the node.
	volatile []*node
	deficits []bool // of the queues of the asks, as of this attempt
	counts   [statuses]int
}

// A nodeCost is a node and what it costs to make room there, at least.
type nodeCost struct {
	node   *node
	cost   preemptor.Cost
	status nodeStatus
}

// nodeStatus is what is known of a node.
type nodeStatus uint8

const (
	notEvaluated nodeStatus = iota
	closed                  // to the ask: cordoned, kept for other asks, or with overdue evictions
	tooSmall                // it could never hold the ask
	insufficient            // too little can be freed
	hopeless                // enough can be freed, but all plans failed
	sufficient
	statuses = iota
)

func (c *nodeCosts) before(i, j int) bool {
	a, b := &c.heap[i], &c.heap[j]
	for k := range a.cost {
		if a.cost[k] != b.cost[k] {
			return a.cost[k] < b.cost[k]
		}
	}
	return a.node.id < b.node.id
}

func (c *nodeCosts) swap(i, j int) {
	c.heap[i], c.heap[j] = c.heap[j], c.heap[i]
	c.at[c.heap[i].node.slot], c.at[c.heap[j].node.slot] = int32(i+1), int32(j+1)
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

// heapify puts a heap in order that was only filled, with nodes not evaluated.
func (c *nodeCosts) heapify() {
	slots := int32(0)
	for i := range c.heap {
		slots = max(slots, c.heap[i].node.slot+1)
	}
	c.at = append(c.at, make([]int32, slots)...)
	for i := range c.heap {
		c.at[c.heap[i].node.slot] = int32(i + 1)
	}
	c.counts[notEvaluated] = len(c.heap)
	for i := len(c.heap)/2 - 1; i >= 0; i-- {
		c.down(i)
	}
}

// find is the place of a node in the heap.
func (c *nodeCosts) find(n *node) (int, bool) {
	for len(c.at) <= int(n.slot) {
		c.at = append(c.at, 0)
	}
	i := int(c.at[n.slot]) - 1
	return i, i >= 0 && c.heap[i].node == n
}

// put sets what is known of a node.
func (c *nodeCosts) put(next nodeCost) {
	i, known := c.find(next.node)
	if !known {
		i = len(c.heap)
		c.heap = append(c.heap, next)
		c.at[next.node.slot] = int32(i + 1)
	} else {
		c.counts[c.heap[i].status]--
		c.heap[i] = next
	}
	c.counts[next.status]++
	c.down(c.up(i))
}

// drop forgets a node.
func (c *nodeCosts) drop(n *node) {
	i, known := c.find(n)
	if !known {
		return
	}
	c.counts[c.heap[i].status]--
	last := len(c.heap) - 1
	c.swap(i, last)
	c.heap[last] = nodeCost{}
	c.heap = c.heap[:last]
	c.at[n.slot] = 0
	if i < last {
		c.down(c.up(i))
	}
}
