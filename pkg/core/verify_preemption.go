package core

import (
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/tables"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// preemption checks that what is evicted is counted exactly, and what is kept of quotas.
func (v *verifier) preemption() {
	v.renominations()
	v.sums(v.p.root)
	if !slices.Equal(v.running, v.p.running) {
		v.breaks("priorities counted: %v of allocations, booked %v", v.running, v.p.running)
	}
}

// renominations checks that every ask is listed that is to be nominated again, and is looked at if its
// node is ready.
func (v *verifier) renominations() {
	s := &v.p.renominations
	for r := range s.asks.all {
		if r.wait == nil || r.wait.former == "" || v.p.requests[r.Key] != r {
			v.breaks("%s is to be nominated again, and does not know", r.Key)
		} else if n := v.p.findNode(r.wait.former); n != nil && n.schedulable && !s.due {
			v.breaks("%s waits to be nominated again to node %s, which is ready", r.Key, n.id)
		}
	}
	if s.asks.len() != v.renominated {
		v.breaks("%d asks are to be nominated again and %d are listed", v.renominated, s.asks.len())
	}
}

// keptIn is the quota that is kept in a queue for asks of an importance, counted anew.
func (v *verifier) keptIn(q *queue, importance int32) (sum keptQuota) {
	for _, child := range q.children {
		below := v.keptIn(child, importance)
		sum.amounts.AddSum(below.amounts)
		sum.asks += below.asks
	}
	for _, app := range q.applications {
		for _, r := range app.asks {
			if r.keepsQuota() && r.importance == importance {
				sum.amounts.Add(r.Amounts)
				sum.asks++
			}
		}
	}
	return sum
}

// sums checks what is kept for nominated asks and what is evicted along the tree of
// queues.
func (v *verifier) sums(q *queue) {
	var nominated, releasing, overdue, kept resources.Sum
	var running tables.Counts
	for _, child := range q.children {
		v.sums(child)
		nominated.AddSum(child.nominated)
		releasing.AddSum(child.releasing)
		overdue.AddSum(child.overdue)
	}
	for _, app := range q.applications {
		for _, r := range app.asks {
			if r.keepsQuota() {
				nominated.Add(r.Amounts)
			}
		}
		for _, r := range app.allocations {
			running.Add(r.Priority)
			v.running.Add(r.Priority)
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
		if want := v.keptIn(q, k.importance); !k.amounts.Same(want.amounts) || k.asks != want.asks || slices.ContainsFunc(q.kept[:i], func(o keptQuota) bool { return o.importance == k.importance }) {
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
	if e := v.p.quotas.beyond[q]; v.settled && q.used.Within(q.max) != (e == nil) {
		v.breaks("queue %s: within its max is %t, beyond it is %t", q.path, q.used.Within(q.max), e != nil)
	}
}
