package core

import (
	"fmt"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/backlog"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/core/question"
	"github.com/narwhal-scheduler/narwhal/pkg/core/timers"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// quotas have queues give back what they use beyond their max.
type quotas struct {
	*backlog.Backlog
	predicates *question.Predicates
	costs      *costCache
	evictions  *evictions
	retries    *retries
	counts     *api.Preempted
	beyond     map[*ledger.Queue]*excess // of the queues that use more than their max
}

// An excess is what is known of a queue that uses more than its max: since when, and
// what was done about that.
type excess struct {
	since    time.Time
	plan     *preemptor.Decision
	planned  time.Time
	left     resources.Amounts // beyond the max after that, nil before
	again    time.Time         // when to plan again though nothing has changed; zero is never
	reported *preemptor.Decision
	timer    timers.Timer
}

// watchAll watches a queue and those below it, the lower ones first: what they give
// back counts for those above.
func (s *quotas) watchAll(q *ledger.Queue) {
	for _, child := range q.SortedChildren() {
		s.watchAll(child)
	}
	s.forgetLeft(q)
	s.watch(q)
}

// watch has a queue give back what it uses beyond its max when its delay is over.
// The delay runs from when the queue was first seen beyond its max, as long as it
// stays there, whatever is configured meanwhile.
func (s *quotas) watch(q *ledger.Queue) {
	e := s.beyond[q]
	if q.Used.Within(q.Max) {
		if e != nil {
			s.Timers.Cancel(&e.timer)
			delete(s.beyond, q)
			s.Unview(q)
		}
		return
	}
	if e == nil {
		e = &excess{since: s.Now}
		s.beyond[q] = e
		s.Unview(q)
	}
	s.schedule(q, e)
}

// forgetLeft has a queue that is beyond its max looked at as if nothing was found out yet.
func (s *quotas) forgetLeft(q *ledger.Queue) {
	if e := s.beyond[q]; e != nil {
		e.left = nil
	}
}

// schedule has a queue looked at when it gives back.
func (s *quotas) schedule(q *ledger.Queue, e *excess) {
	if at, ok := s.givesBackAt(q); ok {
		s.Timers.Set(&e.timer, timers.Later(at, s.Now), timers.Due{What: dueExcess, Of: q})
		return
	}
	s.Timers.Cancel(&e.timer)
}

// watchUp watches the queues from a leaf to the root that are beyond their max,
// or may be since something was booked that no quota refuses.
func (s *quotas) watchUp(q *ledger.Queue, booked bool) {
	for ; q != nil; q = q.Parent {
		if booked || s.beyond[q] != nil {
			s.watch(q)
		}
	}
}

// givesBackAt is when a queue beyond its max gives back; false is never.
func (s *quotas) givesBackAt(q *ledger.Queue) (time.Time, bool) {
	e, delay := s.beyond[q], q.Properties.QuotaDelay
	if e == nil || delay <= 0 || !s.Preemption.Quota || s.Preemption.Disabled || !s.Settled {
		return time.Time{}, false
	}
	return e.since.Add(delay), true
}

// giveBack has allocations evicted until what is left of a queue is within its max,
// or there are no victims. It is done again when some of them have ended, or are
// overdue, as long as that is not enough.
func (s *quotas) giveBack(q *ledger.Queue) {
	if at, ok := s.givesBackAt(q); !ok || at.After(s.Now) {
		return
	}
	e, need := s.beyond[q], q.BeyondMax()
	again := timers.IsDue(e.again, s.Now)
	switch {
	case need.IsZero():
		e.left, e.again = resources.Amounts{}, time.Time{}
		return // evictions are under way; when one is overdue the queue is looked at again
	case !again && e.left != nil && need.Equal(e.left):
		if !e.again.IsZero() {
			s.Timers.Set(&e.timer, e.again, timers.Due{What: dueExcess, Of: q})
		}
		return // nothing has changed
	}
	plan := s.plan(q, need)
	e.plan, e.planned = plan, s.Now
	s.Unview(q)
	if len(plan.Victims) > 0 {
		s.Tell(&api.PreemptionPlanned{Queue: q.Path, Plan: plan})
	}
	for _, v := range plan.Victims {
		victim := s.Requests[api.AllocationKey(v.Key)]
		message := fmt.Sprintf("preempted on node %s, by the quota of queue %s", victim.Node, q.Path)
		s.evictions.request(victim, nil, ledger.Eviction{Trigger: preemptor.Quota, Class: v.Class, Since: s.Now}, message)
	}
	e.left, e.again = append(resources.Amounts{}, q.BeyondMax()...), time.Time{}
	switch {
	case e.left.IsZero():
	case s.predicates.BudgetsBind():
		e.again = s.Now.Add(s.Options.RetryMax) // budgets change without notice
		s.Timers.Set(&e.timer, e.again, timers.Due{What: dueExcess, Of: q})
	default:
		s.retries.addExcess(q) // again after something has changed elsewhere
	}
	s.report(q)
}

// plan chooses the victims of a queue that is beyond its max. Nodes where an eviction is overdue may
// hang, and would lose one allocation after the other.
func (s *quotas) plan(q *ledger.Queue, need resources.Amounts) *preemptor.Decision {
	c := &nodeCosts{
		preemptionKey: preemptionKey{scope: q, class: &backlog.Class{}, trigger: preemptor.Quota},
		relations:     map[*ledger.Queue]*relation{},
	}
	on := preemptor.Node{Kinds: s.Kinds, Quota: need}
	in := &s.costs.input
	in.begin(c, false)
	hanging := map[*ledger.Node]bool{}
	for r := range q.AllRunning {
		in.add(c, r, true)
		if r.RunsOn.Details.Read().Evicted == 0 {
			continue
		}
		if _, seen := hanging[r.RunsOn]; !seen {
			_, guard := r.RunsOn.Overdue("")
			hanging[r.RunsOn] = guard.Pauses()
		}
		in.candidates[len(in.candidates)-1].Hanging = hanging[r.RunsOn]
	}
	in.setOn(&on)
	s.predicates.AddBudgets(&on)
	s.counts.Plans++
	ask := preemptor.Ask{Trigger: preemptor.Quota, Key: string(q.Path)}
	for {
		plan := s.costs.planner.Plan(s.Now, s.costs.plans[preemptor.Quota], ask, on)
		if !s.predicates.SpareNeeded(&on, &plan, nil, question.AwaitedOn) {
			return &plan
		}
	}
}

// report tells what a queue gives back, once for each answer.
func (s *quotas) report(q *ledger.Queue) {
	e := s.beyond[q]
	plan, before := e.plan, e.reported
	if len(plan.Victims) == 0 && before != nil && plan.SaysAs(before) {
		return
	}
	e.reported = plan
	s.Tell(&api.QueueReport{Queue: q.Path, Plan: plan, Freed: plan.Freed})
}
