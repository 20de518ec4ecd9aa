package core_test

import (
	"fmt"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A strangerNode is what events have told of a node.
type strangerNode struct {
	capacity  resources.Amounts
	open      bool
	used      resources.Amounts // by own allocations
	occupied  resources.Amounts // by foreign ones
	promised  resources.Amounts // to nominated asks
	reserved  map[core.AllocationKey]bool
	nominated map[core.AllocationKey]bool
}

// strangerBooks are the books of a reader that knows events only.
type strangerBooks struct {
	nodes     map[core.NodeID]*strangerNode
	asks      map[core.AllocationKey]*core.Allocation
	running   map[core.AllocationKey]*core.Allocation
	foreign   map[core.AllocationKey]*core.Allocation
	reserved  map[core.AllocationKey]core.NodeID
	nominated map[core.AllocationKey]core.NodeID
	evicted   map[core.AllocationKey]bool
	queueOf   map[core.ApplicationID]core.QueuePath
	used      map[core.QueuePath]resources.Amounts
	total     resources.Amounts
	changing  *core.Allocation // the evicted foreign allocation that was removed last
}

func newStrangerBooks() *strangerBooks {
	return &strangerBooks{
		nodes:     map[core.NodeID]*strangerNode{},
		asks:      map[core.AllocationKey]*core.Allocation{},
		running:   map[core.AllocationKey]*core.Allocation{},
		foreign:   map[core.AllocationKey]*core.Allocation{},
		reserved:  map[core.AllocationKey]core.NodeID{},
		nominated: map[core.AllocationKey]core.NodeID{},
		evicted:   map[core.AllocationKey]bool{},
		queueOf:   map[core.ApplicationID]core.QueuePath{},
		used:      map[core.QueuePath]resources.Amounts{},
	}
}

// strangerFault is a broken law. It is thrown, and caught where a world is played.
type strangerFault struct{ text string }

func strangerFail(format string, args ...any) { panic(strangerFault{fmt.Sprintf(format, args...)}) }

func strangerMust(ok bool, format string, args ...any) {
	if !ok {
		strangerFail(format, args...)
	}
}

// strangerLineage is a queue and all above it, root last.
func strangerLineage(path core.QueuePath) (all []core.QueuePath) {
	for i := len(path); i > 0; i-- {
		if i == len(path) || path[i] == '.' {
			all = append(all, path[:i])
		}
	}
	return all
}

func (b *strangerBooks) start(a *core.Allocation) {
	n := b.nodes[a.Node]
	strangerMust(n != nil, "%s runs on %s, which no event has added", a.Key, a.Node)
	strangerMust(b.running[a.Key] == nil, "%s runs twice", a.Key)
	b.running[a.Key] = a
	n.used.Add(a.Amounts)
	b.charge(a, false)
}

func (b *strangerBooks) stop(a *core.Allocation) {
	old := b.running[a.Key]
	strangerMust(old != nil, "%s ends and does not run", a.Key)
	strangerMust(old.Amounts.Equal(a.Amounts), "%s ends with %v and runs with %v", a.Key, a.Amounts, old.Amounts)
	delete(b.running, a.Key)
	delete(b.evicted, a.Key)
	b.nodes[old.Node].used.Sub(old.Amounts)
	b.charge(old, true)
}

func (b *strangerBooks) charge(a *core.Allocation, back bool) {
	leaf, ok := b.queueOf[a.Application]
	strangerMust(ok, "%s is of application %q, which no event has accepted", a.Key, a.Application)
	for _, q := range strangerLineage(leaf) {
		sum := b.used[q].Clone()
		if back {
			sum.Sub(a.Amounts)
		} else {
			sum.Add(a.Amounts)
		}
		b.used[q] = sum
	}
}

func (b *strangerBooks) askGone(a *core.Allocation, why string) {
	ask := b.asks[a.Key]
	strangerMust(ask != nil, "%s %s and did not wait", a.Key, why)
	strangerMust(ask.Amounts.Equal(a.Amounts), "%s %s with %v and waited for %v", a.Key, why, a.Amounts, ask.Amounts)
	delete(b.asks, a.Key)
}

// take books an event.
func (b *strangerBooks) take(e core.Event) {
	switch e := e.(type) {
	case core.AskAdded:
		strangerMust(b.asks[e.Key] == nil, "%s waits twice", e.Key)
		strangerMust(b.running[e.Key] == nil, "%s waits and runs", e.Key)
		b.asks[e.Key] = e.Allocation
	case core.AskResized:
		strangerMust(b.asks[e.Key] != nil, "%s is resized and does not wait", e.Key)
		b.asks[e.Key] = e.Allocation
	case *core.AskEnded:
		b.askGone(e.Allocation, "ended")
	case core.Placed:
		b.askGone(e.Allocation, "was placed")
		b.start(e.Allocation)
	case core.Adopted:
		delete(b.asks, e.Key)
		b.start(e.Allocation)
	case *core.Resized:
		old := b.running[e.Key]
		strangerMust(old != nil && old.Amounts.Equal(e.Before), "%s is resized from %v", e.Key, e.Before)
		gone := b.evicted[e.Key]
		b.stop(old)
		b.start(e.Allocation)
		if gone {
			b.evicted[e.Key] = true
		}
	case *core.Ended:
		strangerMust(b.evicted[e.Key] == e.Evicted, "%s ended, evicted %v", e.Key, e.Evicted)
		b.stop(e.Allocation)
	case *core.EvictionRequested:
		strangerMust(!b.evicted[e.Key], "%s is evicted twice", e.Key)
		strangerMust(b.running[e.Key] != nil || b.foreign[e.Key] != nil, "%s is evicted and does not run", e.Key)
		b.evicted[e.Key] = true
	case core.ForeignAdded:
		b.foreign[e.Key] = e.Allocation
		if was := b.changing; was != nil && was.Key == e.Key && was.Node == e.Node {
			b.evicted[e.Key] = true // an eviction goes on when the allocation changes and stays
		}
		b.changing = nil
		b.nodes[e.Node].occupied.Add(e.Amounts)
	case core.ForeignRemoved:
		delete(b.foreign, e.Key)
		b.changing = nil
		if b.evicted[e.Key] {
			b.changing = e.Allocation
		}
		delete(b.evicted, e.Key)
		b.nodes[e.Node].occupied.Sub(e.Amounts)
	default:
		b.takePromise(e)
	}
}

// takePromise books reservations and nominations.
func (b *strangerBooks) takePromise(e core.Event) {
	switch e := e.(type) {
	case *core.Reserved:
		strangerMust(b.asks[e.Key] != nil, "%s reserves and does not wait", e.Key)
		strangerMust(b.reserved[e.Key] == "", "%s reserves twice", e.Key)
		b.reserved[e.Key] = e.Node
		b.nodes[e.Node].reserved[e.Key] = true
	case *core.Unreserved:
		strangerMust(b.reserved[e.Key] == e.Node, "%s has not reserved %s", e.Key, e.Node)
		delete(b.reserved, e.Key)
		delete(b.nodes[e.Node].reserved, e.Key)
	case *core.Nominated:
		strangerMust(b.asks[e.Key] != nil, "%s is nominated and does not wait", e.Key)
		strangerMust(b.nominated[e.Key] == "", "%s is nominated twice", e.Key)
		b.nominated[e.Key] = e.Node
		b.nodes[e.Node].nominated[e.Key] = true
		b.nodes[e.Node].promised.Add(e.Amounts)
	case *core.NominationEnded:
		strangerMust(b.nominated[e.Key] == e.Node, "%s is not nominated to %s", e.Key, e.Node)
		delete(b.nominated, e.Key)
		delete(b.nodes[e.Node].nominated, e.Key)
		b.nodes[e.Node].promised.Sub(e.Amounts)
	default:
		b.takeNode(e)
	}
}

// takeNode books what happens to nodes and applications.
func (b *strangerBooks) takeNode(e core.Event) {
	switch e := e.(type) {
	case *core.NodeAdded:
		strangerMust(b.nodes[e.ID] == nil, "node %s is added twice", e.ID)
		b.nodes[e.ID] = &strangerNode{
			capacity: e.Capacity.Clone(), open: e.Schedulable,
			reserved: map[core.AllocationKey]bool{}, nominated: map[core.AllocationKey]bool{},
		}
		b.total = e.Total
	case *core.NodeResized:
		b.nodes[e.ID].capacity = e.Capacity.Clone()
		b.total = e.Total
	case *core.NodeSchedulable:
		b.nodes[e.ID].open = e.Schedulable
	case *core.NodeRemoved:
		b.changing = nil
		n := b.nodes[e.ID]
		strangerMust(n.used.IsZero() && n.occupied.IsZero(), "node %s goes with %v, %v on it", e.ID, n.used, n.occupied)
		strangerMust(len(n.reserved)+len(n.nominated) == 0, "node %s goes with %v, %v", e.ID, n.reserved, n.nominated)
		delete(b.nodes, e.ID)
		b.total = e.Total
	case *core.ApplicationAccepted:
		b.queueOf[e.ID] = e.Queue
	case *core.ApplicationGone:
		delete(b.queueOf, e.ID)
	}
}

// agree compares the books with a view.
func (b *strangerBooks) agree(v *core.View) {
	strangerMust(v.Capacity.Equal(b.total), "the view has capacity %v, events say %v", v.Capacity, b.total)
	strangerMust(len(v.Nodes) == len(b.nodes), "the view has %d nodes, events say %d", len(v.Nodes), len(b.nodes))
	running, foreign := 0, 0
	for _, n := range v.Nodes {
		running += len(n.Allocations)
		foreign += len(n.ForeignAllocations)
		b.agreeNode(n)
	}
	strangerMust(running == len(b.running), "on nodes run %d, events say %d", running, len(b.running))
	strangerMust(foreign == len(b.foreign), "on nodes are %d foreign, events say %d", foreign, len(b.foreign))
	b.agreeApplications(v)
	b.agreeQueue(v.Root, b.pending())
	for _, a := range v.ForeignUnknownNode {
		strangerMust(b.nodes[a.Node] == nil, "foreign %s is on the known node %s", a.Key, a.Node)
	}
}

func (b *strangerBooks) agreeNode(n *core.NodeView) {
	mine := b.nodes[n.ID]
	strangerMust(mine != nil, "no event has added node %s", n.ID)
	strangerMust(mine.open == n.Schedulable, "node %s: schedulable %v", n.ID, n.Schedulable)
	strangerMust(mine.capacity.Equal(n.Capacity), "node %s: capacity %v, events say %v", n.ID, n.Capacity, mine.capacity)
	strangerMust(mine.used.Equal(n.Allocated), "node %s: allocated %v, events say %v", n.ID, n.Allocated, mine.used)
	strangerMust(mine.occupied.Equal(n.Occupied), "node %s: occupied %v, events say %v", n.ID, n.Occupied, mine.occupied)
	free := mine.capacity.Minus(mine.used).Minus(mine.occupied)
	strangerMust(free.Equal(n.Available), "node %s: available %v, events say %v", n.ID, n.Available, free)
	for _, a := range n.Allocations {
		r := b.running[a.Key]
		strangerMust(r != nil && r.Node == n.ID && r.Amounts.Equal(a.Amounts), "node %s: %s, events say %v", n.ID, a.Key, r)
	}
	for _, a := range n.ForeignAllocations {
		r := b.foreign[a.Key]
		strangerMust(r != nil && r.Node == n.ID && r.Amounts.Equal(a.Amounts), "node %s: foreign %s, events say %v", n.ID, a.Key, r)
	}
	strangerMust(len(n.Reservations) == len(mine.reserved), "node %s: reservations %v, events say %v", n.ID, n.Reservations, mine.reserved)
	for _, r := range n.Reservations {
		strangerMust(mine.reserved[r.Key], "node %s: reservation of %s, events say %v", n.ID, r.Key, mine.reserved)
	}
	strangerMust(len(n.Nominated) == len(mine.nominated), "node %s: nominated %v, events say %v", n.ID, n.Nominated, mine.nominated)
	for _, k := range n.Nominated {
		strangerMust(mine.nominated[k], "node %s: nominated %s, events say %v", n.ID, k, mine.nominated)
	}
	strangerMust(n.NominatedAmounts.Equal(mine.promised), "node %s: promised %v, events say %v", n.ID, n.NominatedAmounts, mine.promised)
	evicted := 0
	for _, a := range n.Allocations {
		if b.evicted[a.Key] {
			evicted++
		}
	}
	for _, a := range n.ForeignAllocations {
		if b.evicted[a.Key] {
			evicted++
		}
	}
	strangerMust(evicted == len(n.Evictions), "node %s: %d evictions, events say %d", n.ID, len(n.Evictions), evicted)
}

func (b *strangerBooks) agreeApplications(v *core.View) {
	strangerMust(len(v.Applications) == len(b.queueOf), "the view has %d applications, events say %d", len(v.Applications), len(b.queueOf))
	asks := 0
	for _, app := range v.Applications {
		strangerMust(b.queueOf[app.ID] == app.Queue, "application %s is in %s, events say %s", app.ID, app.Queue, b.queueOf[app.ID])
		asks += len(app.Asks)
		for _, a := range app.Asks {
			mine := b.asks[a.Key]
			strangerMust(mine != nil && mine.Amounts.Equal(a.Amounts), "ask %s: events say %v", a.Key, mine)
			strangerMust(a.Waiting == nil || a.Waiting.Nominated == b.nominated[a.Key], "ask %s is nominated to %s", a.Key, b.nominated[a.Key])
			strangerMust(a.Waiting == nil || a.Waiting.Reserved == b.reserved[a.Key], "ask %s has reserved %s", a.Key, b.reserved[a.Key])
		}
		for _, a := range app.Allocations {
			strangerMust(b.running[a.Key] != nil, "%s of %s runs, events say not", a.Key, app.ID)
		}
	}
	strangerMust(asks == len(b.asks), "the view has %d asks, events say %d", asks, len(b.asks))
}

// pending is what waits in each queue, and nominated what of it is nominated.
func (b *strangerBooks) pending() map[core.QueuePath]resources.Amounts {
	sums := map[core.QueuePath]resources.Amounts{}
	for _, a := range b.asks {
		for _, q := range strangerLineage(b.queueOf[a.Application]) {
			sum := sums[q]
			sum.Add(a.Amounts)
			sums[q] = sum
		}
	}
	return sums
}

func (b *strangerBooks) agreeQueue(q *core.QueueView, pending map[core.QueuePath]resources.Amounts) {
	strangerMust(q.Used.Equal(b.used[q.Path]), "queue %s uses %v, events say %v", q.Path, q.Used, b.used[q.Path])
	strangerMust(q.Pending.Equal(pending[q.Path]), "queue %s waits for %v, events say %v", q.Path, q.Pending, pending[q.Path])
	for _, c := range q.Queues {
		b.agreeQueue(c, pending)
	}
}
