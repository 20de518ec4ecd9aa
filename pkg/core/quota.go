package core

import (
	"fmt"
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// An excess is the story of a queue that uses more than its max: since when,
// and what was done about it.
type excess struct {
	since    time.Time // zero while the queue is within its max
	plan     *preemptor.Decision
	planned  time.Time
	left     resources.Amounts // beyond the max after that, nil before
	again    time.Time         // when to plan again though nothing has changed; zero is never
	reported string
}

// watchQuotas watches a queue and those below it, the lower ones first: what
// they give back counts for those above.
func (p *Partition) watchQuotas(q *queue) {
	for _, child := range q.sortedChildren() {
		p.watchQuotas(child)
	}
	q.excess.left = nil
	p.watchQuota(q)
}

// watchQuota has a queue give back what it uses beyond its max when its delay is
// over. The delay runs from when the queue was first seen beyond its max, as long
// as it stays there, whatever is configured meanwhile.
func (p *Partition) watchQuota(q *queue) {
	if q.used.Within(q.max) {
		if !q.excess.since.IsZero() {
			q.excess = excess{}
			q.view = nil
		}
		return
	}
	if q.excess.since.IsZero() {
		q.excess = excess{since: p.now}
		q.view = nil
	}
	if at, ok := p.givesBackAt(q); ok {
		p.alarms.add(alarm{at: later(at, p.now), queue: q})
	}
}

// watchUp watches the queues from a leaf to the root that are beyond their max,
// or may be since something was booked that no quota refuses.
func (p *Partition) watchUp(q *queue, booked bool) {
	for ; q != nil; q = q.parent {
		if booked || !q.excess.since.IsZero() {
			p.watchQuota(q)
		}
	}
}

// givesBackAt is when a queue beyond its max gives back; false is never.
func (p *Partition) givesBackAt(q *queue) (time.Time, bool) {
	delay := q.properties.QuotaDelay
	if q.excess.since.IsZero() || delay <= 0 || !p.preemption.Quota || p.preemption.Disabled {
		return time.Time{}, false
	}
	return q.excess.since.Add(delay), true
}

// giveBack has allocations told to go until what is left of a queue is within
// its max, or nobody is left who may. It is done again when some of them have
// gone, or do not go, as long as that is not enough.
func (p *Partition) giveBack(q *queue) {
	if at, ok := p.givesBackAt(q); !ok || at.After(p.now) {
		return
	}
	need := q.beyondMax()
	again := !q.excess.again.IsZero() && !q.excess.again.After(p.now)
	if need.IsZero() || !again && q.excess.left != nil && need.Equal(q.excess.left) {
		return // on its way, or nothing has changed
	}
	g := &ground{
		hunter:    hunter{root: q, shape: &shape{}, trigger: preemptor.Quota},
		relations: map[*queue]*relation{},
	}
	on := preemptor.Node{Kinds: p.kinds, Quota: need}
	p.beginQuarry(g)
	for r := range q.allRunning {
		c := r.candidate()
		c.Elsewhere = true
		p.placeIn(g, r, &c, nil)
		p.candidates = append(p.candidates, c)
	}
	on.On, on.Floors = p.candidates, p.floors
	p.addBudgets(&on)
	p.preempted.Plans++
	plan := p.planner.Plan(p.now, p.plans[preemptor.Quota], preemptor.Ask{Trigger: preemptor.Quota, Key: string(q.path)}, on)
	q.excess.plan, q.excess.planned = &plan, p.now
	q.view = nil
	if len(plan.Victims) > 0 {
		p.tell(&PreemptionPlanned{Queue: q.path, Plan: &plan})
	}
	for _, v := range plan.Victims {
		victim := p.requests[AllocationKey(v.Key)]
		message := fmt.Sprintf("preempted on node %s, by the quota of queue %s", victim.Node, q.path)
		p.endFor(victim, going{trigger: preemptor.Quota, class: v.Class, since: p.now}, message)
	}
	q.excess.left, q.excess.again = append(resources.Amounts{}, q.beyondMax()...), time.Time{}
	switch {
	case q.excess.left.IsZero():
	case !p.budgetsBind() && !slices.Contains(p.short, q):
		p.short = append(p.short, q) // until something changes elsewhere
	case !p.budgetsBind():
	default:
		q.excess.again = p.now.Add(p.options.RetryMax) // the budgets change without a word
		p.alarms.add(alarm{at: q.excess.again, queue: q})
	}
	p.reportExcess(q)
}

// beyondMax is what a queue uses beyond its max once all have gone who are going.
func (q *queue) beyondMax() resources.Amounts {
	var beyond resources.Amounts
	for i, used := range q.used {
		kind := resources.Kind(i)
		if over := used - q.leaving.Of(kind) - q.max.Of(kind); q.max.Of(kind) != resources.Unlimited && over > 0 {
			beyond.Set(kind, over)
		}
	}
	return beyond
}

// reportExcess records what a queue gives back, once for each answer.
func (p *Partition) reportExcess(q *queue) {
	verdict := q.excess.plan.Summary(p.kinds)
	if len(q.excess.plan.Victims) == 0 && verdict == q.excess.reported {
		return
	}
	q.excess.reported = verdict
	p.tell(&QueueReport{q.path, "uses more than its max: " + verdict, q.excess.plan.Freed})
}
