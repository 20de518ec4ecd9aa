package core

import (
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
)

// preemption checks what is to be nominated again, and which queues are beyond their max.
func (v *verifier) preemption() {
	v.renominations()
	v.beyond(v.p.Root)
}

// renominations checks that every ask is listed that is to be nominated again, and is looked at if its
// node is ready.
func (v *verifier) renominations() {
	s := &v.p.renominations
	for r := range s.Asks.All {
		if r.Wait == nil || r.Wait.Former == "" || v.p.Requests[r.Key] != r {
			v.breaks("%s is to be nominated again, and does not know", r.Key)
		} else if n := v.p.FindNode(r.Wait.Former); n != nil && n.Schedulable && !s.Due {
			v.breaks("%s waits to be nominated again to node %s, which is ready", r.Key, n.ID)
		}
	}
	if s.Asks.Len() != v.renominated {
		v.breaks("%d asks are to be nominated again and %d are listed", v.renominated, s.Asks.Len())
	}
}

// beyond checks that each queue which uses more than its max is known for that, and no other.
func (v *verifier) beyond(q *ledger.Queue) {
	for _, child := range q.Children {
		v.beyond(child)
	}
	if e := v.p.quotas.Beyond[q]; v.settled && q.Used.Within(q.Max) != (e == nil) {
		v.breaks("queue %s: within its max is %t, beyond it is %t", q.Path, q.Used.Within(q.Max), e != nil)
	}
}
