package preemption

import (
	"strconv"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/backlog"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/core/timers"
)

// Evictions are the allocations that the resource manager is to end and that have not
// ended yet.
type Evictions struct {
	*backlog.Backlog
	Counts  *api.Preempted
	Batched uint64 // the last batch that requested any
}

// request has the resource manager end an allocation, for an ask unless that is nil. Nothing is
// freed until the resource manager confirms that it has ended.
func (e *Evictions) request(victim, r *ledger.Request, v ledger.Eviction, message string) {
	e.SetEviction(victim, &v)
	e.Counts.Victims[v.Trigger][v.Class]++
	told := &api.EvictionRequested{Allocation: victim.Allocation, For: v.Ask, Trigger: v.Trigger, Class: v.Class, Message: message}
	if g := victim.StartsWith; g != nil && g.EndsWhole() {
		told.Unit, told.Message = g.Name, message+", with all of "+g.Name
	}
	if r != nil {
		told.Ask, told.Room = r.Allocation, r.Required
		if held := r.Nominated(); held != nil {
			told.Room = held.Node.ID
		}
	}
	e.Tell(told)
	e.Schedule(victim)
	e.MarkPlaced(victim.RunsOn)
	e.Batched = e.Batch
}

// RequestFor has a victim of a plan for an ask ended.
func (e *Evictions) RequestFor(v *preemptor.Victim, r *ledger.Request, plan *preemptor.Decision) {
	victim := e.Requests[api.AllocationKey(v.Key)]
	message := "preempted on node " + string(victim.Node) + " to make room for " + string(r.Key) + " of application " + string(r.Application)
	if r.EvictsWhole() {
		message += " and the others of " + r.StartsWith.Name
	}
	switch plan.Trigger {
	case preemptor.Priority:
		message += ", by priority " + over(r.Priority, victim.Priority)
		if v.Priority != victim.Priority {
			message += " (" + over(r.App.Queue.AsRootSees(r.Priority), asRootSees(victim)) + " as the root sees them)"
		}
	case preemptor.Guarantee:
		message += ", by the guarantee of queue " + string(r.App.Queue.Path)
	}
	r.RoomMade()
	e.request(victim, r, ledger.Eviction{Ask: r.Key, Trigger: plan.Trigger, Class: v.Class, Since: e.Now}, message)
}

// over is a priority that comes before another one.
func over(ask, victim int32) string {
	return strconv.Itoa(int(ask)) + " over " + strconv.Itoa(int(victim))
}

// asRootSees is the priority of an allocation as the root sees it, which those of other schedulers have of their own.
func asRootSees(r *ledger.Request) int32 {
	if r.Foreign() {
		return r.Priority
	}
	return r.App.Queue.AsRootSees(r.Priority)
}

// Dismiss has the resource manager end an allocation, unless it was told so already. Its
// room is counted on like that of a victim.
func (e *Evictions) Dismiss(r *ledger.Request, cause api.EndCause, why string) {
	if r.Eviction != nil || r.MakesWay() {
		return
	}
	e.Batched = e.Batch // budgets count it, too
	e.SetEviction(r, &ledger.Eviction{Reported: true, Dismissed: true, Since: e.Now})
	e.Schedule(r)
	e.Changes.Node(r.RunsOn, ledger.NodeRetry|ledger.NodeYields)
	e.MarkPlaced(r.RunsOn)
	e.Tell(&api.ReleaseRequested{Allocation: r.Allocation, Cause: cause, Message: why})
}

// Report takes from the tags of an allocation that it is ending already: it was evicted
// before a restart, or ends for another reason. Nothing is requested, and an eviction
// that was is known better than from the tags.
//
// What takes long to end is not counted on before its end is near: until then other room, or
// victims, are better than to wait for it.
func (e *Evictions) Report(r *ledger.Request, tags map[string]string) {
	since, terminates := api.TerminatingSince(tags, e.Now)
	switch {
	case !terminates || r.RunsOn == nil:
	case r.Eviction == nil:
		e.SetEviction(r, &ledger.Eviction{Reported: true, Since: since, Late: e.countedFrom(r, since).After(e.Now)})
		e.Schedule(r)
		e.Changes.Node(r.RunsOn, ledger.NodeRetry|ledger.NodeYields) // there is room soon, without victims
	case r.Eviction.Late && !e.countedFrom(r, r.Eviction.Since).After(e.Now): // it was given less time to end
		e.countOn(r)
	}
}

// countedFrom is when the end of an allocation that ends by itself since a time is near enough
// for its room to be counted on; zero if it always is.
func (e *Evictions) countedFrom(r *ledger.Request, since time.Time) time.Time {
	grace, known := r.Grace()
	if !known || e.Options.EndingMax < 0 {
		return time.Time{}
	}
	return since.Add(grace - e.Options.EndingMax)
}

// countOn has the room counted on of an allocation whose end was far off.
func (e *Evictions) countOn(r *ledger.Request) {
	e.Timers.Cancel(&r.Eviction.Timer)
	e.CountOn(r)
	e.Schedule(r)
	e.Changes.Node(r.RunsOn, ledger.NodeRetry|ledger.NodeYields)
	if !r.Foreign() {
		e.Changes.Queue(r.App.Queue, ledger.QuotaFreed)
	}
}

// countOnAll does so for all that end on a node.
func (e *Evictions) countOnAll(n *ledger.Node) {
	for r := range n.AllOn {
		if r.Eviction != nil && r.Eviction.Late {
			e.countOn(r)
		}
	}
}

// ReportForeign does the same for the foreign allocations of a node that is new.
func (e *Evictions) ReportForeign(n *ledger.Node) {
	for _, r := range n.Foreign {
		e.Report(r, r.Tags)
	}
}

// Cancel forgets that an allocation is evicted, since it has ended or moved.
func (e *Evictions) Cancel(r *ledger.Request) {
	if r.Eviction == nil {
		return
	}
	if r.Eviction.NodeOnly {
		e.SetNodeOnly(r, false)
	}
	e.Timers.Cancel(&r.Eviction.Timer)
	e.Timers.Cancel(&r.Eviction.Guard.Timer)
	e.SetEviction(r, nil)
}

// Schedule has an eviction looked at when it should have ended, or when its end is near.
func (e *Evictions) Schedule(victim *ledger.Request) {
	at := e.overdueAt(victim)
	if victim.Eviction.Late {
		at = e.countedFrom(victim, victim.Eviction.Since)
	}
	e.Timers.Set(&victim.Eviction.Timer, at, timers.Due{What: timers.Eviction, Of: victim})
}

// Reschedule sets all timers of evictions anew after the timeout has changed.
func (e *Evictions) Reschedule() {
	for n := range e.AllNodes {
		for r := range n.AllOn {
			if r.Eviction != nil && !r.Eviction.Overdue {
				e.Schedule(r)
			}
		}
	}
}

// graceMargin is how much longer an eviction may take than the allocation says.
const graceMargin = time.Minute

// overdueAt is when an eviction should have ended: after the timeout, or later if
// the allocation has a longer grace period.
func (e *Evictions) overdueAt(victim *ledger.Request) time.Time {
	timeout := e.Preemption.VictimTimeout
	if grace, known := victim.Grace(); known {
		timeout = max(timeout, grace+graceMargin)
	}
	return victim.Eviction.Since.Add(timeout)
}

// Expire notes that an eviction did not end in time. Its room is no longer counted
// on, and the plan is made again without it.
//
// The node then blocks attempts for a while, the longer the more evictions are overdue
// there: it may not answer, and what is evicted would only be lost.
func (e *Evictions) Expire(victim *ledger.Request) {
	switch {
	case victim.Eviction == nil:
		return
	case victim.Eviction.Late:
		e.countOn(victim)
		return
	}
	e.CountOverdue(victim)
	late := victim.Eviction
	if !late.Reported {
		e.Counts.Overdue[late.Trigger][late.Class]++
		e.Tell(&api.EvictionOverdue{Allocation: victim.Allocation})
	}
	e.Changes.Node(victim.RunsOn, ledger.NodeRetry)
	e.Block(victim, e.Now.Add(late.Guard.Next(e.Preemption.VictimTimeout)))
	if !victim.Foreign() {
		e.Changes.Queue(victim.App.Queue, ledger.QuotaLowered)
		e.chargeFor(victim)
	}
}

// Block has an overdue eviction keep others from its node until a time.
func (e *Evictions) Block(victim *ledger.Request, until time.Time) {
	why := "the release of " + string(victim.Key) + " is overdue"
	victim.Eviction.Guard.Start(&e.Timers, until, why, timers.Due{What: timers.Pause, Of: victim})
}

// NodeReported looks at what is overdue on a node of which the resource manager said something.
func (e *Evictions) NodeReported(n *ledger.Node) {
	for _, r := range ledger.ByKey(n.Own) {
		if r.Eviction != nil && r.Eviction.Overdue {
			e.chargeFor(r)
		}
	}
}

// chargeFor has what is overdue charged to its node alone while that is not ready: nothing ends
// there, so its queue would lack the quota for ever for what replaces it.
func (e *Evictions) chargeFor(r *ledger.Request) {
	if only := !r.RunsOn.IsReady(); only != r.Eviction.NodeOnly {
		e.SetNodeOnly(r, only)
		text := "is overdue on node " + string(r.Node) + ", which is not ready: its queue is not charged for it any more"
		if !only {
			text = "is overdue on node " + string(r.Node) + ", which is ready again: its queue is charged for it"
		}
		e.Tell(&api.ApplicationReport{ID: r.Application, Key: r.Key, Message: "the end of " + string(r.Key) + " " + text})
	}
}
