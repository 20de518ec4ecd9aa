package core

import (
	"fmt"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// quotas have queues give back what they use beyond their max.
type quotas struct {
	*backlog
	predicates *predicates
	costs      *costCache
	evictions  *evictions
	retries    *retries
	counts     *api.Preempted
}

// watchAll watches a queue and those below it, the lower ones first: what they give
// back counts for those above.
func (s *quotas) watchAll(q *queue) {
	for _, child := range q.sortedChildren() {
		s.watchAll(child)
	}
	q.excess.left = nil
	s.watch(q)
}

// watch has a queue give back what it uses beyond its max when its delay is over.
// The delay runs from when the queue was first seen beyond its max, as long as it
// stays there, whatever is configured meanwhile.
func (s *quotas) watch(q *queue) {
	if q.used.Within(q.max) {
		if !q.excess.since.IsZero() {
			s.timers.Cancel(&q.excess.timer)
			q.excess = excess{}
			s.unview(q)
		}
		return
	}
	if q.excess.since.IsZero() {
		q.excess = excess{since: s.now}
		s.unview(q)
	}
	s.schedule(q)
}

// schedule has a queue looked at when it gives back.
func (s *quotas) schedule(q *queue) {
	if at, ok := s.givesBackAt(q); ok {
		s.timers.Set(&q.excess.timer, later(at, s.now), due{what: dueExcess, queue: q})
		return
	}
	s.timers.Cancel(&q.excess.timer)
}

// watchUp watches the queues from a leaf to the root that are beyond their max,
// or may be since something was booked that no quota refuses.
func (s *quotas) watchUp(q *queue, booked bool) {
	for ; q != nil; q = q.parent {
		if booked || !q.excess.since.IsZero() {
			s.watch(q)
		}
	}
}

// givesBackAt is when a queue beyond its max gives back; false is never.
func (s *quotas) givesBackAt(q *queue) (time.Time, bool) {
	delay := q.properties.QuotaDelay
	if q.excess.since.IsZero() || delay <= 0 || !s.preemption.Quota || s.preemption.Disabled || !s.settled {
		return time.Time{}, false
	}
	return q.excess.since.Add(delay), true
}

// giveBack has allocations evicted until what is left of a queue is within its max,
// or there are no victims. It is done again when some of them have ended, or are
// overdue, as long as that is not enough.
func (s *quotas) giveBack(q *queue) {
	if at, ok := s.givesBackAt(q); !ok || at.After(s.now) {
		return
	}
	need := q.beyondMax()
	again := isDue(q.excess.again, s.now)
	switch {
	case need.IsZero():
		q.excess.left, q.excess.again = resources.Amounts{}, time.Time{}
		return // evictions are under way; when one is overdue the queue is looked at again
	case !again && q.excess.left != nil && need.Equal(q.excess.left):
		if !q.excess.again.IsZero() {
			s.timers.Set(&q.excess.timer, q.excess.again, due{what: dueExcess, queue: q})
		}
		return // nothing has changed
	}
	plan := s.plan(q, need)
	q.excess.plan, q.excess.planned = plan, s.now
	s.unview(q)
	if len(plan.Victims) > 0 {
		s.tell(&api.PreemptionPlanned{Queue: q.path, Plan: plan})
	}
	for _, v := range plan.Victims {
		victim := s.requests[api.AllocationKey(v.Key)]
		message := fmt.Sprintf("preempted on node %s, by the quota of queue %s", victim.Node, q.path)
		s.evictions.request(victim, nil, eviction{trigger: preemptor.Quota, class: v.Class, since: s.now}, message)
	}
	q.excess.left, q.excess.again = append(resources.Amounts{}, q.beyondMax()...), time.Time{}
	switch {
	case q.excess.left.IsZero():
	case s.predicates.budgetsBind():
		q.excess.again = s.now.Add(s.options.RetryMax) // budgets change without notice
		s.timers.Set(&q.excess.timer, q.excess.again, due{what: dueExcess, queue: q})
	default:
		s.retries.addExcess(q) // again after something has changed elsewhere
	}
	s.report(q)
}

// plan chooses the victims of a queue that is beyond its max. Nodes where an eviction is overdue may
// hang, and would lose one allocation after the other.
func (s *quotas) plan(q *queue, need resources.Amounts) *preemptor.Decision {
	c := &nodeCosts{
		preemptionKey: preemptionKey{scope: q, class: &class{}, trigger: preemptor.Quota},
		relations:     map[*queue]*relation{},
	}
	on := preemptor.Node{Kinds: s.kinds, Quota: need}
	in := &s.costs.input
	in.begin(c, false)
	hanging := map[*node]bool{}
	for r := range q.allRunning {
		in.add(c, r, true)
		if r.node.details.read().evicted == 0 {
			continue
		}
		if _, seen := hanging[r.node]; !seen {
			_, guard := r.node.overdue("")
			hanging[r.node] = guard.pauses()
		}
		in.candidates[len(in.candidates)-1].Hanging = hanging[r.node]
	}
	in.setOn(&on)
	s.predicates.addBudgets(&on)
	s.counts.Plans++
	ask := preemptor.Ask{Trigger: preemptor.Quota, Key: string(q.path)}
	for {
		plan := s.costs.planner.Plan(s.now, s.costs.plans[preemptor.Quota], ask, on)
		if !s.predicates.spareNeeded(&on, &plan, nil, awaitedOn) {
			return &plan
		}
	}
}

// beyondMax is what a queue uses beyond its max once all evictions have ended.
func (q *queue) beyondMax() resources.Amounts {
	var beyond resources.Amounts
	late := q.endingLate()
	for i, used := range q.used.Amounts {
		kind := resources.Kind(i)
		if over := used - q.releasing.Of(kind) - late.Of(kind) - q.max.Of(kind); q.max.Of(kind) != resources.Unlimited && over > 0 {
			beyond.Set(kind, over)
		}
	}
	return beyond
}

// endingLate is what ends by itself in a queue and below, and not soon. No ask waits for it.
func (q *queue) endingLate() (sum resources.Amounts) {
	if q.overdue.IsZero() {
		return nil
	}
	for r := range q.allRunning {
		if r.eviction != nil && r.eviction.late {
			sum.Add(r.Amounts)
		}
	}
	return sum
}

// report tells what a queue gives back, once for each answer.
func (s *quotas) report(q *queue) {
	plan, before := q.excess.plan, q.excess.reported
	if len(plan.Victims) == 0 && before != nil && plan.SaysAs(before) {
		return
	}
	q.excess.reported = plan
	s.tell(&api.QueueReport{Queue: q.path, Plan: plan, Freed: plan.Freed})
}
