package core

import (
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/tables"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// preemption checks that what is evicted is counted exactly, and what is kept of quotas.
func (v *verifier) preemption() {
	v.renominations()
	v.sums(v.p.Root)
	if !slices.Equal(v.running, v.p.Running) {
		v.breaks("priorities counted: %v of allocations, booked %v", v.running, v.p.Running)
	}
}

// renominations checks that every ask is listed that is to be nominated again, and is looked at if its
// node is ready.
func (v *verifier) renominations() {
	s := &v.p.renominations
	for r := range s.asks.All {
		if r.Wait == nil || r.Wait.Former == "" || v.p.Requests[r.Key] != r {
			v.breaks("%s is to be nominated again, and does not know", r.Key)
		} else if n := v.p.FindNode(r.Wait.Former); n != nil && n.Schedulable && !s.due {
			v.breaks("%s waits to be nominated again to node %s, which is ready", r.Key, n.ID)
		}
	}
	if s.asks.Len() != v.renominated {
		v.breaks("%d asks are to be nominated again and %d are listed", v.renominated, s.asks.Len())
	}
}

// keptIn is the quota that is kept in a queue for asks of an importance, counted anew.
func (v *verifier) keptIn(q *ledger.Queue, importance int32) (sum ledger.KeptQuota) {
	for _, child := range q.Children {
		below := v.keptIn(child, importance)
		sum.Amounts.AddSum(below.Amounts)
		sum.Asks += below.Asks
	}
	for _, app := range q.Applications {
		for _, r := range app.Asks {
			if r.KeepsQuota() && r.Importance == importance {
				sum.Amounts.Add(r.Amounts)
				sum.Asks++
			}
		}
	}
	return sum
}

// sums checks what is kept for nominated asks and what is evicted along the tree of
// queues.
func (v *verifier) sums(q *ledger.Queue) {
	var nominated, releasing, overdue, kept resources.Sum
	var running tables.Counts
	for _, child := range q.Children {
		v.sums(child)
		nominated.AddSum(child.Nominated)
		releasing.AddSum(child.Releasing)
		overdue.AddSum(child.Overdue)
	}
	for _, app := range q.Applications {
		for _, r := range app.Asks {
			if r.KeepsQuota() {
				nominated.Add(r.Amounts)
			}
		}
		for _, r := range app.Allocations {
			running.Add(r.Priority)
			v.running.Add(r.Priority)
			for i, least := range q.Smallest {
				if least > r.Amounts.Of(resources.Kind(i)) {
					v.breaks("queue %s: %s holds less than all are noted to hold", q.Path, r.Key)
				}
			}
			switch {
			case r.Eviction.IsNodeOnly():
			case r.Releasing():
				releasing.Add(r.Amounts)
			case r.Eviction != nil:
				overdue.Add(r.Amounts)
			}
		}
	}
	for i, k := range q.Kept {
		kept.AddSum(k.Amounts)
		if want := v.keptIn(q, k.Importance); !k.Amounts.Same(want.Amounts) || k.Asks != want.Asks || slices.ContainsFunc(q.Kept[:i], func(o ledger.KeptQuota) bool { return o.Importance == k.Importance }) {
			v.breaks("queue %s: keeps %s for %d asks, counted %s for %d", q.Path, v.p.Kinds.Format(k.Amounts.Amounts), k.Asks, v.p.Kinds.Format(want.Amounts.Amounts), want.Asks)
		}
	}
	v.equal("kept", string(q.Path), kept, nominated)
	v.equal("nominated", string(q.Path), q.Nominated, nominated)
	v.equal("releasing", string(q.Path), q.Releasing, releasing)
	v.equal("overdue", string(q.Path), q.Overdue, overdue)
	if !slices.Equal(running, q.Running) {
		v.breaks("queue %s: priorities counted %v, booked %v", q.Path, running, q.Running)
	}
	if e := v.p.quotas.beyond[q]; v.settled && q.Used.Within(q.Max) != (e == nil) {
		v.breaks("queue %s: within its max is %t, beyond it is %t", q.Path, q.Used.Within(q.Max), e != nil)
	}
}
