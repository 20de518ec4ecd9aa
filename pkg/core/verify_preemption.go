package core

import (
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// preemption checks that what is kept and what is evicted is counted exactly,
// and that every nomination is known to its ask and its node.
func (v *verifier) preemption() {
	for at, r := range v.p.nominations.list {
		held := r.nominated()
		if held == nil || held.at != at || v.p.requests[r.Key] != r || !slices.Contains(held.node.nominated, r) {
			v.breaks("%s is listed as nominated, and is not", r.Key)
		}
	}
	if len(v.p.nominations.list) != v.nominatedAsks {
		v.breaks("%d asks are nominated and %d are listed", v.nominatedAsks, len(v.p.nominations.list))
	}
	v.promises()
	v.renominations()
	v.sums(v.p.root)
	if !slices.Equal(v.running, v.p.running) || !slices.Equal(v.nominations, v.p.nominations.priorities) {
		v.breaks("priorities counted: %v of allocations, %v of nominations; booked %v and %v",
			v.running, v.nominations, v.p.running, v.p.nominations.priorities)
	}
}

// promises checks that quota is promised with a plan on a known node only, and that no
// other ask holds its required node, except one that is too young for a plan.
func (v *verifier) promises() {
	for at, r := range v.p.promises.list {
		if !r.promised() || r.wait.promise.at != at || v.p.requests[r.Key] != r || r.node != nil {
			v.breaks("%s is listed with a promise, and has none", r.Key)
		}
	}
	for _, n := range v.all {
		for r := range n.required.all {
			if r.promised() && r.reservation() == nil {
				v.breaks("%s has a promise and does not hold node %s", r.Key, n.id)
			}
			if r.reservation() != nil && !r.promised() && (r.wait.plan == nil || r.wait.plan.Reason != preemptor.TooYoung) {
				v.breaks("%s holds node %s and no room is on its way", r.Key, n.id)
			}
		}
	}
}

// renominations checks that every ask is listed once that is to be nominated again, and
// that it knows.
func (v *verifier) renominations() {
	s := &v.p.renominations
	listed := s.ready.len()
	for r := range s.ready.all {
		if r.wait == nil || r.wait.former == "" || v.p.requests[r.Key] != r {
			v.breaks("%s is to be nominated again, and does not know", r.Key)
		}
	}
	for id, set := range s.unready {
		if n := v.p.findNode(id); set.len() == 0 || n != nil && n.schedulable {
			v.breaks("%d asks wait for node %s to be nominated again", set.len(), id)
		}
		listed += set.len()
		for r := range set.all {
			if r.wait == nil || r.wait.former != id || v.p.requests[r.Key] != r {
				v.breaks("%s waits for node %s to be nominated again, and does not know", r.Key, id)
			}
		}
	}
	if listed != v.renominated {
		v.breaks("%d asks are to be nominated again and %d are listed", v.renominated, listed)
	}
}

// nominated checks what one node keeps for nominated asks; most keep nothing.
func (v *verifier) nominated(n *node, releasing resources.Sum) {
	v.expected(n)
	checkKept(v, n)
	if !n.releasing.Same(releasing) {
		v.equal("releasing", string(n.id), n.releasing, releasing)
	}
	if len(n.nominated) == 0 {
		if !n.details.read().nominatedAmounts.IsZero() || !n.room.Equal(n.free) {
			v.breaks("node %s: keeps %s for no ask, has room for %s", n.id, v.p.kinds.Format(n.details.read().nominatedAmounts.Amounts), v.p.kinds.Format(n.room))
		}
		return
	}
	v.equal("nominated", string(n.id), n.details.read().nominatedAmounts, v.add(n.nominated))
	if room := n.free.Minus(n.details.read().nominatedAmounts.Amounts); !n.room.Equal(room) {
		v.breaks("node %s: has room for %s, counted %s", n.id, v.p.kinds.Format(n.room), v.p.kinds.Format(room))
	}
	for _, r := range n.nominated {
		v.nominations.add(r.nominationStanding().Root)
		v.nominatedAsks++
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
	if !slices.IsSortedFunc(n.nominated, byNomination) {
		v.breaks("node %s: nominations are not in order", n.id)
	}
}

// keptIn is the quota that is kept in a queue with a hold, counted anew.
func (v *verifier) keptIn(q *queue, h hold) (sum keptQuota) {
	for _, child := range q.children {
		below := v.keptIn(child, h)
		sum.amounts.AddSum(below.amounts)
		sum.asks += below.asks
	}
	for _, app := range q.applications {
		for _, r := range app.asks {
			if r.keepsQuota() && r.hold() == h {
				sum.add(r.Amounts)
			}
		}
	}
	return sum
}

// sums checks what is kept for nominated asks and what is evicted along the tree of
// queues.
func (v *verifier) sums(q *queue) {
	var nominated, releasing, overdue, kept resources.Sum
	var running priorityCounts
	var bound standingCounts
	for _, child := range q.children {
		v.sums(child)
		nominated.AddSum(child.nominated)
		releasing.AddSum(child.releasing)
		overdue.AddSum(child.overdue)
		for _, c := range child.bound {
			bound.count(c.Standing, c.count)
		}
	}
	for _, app := range q.applications {
		for _, r := range app.asks {
			if r.keepsQuota() {
				nominated.Add(r.Amounts)
			}
			if r.Required != "" && fitsOn(v.p.findNode(r.Required), r) && !r.promised() {
				bound.count(r.class.standing, 1)
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
			switch {
			case r.eviction.isNodeOnly():
			case r.releasing():
				releasing.Add(r.Amounts)
			case r.eviction != nil:
				overdue.Add(r.Amounts)
			}
		}
	}
	for i, k := range q.kept {
		kept.AddSum(k.amounts)
		if want := v.keptIn(q, k.hold); !k.amounts.Same(want.amounts) || k.asks != want.asks || slices.ContainsFunc(q.kept[:i], func(o keptQuota) bool { return o.hold == k.hold }) {
			v.breaks("queue %s: keeps %s for %d asks, counted %s for %d", q.path, v.p.kinds.Format(k.amounts.Amounts), k.asks, v.p.kinds.Format(want.amounts.Amounts), want.asks)
		}
	}
	v.equal("kept", string(q.path), kept, nominated)
	v.equal("nominated", string(q.path), q.nominated, nominated)
	v.equal("releasing", string(q.path), q.releasing, releasing)
	v.equal("overdue", string(q.path), q.overdue, overdue)
	if !slices.Equal(running, q.running) {
		v.breaks("queue %s: priorities counted %v, booked %v", q.path, running, q.running)
	}
	if !slices.Equal(bound, q.bound) {
		v.breaks("queue %s: asks with a required node counted %v, booked %v", q.path, bound, q.bound)
	}
	if v.settled && q.used.Within(q.max) != q.excess.since.IsZero() {
		v.breaks("queue %s: within its max is %t, beyond it since %v", q.path, q.used.Within(q.max), q.excess.since)
	}
}
