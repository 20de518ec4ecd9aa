package core

import (
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// preemption checks that what is promised and what leaves is counted exactly,
// and that every nomination is known to its ask and its node.
func (v *verifier) preemption() {
	for at, r := range v.p.nominated {
		held := r.nominated()
		if held == nil || held.at != at || v.p.requests[r.Key] != r || !slices.Contains(held.node.nominated, r) {
			v.breaks("%s is listed as nominated, and is not", r.Key)
		}
	}
	if len(v.p.nominated) != v.nominated {
		v.breaks("%d asks are nominated and %d are listed", v.nominated, len(v.p.nominated))
	}
	v.sums(v.p.root)
	if !slices.Equal(v.running, v.p.running) || !slices.Equal(v.nominees, v.p.nominees) {
		v.breaks("priorities counted: %v of allocations, %v of nominations; booked %v and %v",
			v.running, v.nominees, v.p.running, v.p.nominees)
	}
}

// promises checks what one node promises; most promise nothing.
func (v *verifier) promises(n *node, leaving resources.Amounts) {
	if !n.leaving.Equal(leaving) {
		v.equal("leaving", string(n.id), n.leaving, leaving)
	}
	if len(n.nominated) == 0 {
		if !n.promised.IsZero() || !n.room.Equal(n.free) {
			v.breaks("node %s: promises %s to nobody, has room for %s", n.id, v.p.kinds.Format(n.promised), v.p.kinds.Format(n.room))
		}
		return
	}
	v.equal("promised", string(n.id), n.promised, v.add(n.nominated))
	v.equal("room", string(n.id), n.room, n.free.Minus(n.promised))
	for _, r := range n.nominated {
		v.nominees.add(r.holds())
		v.nominated++
		if held := r.nominated(); held == nil || held.node != n || r.node != nil || v.p.requests[r.Key] != r {
			v.breaks("node %s: %s is nominated there and does not know", n.id, r.Key)
		}
		if !n.schedulable {
			v.breaks("node %s: %s is nominated there although it takes nothing new", n.id, r.Key)
		}
	}
	if n.reserved != nil {
		v.breaks("node %s: reserved for %s although room is made there", n.id, n.reserved.Key)
	}
	if !slices.IsSortedFunc(n.nominated, byStanding) {
		v.breaks("node %s: nominations are not in order", n.id)
	}
}

// sums checks what is promised and what leaves along the tree of queues.
func (v *verifier) sums(q *queue) {
	var promised, leaving resources.Amounts
	var running tally
	for _, child := range q.sortedChildren() {
		v.sums(child)
		promised.Add(child.promised)
		leaving.Add(child.leaving)
	}
	for _, app := range q.applications {
		for _, r := range app.asks {
			if r.nominated() != nil {
				promised.Add(r.Amounts)
			}
		}
		for _, r := range app.allocations {
			running.add(r.Priority)
			v.running.add(r.Priority)
			for i, least := range q.smallest {
				if least > r.Amounts.Of(resources.Kind(i)) {
					v.breaks("queue %s: %s holds less than all are noted to hold", q.path, r.Key)
				}
			}
			if r.leaves() {
				leaving.Add(r.Amounts)
			}
		}
	}
	v.equal("promised", string(q.path), q.promised, promised)
	v.equal("leaving", string(q.path), q.leaving, leaving)
	if !slices.Equal(running, q.running) {
		v.breaks("queue %s: priorities counted %v, booked %v", q.path, running, q.running)
	}
	if q.used.Within(q.max) != q.excess.since.IsZero() {
		v.breaks("queue %s: within its max is %t, beyond it since %v", q.path, q.used.Within(q.max), q.excess.since)
	}
	var hunting slots
	for s, c := range q.hunts {
		if c.eager {
			hunting.set(s.slot)
		}
		if s.asks == 0 || !s.hunts || !slices.Contains(s.huntsIn, q) {
			v.breaks("queue %s: %s hunts there and nobody asks for it", q.path, v.p.kinds.Format(s.amounts))
		}
	}
	if hunting != q.hunting {
		v.breaks("queue %s: its slots of hunting shapes are stale", q.path)
	}
}
