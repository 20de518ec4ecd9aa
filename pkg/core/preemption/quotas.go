package preemption

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

// Quotas have queues give back what they use beyond their max.
type Quotas struct {
	*backlog.Backlog
	Predicates *question.Predicates
	Costs      *CostCache
	Evictions  *Evictions
	Retries    *Retries
	Counts     *api.Preempted
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

// WatchAll watches a queue and those below it, the lower ones first: what they give
// back counts for those above.
func (s *Quotas) WatchAll(q *ledger.Queue) {
	for _, child := range q.SortedChildren() {
		s.WatchAll(child)
	}
	s.ForgetLeft(q)
	s.watch(q)
}

// watch has a queue give back what it uses beyond its max when its delay is over.
// The delay runs from when the queue was first seen beyond its max, as long as it
// stays there, whatever is configured meanwhile.
func (s *Quotas) watch(q *ledger.Queue) {
	e := s.beyond[q]
	if q.Used.Within(q.Max) {
		if e != nil {
			s.Timers.Cancel(&e.timer)
			delete(s.beyond, q)
			q.Unview()
		}
		return
	}
	if e == nil {
		e = &excess{since: s.Now}
		s.note(q, e)
		q.Unview()
	}
	s.schedule(q, e)
}

func (s *Quotas) note(q *ledger.Queue, e *excess) {
	if s.beyond == nil {
		s.beyond = map[*ledger.Queue]*excess{}
	}
	s.beyond[q] = e
}

// View has the view of a queue say since when it uses more than its max, and what was done about that.
func (s *Quotas) View(q *ledger.Queue, v *api.QueueView) {
	if e := s.beyond[q]; e != nil {
		v.OverMaxSince, v.QuotaPlan, v.QuotaPlanned = e.since, e.plan, e.planned
	}
}

// Restore takes that from the view of a queue.
func (s *Quotas) Restore(q *ledger.Queue, v *api.QueueView) {
	if !v.OverMaxSince.IsZero() {
		s.note(q, &excess{since: v.OverMaxSince, plan: v.QuotaPlan, planned: v.QuotaPlanned})
	}
}

// ForgetLeft has a queue that is beyond its max looked at as if nothing was found out yet.
func (s *Quotas) ForgetLeft(q *ledger.Queue) {
	if e := s.beyond[q]; e != nil {
		e.left = nil
	}
}

// schedule has a queue looked at when it gives back.
func (s *Quotas) schedule(q *ledger.Queue, e *excess) {
	if at, ok := s.givesBackAt(q); ok {
		s.Timers.Set(&e.timer, timers.Later(at, s.Now), timers.Due{What: timers.Excess, Of: q})
		return
	}
	s.Timers.Cancel(&e.timer)
}

// WatchUp watches the queues from a leaf to the root that are beyond their max,
// or may be since something was booked that no quota refuses.
func (s *Quotas) WatchUp(q *ledger.Queue, booked bool) {
	for ; q != nil; q = q.Parent {
		if booked || s.beyond[q] != nil {
			s.watch(q)
		}
	}
}

// givesBackAt is when a queue beyond its max gives back; false is never.
func (s *Quotas) givesBackAt(q *ledger.Queue) (time.Time, bool) {
	e, delay := s.beyond[q], q.Properties.QuotaDelay
	if e == nil || delay <= 0 || !s.Preemption.Quota || s.Preemption.Disabled || !s.Settled {
		return time.Time{}, false
	}
	return e.since.Add(delay), true
}

// GiveBack has allocations evicted until what is left of a queue is within its max,
// or there are no victims. It is done again when some of them have ended, or are
// overdue, as long as that is not enough.
func (s *Quotas) GiveBack(q *ledger.Queue) {
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
			s.Timers.Set(&e.timer, e.again, timers.Due{What: timers.Excess, Of: q})
		}
		return // nothing has changed
	}
	plan := s.plan(q, need)
	e.plan, e.planned = plan, s.Now
	q.Unview()
	if len(plan.Victims) > 0 {
		s.Tell(&api.PreemptionPlanned{Queue: q.Path, Plan: plan})
	}
	for _, v := range plan.Victims {
		victim := s.Requests[api.AllocationKey(v.Key)]
		message := fmt.Sprintf("preempted on node %s, by the quota of queue %s", victim.Node, q.Path)
		s.Evictions.request(victim, nil, ledger.Eviction{Trigger: preemptor.Quota, Class: v.Class, Since: s.Now}, message)
	}
	e.left, e.again = append(resources.Amounts{}, q.BeyondMax()...), time.Time{}
	switch {
	case e.left.IsZero():
	case s.Predicates.BudgetsBind():
		e.again = s.Now.Add(s.Options.RetryMax) // budgets change without notice
		s.Timers.Set(&e.timer, e.again, timers.Due{What: timers.Excess, Of: q})
	default:
		s.Retries.addExcess(q) // again after something has changed elsewhere
	}
	s.report(q)
}

// plan chooses the victims of a queue that is beyond its max. Nodes where an eviction is overdue may
// hang, and would lose one allocation after the other.
func (s *Quotas) plan(q *ledger.Queue, need resources.Amounts) *preemptor.Decision {
	c := &NodeCosts{
		Key:       Key{Scope: q, Class: &backlog.Class{}, Trigger: preemptor.Quota},
		Relations: map[*ledger.Queue]*Relation{},
	}
	on := preemptor.Node{Kinds: s.Kinds, Quota: need}
	in := &s.Costs.Input
	in.Begin(c, false)
	in.hanging = map[*ledger.Node]bool{}
	for r := range q.AllRunning {
		in.Add(c, r, true)
	}
	in.SetOn(c, &on)
	s.Predicates.AddBudgets(&on)
	s.Counts.Plans++
	ask := preemptor.Ask{Trigger: preemptor.Quota, Key: string(q.Path)}
	for {
		plan := s.Costs.Planner.Plan(s.Now, s.Costs.Plans[preemptor.Quota], ask, on)
		if !s.Predicates.SpareNeeded(&on, &plan, nil, question.AwaitedOn) {
			return &plan
		}
	}
}

// report tells what a queue gives back, once for each answer.
func (s *Quotas) report(q *ledger.Queue) {
	e := s.beyond[q]
	plan, before := e.plan, e.reported
	if len(plan.Victims) == 0 && before != nil && plan.SaysAs(before) {
		return
	}
	e.reported = plan
	s.Tell(&api.QueueReport{Queue: q.Path, Plan: plan, Freed: plan.Freed})
}
