package core

import (
	"strconv"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// evictions are the allocations that the resource manager is to end and that have not
// ended yet.
type evictions struct {
	*backlog
	counts  *api.Preempted
	batched uint64 // the last batch that requested any
}

// request has the resource manager end an allocation, for an ask unless that is nil. Nothing is
// freed until the resource manager confirms that it has ended.
func (e *evictions) request(victim, r *request, v eviction, message string) {
	e.setEviction(victim, &v)
	e.counts.Victims[v.trigger][v.class]++
	told := &api.EvictionRequested{Allocation: victim.Allocation, For: v.ask, Trigger: v.trigger, Class: v.class, Message: message}
	if r != nil {
		told.Ask, told.Room = r.Allocation, r.Required
		if held := r.nominated(); held != nil {
			told.Room = held.node.id
		}
	}
	e.tell(told)
	e.schedule(victim)
	victim.node.placedIn, e.batched = e.batch, e.batch
}

// requestFor has a victim of a plan for an ask ended.
func (e *evictions) requestFor(v *preemptor.Victim, r *request, plan *preemptor.Decision) {
	victim := e.requests[api.AllocationKey(v.Key)]
	message := "preempted on node " + string(victim.Node) + " to make room for " + string(r.Key) + " of application " + string(r.Application)
	switch plan.Trigger {
	case preemptor.Priority:
		message += ", by priority " + strconv.Itoa(int(r.Priority)) + " over " + strconv.Itoa(int(v.Priority))
	case preemptor.Guarantee:
		message += ", by the guarantee of queue " + string(r.application.queue.path)
	}
	r.madeRoom = true
	e.request(victim, r, eviction{ask: r.Key, trigger: plan.Trigger, class: v.Class, since: e.now}, message)
}

// report takes from the tags of an allocation that it is ending already: it was evicted
// before a restart, or ends for another reason. Nothing is requested, and an eviction
// that was is known better than from the tags.
//
// What takes long to end is not counted on before its end is near: until then other room, or
// victims, are better than to wait for it.
func (e *evictions) report(r *request, tags map[string]string) {
	since, terminates := api.TerminatingSince(tags, e.now)
	switch {
	case !terminates || r.node == nil:
	case r.eviction == nil:
		e.setEviction(r, &eviction{reported: true, since: since, late: e.countedFrom(r, since).After(e.now)})
		e.schedule(r)
		e.changes.node(r.node, nodeRetry|nodeYields) // there is room soon, without victims
	case r.eviction.late && !e.countedFrom(r, r.eviction.since).After(e.now): // it was given less time to end
		e.countOn(r)
	}
}

// countedFrom is when the end of an allocation that ends by itself since a time is near enough
// for its room to be counted on; zero if it always is.
func (e *evictions) countedFrom(r *request, since time.Time) time.Time {
	grace, known := r.Grace()
	if !known || e.options.EndingMax < 0 {
		return time.Time{}
	}
	return since.Add(grace - e.options.EndingMax)
}

// countOn has the room counted on of an allocation whose end was far off.
func (e *evictions) countOn(r *request) {
	e.timers.Cancel(&r.eviction.timer)
	near := *r.eviction
	near.late = false
	e.setEviction(r, &near)
	e.schedule(r)
	e.changes.node(r.node, nodeRetry|nodeYields)
	if !r.foreign() {
		e.changes.queue(r.application.queue, quotaFreed)
	}
}

// countOnAll does so for all that end on a node.
func (e *evictions) countOnAll(n *node) {
	for r := range n.allOn {
		if r.eviction != nil && r.eviction.late {
			e.countOn(r)
		}
	}
}

// reportForeign does the same for the foreign allocations of a node that is new.
func (e *evictions) reportForeign(n *node) {
	for _, r := range n.foreign {
		e.report(r, r.Tags)
	}
}

// cancel forgets that an allocation is evicted, since it has ended or moved.
func (e *evictions) cancel(r *request) {
	if r.eviction == nil {
		return
	}
	if r.eviction.nodeOnly {
		e.setNodeOnly(r, false)
	}
	e.timers.Cancel(&r.eviction.timer)
	e.timers.Cancel(&r.eviction.guard.timer)
	if r.node != nil {
		e.setEviction(r, nil)
		return
	}
	r.eviction = nil
}

// schedule has an eviction looked at when it should have ended, or when its end is near.
func (e *evictions) schedule(victim *request) {
	at := e.overdueAt(victim)
	if victim.eviction.late {
		at = e.countedFrom(victim, victim.eviction.since)
	}
	e.timers.Set(&victim.eviction.timer, at, due{what: dueEviction, of: victim})
}

// reschedule sets all timers of evictions anew after the timeout has changed.
func (e *evictions) reschedule() {
	for n := range e.allNodes {
		for r := range n.allOn {
			if r.eviction != nil && !r.eviction.overdue {
				e.schedule(r)
			}
		}
	}
}

// graceMargin is how much longer an eviction may take than the allocation says.
const graceMargin = time.Minute

// overdueAt is when an eviction should have ended: after the timeout, or later if
// the allocation has a longer grace period.
func (e *evictions) overdueAt(victim *request) time.Time {
	timeout := e.preemption.VictimTimeout
	if grace, known := victim.Grace(); known {
		timeout = max(timeout, grace+graceMargin)
	}
	return victim.eviction.since.Add(timeout)
}

// expire notes that an eviction did not end in time. Its room is no longer counted
// on, and the plan is made again without it.
//
// The node then blocks attempts for a while, the longer the more evictions are overdue
// there: it may not answer, and what is evicted would only be lost.
func (e *evictions) expire(victim *request) {
	switch {
	case victim.eviction == nil:
		return
	case victim.eviction.late:
		e.countOn(victim)
		return
	}
	late := *victim.eviction
	late.overdue = true
	late.guard.times, _ = victim.node.overdue("")
	e.setEviction(victim, &late)
	if !late.reported {
		e.counts.Overdue[late.trigger][late.class]++
		e.tell(&api.EvictionOverdue{Allocation: victim.Allocation})
	}
	e.changes.node(victim.node, nodeRetry)
	e.block(victim, e.now.Add(late.guard.next(e.preemption.VictimTimeout)))
	if !victim.foreign() {
		e.changes.queue(victim.application.queue, quotaLowered)
		e.chargeFor(victim)
	}
}

// block has an overdue eviction keep others from its node until a time.
func (e *evictions) block(victim *request, until time.Time) {
	why := "the release of " + string(victim.Key) + " is overdue"
	victim.eviction.guard.start(&e.timers, until, why, due{what: dueGuard, of: victim})
}

// nodeReported looks at what is overdue on a node of which the resource manager said something.
func (e *evictions) nodeReported(n *node) {
	for _, r := range byKey(n.own) {
		if r.eviction != nil && r.eviction.overdue {
			e.chargeFor(r)
		}
	}
}

// chargeFor has what is overdue charged to its node alone while that is not ready: nothing ends
// there, so its queue would lack the quota for ever for what replaces it.
func (e *evictions) chargeFor(r *request) {
	if only := !r.node.isReady(); only != r.eviction.nodeOnly {
		e.setNodeOnly(r, only)
		text := "is overdue on node " + string(r.Node) + ", which is not ready: its queue is not charged for it any more"
		if !only {
			text = "is overdue on node " + string(r.Node) + ", which is ready again: its queue is charged for it"
		}
		e.tell(&api.ApplicationReport{ID: r.Application, Key: r.Key, Message: "the end of " + string(r.Key) + " " + text})
	}
}
