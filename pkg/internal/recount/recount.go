// Package recount keeps the books of a partition from its events alone, and says whether its views show the same.
// Tests and simulations use it: what a view shows is then what every reader of events knows.
package recount

import (
	"errors"
	"fmt"
	"iter"
	"maps"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// Take books an event. What makes no sense is kept for Agree.
func (b *Books) Take(e api.Event) {
	defer func() {
		if r := recover(); r != nil {
			b.wrong("the books cannot go on: %v", r)
		}
	}()
	b.take(e)
}

// Agree compares the books with a view. The error is the first thing that was ever wrong.
func (b *Books) Agree(v *api.View) error {
	b.agree(v)
	if b.fault != "" {
		return errors.New("events and views: " + b.fault)
	}
	return nil
}

// Reserved are the asks for which room is kept on a node without evictions; nil for a node that is not known.
func (b *Books) Reserved(node api.NodeID) map[api.AllocationKey]bool {
	if n := b.nodes[node]; n != nil {
		return n.reserved
	}
	return nil
}

// A bookedNode is what events have told of a node.
type bookedNode struct {
	capacity  resources.Amounts
	open      bool
	used      resources.Amounts // by own allocations
	occupied  resources.Amounts // by foreign ones
	promised  resources.Amounts // to nominated asks
	reserved  map[api.AllocationKey]bool
	nominated map[api.AllocationKey]bool
	lost      map[api.AllocationKey]int // kept for those that take the places of members that have ended
}

// Books are the books of a reader that knows events only.
type Books struct {
	nodes     map[api.NodeID]*bookedNode
	asks      map[api.AllocationKey]*api.Allocation
	running   map[api.AllocationKey]*api.Allocation
	foreign   map[api.AllocationKey]*api.Allocation
	reserved  map[api.AllocationKey]api.NodeID
	nominated map[api.AllocationKey]api.NodeID
	evicted   map[api.AllocationKey]bool
	queueOf   map[api.ApplicationID]api.QueuePath
	used      map[api.QueuePath]resources.Amounts
	total     resources.Amounts
	fault     string
	changing  *api.Allocation // the evicted foreign allocation that was removed last
}

// New makes the books of a partition that has told nothing yet.
func New() *Books {
	return &Books{
		nodes:     map[api.NodeID]*bookedNode{},
		asks:      map[api.AllocationKey]*api.Allocation{},
		running:   map[api.AllocationKey]*api.Allocation{},
		foreign:   map[api.AllocationKey]*api.Allocation{},
		reserved:  map[api.AllocationKey]api.NodeID{},
		nominated: map[api.AllocationKey]api.NodeID{},
		evicted:   map[api.AllocationKey]bool{},
		queueOf:   map[api.ApplicationID]api.QueuePath{},
		used:      map[api.QueuePath]resources.Amounts{},
	}
}

// must notes the first thing that is not as it must be.
func (b *Books) must(ok bool, format string, args ...any) {
	if !ok {
		b.wrong(format, args...)
	}
}

// wrong is must for what is not: no words are made ready for what is.
func (b *Books) wrong(format string, args ...any) {
	if b.fault == "" {
		b.fault = fmt.Sprintf(format, args...)
	}
}

// lineage is a queue and all above it, root last.
func lineage(path api.QueuePath) iter.Seq[api.QueuePath] {
	return func(yield func(api.QueuePath) bool) {
		for i := len(path); i > 0; i-- {
			if (i == len(path) || path[i] == '.') && !yield(path[:i]) {
				return
			}
		}
	}
}

func (b *Books) start(a *api.Allocation) {
	n := b.nodes[a.Node]
	b.must(n != nil, "%s runs on %s, which no event has added", a.Key, a.Node)
	b.must(b.running[a.Key] == nil, "%s runs twice", a.Key)
	b.running[a.Key] = a
	n.used.Add(a.Amounts)
	b.charge(a, false)
}

func (b *Books) stop(a *api.Allocation) {
	old := b.running[a.Key]
	b.must(old != nil, "%s ends and does not run", a.Key)
	b.must(old.Amounts.Equal(a.Amounts), "%s ends with %v and runs with %v", a.Key, a.Amounts, old.Amounts)
	delete(b.running, a.Key)
	delete(b.evicted, a.Key)
	b.nodes[old.Node].used.Sub(old.Amounts)
	b.charge(old, true)
}

func (b *Books) charge(a *api.Allocation, back bool) {
	leaf, ok := b.queueOf[a.Application]
	b.must(ok, "%s is of application %q, which no event has accepted", a.Key, a.Application)
	for q := range lineage(leaf) {
		sum := b.used[q].Clone()
		if back {
			sum.Sub(a.Amounts)
		} else {
			sum.Add(a.Amounts)
		}
		b.used[q] = sum
	}
}

func (b *Books) askGone(a *api.Allocation, why string) {
	ask := b.asks[a.Key]
	b.must(ask != nil, "%s %s and did not wait", a.Key, why)
	b.must(ask.Amounts.Equal(a.Amounts), "%s %s with %v and waited for %v", a.Key, why, a.Amounts, ask.Amounts)
	delete(b.asks, a.Key)
}

// take books an event.
func (b *Books) take(e api.Event) {
	switch e := e.(type) {
	case api.AskAdded:
		b.must(b.asks[e.Key] == nil, "%s waits twice", e.Key)
		b.must(b.running[e.Key] == nil, "%s waits and runs", e.Key)
		b.asks[e.Key] = e.Allocation
	case api.AskResized:
		b.must(b.asks[e.Key] != nil, "%s is resized and does not wait", e.Key)
		b.asks[e.Key] = e.Allocation
	case *api.AskEnded:
		b.askGone(e.Allocation, "ended")
	case api.Placed:
		b.askGone(e.Allocation, "was placed")
		b.start(e.Allocation)
	case api.Adopted:
		delete(b.asks, e.Key)
		b.start(e.Allocation)
	case *api.Resized:
		old := b.running[e.Key]
		b.must(old != nil && old.Amounts.Equal(e.Before), "%s is resized from %v", e.Key, e.Before)
		gone := b.evicted[e.Key]
		b.stop(old)
		b.start(e.Allocation)
		if gone {
			b.evicted[e.Key] = true
		}
	case *api.Ended:
		b.must(b.evicted[e.Key] == e.Evicted, "%s ended, evicted %v", e.Key, e.Evicted)
		b.stop(e.Allocation)
	case *api.EvictionRequested:
		b.must(!b.evicted[e.Key], "%s is evicted twice", e.Key)
		b.must(b.running[e.Key] != nil || b.foreign[e.Key] != nil, "%s is evicted and does not run", e.Key)
		b.evicted[e.Key] = true
	case api.ForeignAdded:
		b.foreign[e.Key] = e.Allocation
		if was := b.changing; was != nil && was.Key == e.Key && was.Node == e.Node {
			b.evicted[e.Key] = true // an eviction goes on when the allocation changes and stays
		}
		b.changing = nil
		b.nodes[e.Node].occupied.Add(e.Amounts)
	case api.ForeignRemoved:
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

// takePromise books claims.
func (b *Books) takePromise(e api.Event) {
	switch e := e.(type) {
	case *api.Claimed:
		if e.Lost {
			b.must(b.running[e.Key] == nil, "room is kept for the one that takes the place of %s, which runs", e.Key)
			b.nodes[e.Node].lost[e.Key]++
			return
		}
		b.must(b.asks[e.Key] != nil, "%s claims room and does not wait", e.Key)
		b.must(b.reserved[e.Key] == "" && b.nominated[e.Key] == "", "%s claims room twice", e.Key)
		of, n := b.claimsOf(e.Plan != nil, e.Node)
		of[e.Key], n[e.Key] = e.Node, true
		if e.Plan != nil {
			b.nodes[e.Node].promised.Add(e.Amounts)
		}
	case *api.ClaimEnded:
		if b.must(e.Reason != "", "the claim of %s ends for no reason", e.Key); e.Lost {
			b.must(b.nodes[e.Node].lost[e.Key] > 0, "nothing is kept on %s for the one that takes the place of %s", e.Node, e.Key)
			b.nodes[e.Node].lost[e.Key]--
			return
		}
		of, n := b.claimsOf(e.Nominated, e.Node)
		b.must(of[e.Key] == e.Node, "%s has no claim on %s", e.Key, e.Node)
		delete(of, e.Key)
		delete(n, e.Key)
		if e.Nominated {
			b.nodes[e.Node].promised.Sub(e.Amounts)
		}
	default:
		b.takeNode(e)
	}
}

// claimsOf are the claims of all asks, and of those on a node, with evictions or without.
func (b *Books) claimsOf(nominated bool, node api.NodeID) (map[api.AllocationKey]api.NodeID, map[api.AllocationKey]bool) {
	if nominated {
		return b.nominated, b.nodes[node].nominated
	}
	return b.reserved, b.nodes[node].reserved
}

// takeNode books what happens to nodes and applications.
func (b *Books) takeNode(e api.Event) {
	switch e := e.(type) {
	case *api.NodeAdded:
		b.must(b.nodes[e.ID] == nil, "node %s is added twice", e.ID)
		b.nodes[e.ID] = &bookedNode{
			capacity: e.Capacity.Clone(), open: e.Schedulable,
			reserved: map[api.AllocationKey]bool{}, nominated: map[api.AllocationKey]bool{}, lost: map[api.AllocationKey]int{},
		}
		b.total = e.Total
	case *api.NodeResized:
		b.nodes[e.ID].capacity = e.Capacity.Clone()
		b.total = e.Total
	case *api.NodeSchedulable:
		b.nodes[e.ID].open = e.Schedulable
	case *api.NodeRemoved:
		b.changing = nil
		n := b.nodes[e.ID]
		b.must(n.used.IsZero() && n.occupied.IsZero(), "node %s goes with %v, %v on it", e.ID, n.used, n.occupied)
		b.must(len(n.reserved)+len(n.nominated) == 0, "node %s goes with %v, %v", e.ID, n.reserved, n.nominated)
		delete(b.nodes, e.ID)
		b.total = e.Total
	case *api.ApplicationAccepted:
		b.queueOf[e.ID] = e.Queue
	case *api.ApplicationGone:
		delete(b.queueOf, e.ID)
	}
}

// agree compares the books with a view.
func (b *Books) agree(v *api.View) {
	b.must(v.Capacity.Equal(b.total), "the view has capacity %v, events say %v", v.Capacity, b.total)
	b.must(len(v.Nodes) == len(b.nodes), "the view has %d nodes, events say %d", len(v.Nodes), len(b.nodes))
	running, foreign := 0, 0
	for _, n := range v.Nodes {
		running += len(n.Allocations)
		foreign += len(n.ForeignAllocations)
		b.agreeNode(n)
	}
	b.must(running == len(b.running), "on nodes run %d, events say %d", running, len(b.running))
	b.must(foreign == len(b.foreign), "on nodes are %d foreign, events say %d", foreign, len(b.foreign))
	b.agreeApplications(v)
	b.agreeQueue(v.Root, b.pending())
	for _, a := range v.ForeignUnknownNode {
		b.must(b.nodes[a.Node] == nil, "foreign %s is on the known node %s", a.Key, a.Node)
	}
}

func (b *Books) agreeNode(n *api.NodeView) {
	mine := b.nodes[n.ID]
	if mine == nil {
		b.wrong("no event has added node %s", n.ID)
		return
	}
	free := mine.capacity.Minus(mine.used).Minus(mine.occupied)
	if mine.open != n.Schedulable || !mine.capacity.Equal(n.Capacity) || !mine.used.Equal(n.Allocated) ||
		!mine.occupied.Equal(n.Occupied) || !free.Equal(n.Available) || !mine.promised.Equal(n.NominatedAmounts) {
		b.wrong("node %s: schedulable %v, capacity %v, allocated %v, occupied %v, available %v, promised %v; events say %+v",
			n.ID, n.Schedulable, n.Capacity, n.Allocated, n.Occupied, n.Available, n.NominatedAmounts, *mine)
	}
	b.agreeClaims(n, mine)
	evicted, told := b.agreeOn(n, n.Allocations, b.running)+b.agreeOn(n, n.ForeignAllocations, b.foreign), 0
	for _, e := range n.Evictions {
		if !e.Dismissed && !e.Reported {
			told++
		}
	}
	if evicted != told {
		b.wrong("node %s: %d evictions, events say %d", n.ID, told, evicted)
	}
}

// agreeOn compares what is on a node, and counts what of it is evicted.
func (b *Books) agreeOn(n *api.NodeView, on []*api.Allocation, all map[api.AllocationKey]*api.Allocation) (evicted int) {
	for _, a := range on {
		if r := all[a.Key]; r == nil || r.Node != n.ID || !r.Amounts.Equal(a.Amounts) {
			b.wrong("node %s: %s, events say %v", n.ID, a.Key, r)
		}
		if b.evicted[a.Key] {
			evicted++
		}
	}
	return evicted
}

// agreeClaims compares which asks a node keeps room for.
func (b *Books) agreeClaims(n *api.NodeView, mine *bookedNode) {
	maps.DeleteFunc(mine.lost, func(_ api.AllocationKey, count int) bool { return count == 0 })
	ok, lost, places := len(n.Nominated) == len(mine.nominated), 0, map[api.AllocationKey]int{}
	for _, k := range n.Nominated {
		ok = ok && mine.nominated[k]
	}
	for _, r := range n.Reservations {
		if r.Lost == nil {
			ok = ok && mine.reserved[r.Key]
			continue
		}
		places[r.Key]++
		lost++
	}
	if !ok || len(n.Reservations) != len(mine.reserved)+lost || !maps.Equal(places, mine.lost) {
		b.wrong("node %s: reservations %v, nominated %v; events say %v, %v, and %v for the places of what has ended",
			n.ID, n.Reservations, n.Nominated, mine.reserved, mine.nominated, mine.lost)
	}
}

func (b *Books) agreeApplications(v *api.View) {
	b.must(len(v.Applications) == len(b.queueOf), "the view has %d applications, events say %d", len(v.Applications), len(b.queueOf))
	asks := 0
	for _, app := range v.Applications {
		if b.queueOf[app.ID] != app.Queue {
			b.wrong("application %s is in %s, events say %s", app.ID, app.Queue, b.queueOf[app.ID])
		}
		asks += len(app.Asks)
		for _, a := range app.Asks {
			mine, w := b.asks[a.Key], a.Waiting
			if mine == nil || !mine.Amounts.Equal(a.Amounts) || w != nil && (w.Nominated != b.nominated[a.Key] || w.Reserved != b.reserved[a.Key]) {
				b.wrong("ask %s: %+v, events say %v, nominated to %q, reserved %q", a.Key, a, mine, b.nominated[a.Key], b.reserved[a.Key])
			}
		}
		for _, a := range app.Allocations {
			if b.running[a.Key] == nil {
				b.wrong("%s of %s runs, events say not", a.Key, app.ID)
			}
		}
	}
	b.must(asks == len(b.asks), "the view has %d asks, events say %d", asks, len(b.asks))
}

// pending is what waits in each queue, and nominated what of it is nominated.
func (b *Books) pending() map[api.QueuePath]resources.Amounts {
	sums := map[api.QueuePath]resources.Amounts{}
	for _, a := range b.asks {
		for q := range lineage(b.queueOf[a.Application]) {
			sum := sums[q]
			sum.Add(a.Amounts)
			sums[q] = sum
		}
	}
	return sums
}

func (b *Books) agreeQueue(q *api.QueueView, pending map[api.QueuePath]resources.Amounts) {
	if !q.Used.Equal(b.used[q.Path]) || !q.Pending.Equal(pending[q.Path]) {
		b.wrong("queue %s uses %v and waits for %v, events say %v, %v", q.Path, q.Used, q.Pending, b.used[q.Path], pending[q.Path])
	}
	for _, c := range q.Queues {
		b.agreeQueue(c, pending)
	}
}
