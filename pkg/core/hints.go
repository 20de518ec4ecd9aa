package core

import (
	"time"
)

// hintDelay is how long an ask that fits no node waits before the resource
// manager hears of it.
const hintDelay = time.Second

// hintLater has the resource manager told, after a while, of the asks that only
// more nodes could help.
func (p *Partition) hintLater() {
	if p.hintAt.IsZero() {
		p.hintAt = p.now.Add(hintDelay)
		p.alarms.add(alarm{at: p.hintAt, hints: true})
	}
}

// hintWaiting tells the resource manager of every ask that fits no node now,
// in order, as far as the quotas would let them run if there were nodes: what
// it is told of altogether fits what is left of every quota. It is linear in
// the asks that wait and happens at most once a second.
func (p *Partition) hintWaiting() {
	p.hintAt = time.Time{}
	p.hintQueue(p.root)
}

func (p *Partition) hintQueue(q *queue) {
	for child := range q.queues.All {
		p.hintQueue(child)
	}
	for app := range q.apps.All {
		for r := range app.queued.All {
			if r.shape.full && r.nominated() == nil {
				p.hint(r)
			}
		}
	}
}

// hint tells the resource manager, once for each ask, that no node can take it,
// so that more nodes may be brought.
func (p *Partition) hint(r *request) {
	w := r.waiting()
	if w.hinted {
		return
	}
	for q := r.application.queue; q != nil; q = q.parent {
		if !q.max.Room(q.used.Plus(q.hinted), r.Amounts) {
			return
		}
	}
	w.hinted = true
	for q := r.application.queue; q != nil; q = q.parent {
		q.hinted.Add(r.Amounts)
	}
	p.tell(&Unschedulable{r.Allocation, "no node can take the request: waiting for room in the cluster"})
}

// unhint is called when an ask no longer waits.
func (r *request) unhint() {
	if r.wait == nil || !r.wait.hinted {
		return
	}
	for q := r.application.queue; q != nil; q = q.parent {
		q.hinted.Sub(r.Amounts)
	}
}
