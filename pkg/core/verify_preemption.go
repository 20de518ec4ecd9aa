package core

import (
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// preemption checks that what is promised and what leaves is counted exactly,
// and that every nomination is known to its ask and its node.
func (v *verifier) preemption() {
	var running, nominees tally
	nominated := 0
	for n := range v.p.allNodes {
		var leaving resources.Amounts
		for _, list := range [2][]*request{n.own, n.foreign} {
			for _, r := range list {
				if r.leaves() {
					leaving.Add(r.Amounts)
				}
				if !r.foreign() {
					running.add(r.Priority)
				}
			}
		}
		v.equal("leaving", string(n.id), n.leaving, leaving)
		v.equal("promised", string(n.id), n.promised, v.add(n.nominated))
		v.equal("room", string(n.id), n.room, n.free.Minus(n.promised))
		for _, r := range n.nominated {
			nominees.add(r.holds())
			nominated++
			if held := r.nominated(); held == nil || held.node != n || r.node != nil || v.p.requests[r.Key] != r {
				v.breaks("node %s: %s is nominated there and does not know", n.id, r.Key)
			}
			if !n.schedulable {
				v.breaks("node %s: %s is nominated there although it takes nothing new", n.id, r.Key)
			}
		}
		if n.reserved != nil && len(n.nominated) > 0 {
			v.breaks("node %s: reserved for %s although room is made there", n.id, n.reserved.Key)
		}
		if !slices.IsSortedFunc(n.nominated, byStanding) {
			v.breaks("node %s: nominations are not in order", n.id)
		}
	}
	if !slices.Equal(running, v.p.running) || !slices.Equal(nominees, v.p.nominees) {
		v.breaks("priorities counted: %v of allocations, %v of nominations; booked %v and %v",
			running, nominees, v.p.running, v.p.nominees)
	}
	for _, r := range v.p.requests {
		if r.node == nil && !r.foreign() && r.nominated() != nil {
			nominated--
		}
	}
	if nominated != 0 {
		v.breaks("%d nominations are known to nodes only", nominated)
	}
	v.sums(v.p.root)
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
