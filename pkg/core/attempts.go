package core

import (
	"fmt"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// attempts are the preemption attempts: an ask that fits nowhere looks for the node
// where evictions make room at the least cost, because of its priority, or because
// of the guarantee of its queue. It is nominated to that node, and the victims are
// evicted. An attempt that failed is not repeated by asks of the same class in the
// same queue until something has changed that may help (see retries).
type attempts struct {
	*backlog
	predicates *predicates
	costs      *costCache
	kept       *claims
	evictions  *evictions
	retries    *retries
	counts     *Preempted

	under  *unfinished      // the attempt under way
	begun  uint64           // counts attempts
	owed   resources.Limits // scratch
	like   []*leafClass
	others []preemptor.Behind
}

// attemptOrder is the order in which the triggers are tried.
var attemptOrder = [...]preemptor.Trigger{preemptor.Priority, preemptor.Guarantee}

// mayPreempt reports whether room may be made for an ask now.
func (r *request) mayPreempt() bool { return r.group != nil && r.group.leaf.active }

// try makes an attempt for an ask. The outcome is placed if room is on its way.
func (a *attempts) try(r *request) outcome {
	if a.options.Budgets != nil && a.evictions.batched == a.batch {
		return flush // the budgets count those evictions only after they are known
	}
	if a.thrashes(r) {
		return waits
	}
	a.left--
	u := a.under
	for _, trigger := range attemptOrder {
		if u.failedBy(trigger) || !a.triggerHolds(r, trigger) {
			continue
		}
		attempt, result := a.tryBy(r, trigger)
		if result == flush || result == paused || result == busy {
			return result
		}
		u.failed, u.dryRuns = append(u.failed, attempt), dryRuns{}
		if result == placed {
			r.wait.attempts = u.failed
			return placed
		}
	}
	w := r.waiting()
	w.attempts, w.plan = u.failed, nil
	a.changes.application(r.application, 0)
	a.retries.failed(r, u.began, a.costs.flat && !u.kept && r.withoutRoom() == nil)
	return waits
}

// triggerHolds reports whether a trigger holds for an ask. If it is only too early for
// that, the ask is looked at again in time.
func (a *attempts) triggerHolds(r *request, t preemptor.Trigger) bool {
	if t == preemptor.Priority {
		if a.preemption.Priority == PriorityOff {
			return false
		}
		return !a.plain || len(a.running) > 0 && a.mayTake(r.Priority, a.running[0].priority)
	}
	if !r.isUnderGuarantee() {
		return false
	}
	at := r.Created.Add(r.application.queue.properties.PreemptionDelay)
	if !at.After(a.now) {
		return true
	}
	r.waiting().due.guarantee = at
	a.setTimer(r)
	return false
}

// backOff lets no room be made for one ask for a while.
func (a *attempts) backOff(r *request, pause time.Duration) {
	r.waiting().due.backOff = a.now.Add(pause)
	a.setTimer(r)
	a.reclassify(r)
}

// wake lets room be made for an ask whose moment has come.
func (a *attempts) wake(r *request) {
	w := r.wait
	if isDue(w.due.backOff, a.now) {
		w.due.backOff, w.stopped = time.Time{}, ""
		a.reclassify(r)
	}
	if isDue(w.due.guarantee, a.now) {
		passOn(a.backlog, r)
	}
}

// A thrashGuard counts how often room was made for an application since a time in a way
// that another one may answer, and notes whether that it is stopped was reported. The
// window is doubled each time it was stopped, so that a loop comes to rest.
type thrashGuard struct {
	since    time.Time
	count    int
	doubled  int
	reported bool
}

// doubledMax is how often a window is doubled.
const doubledMax = 16

// countRoom counts that room was made for an ask. It is taken back when the ask is placed,
// if the victims are less important, and priorities are the same seen from any queue:
// then there is no loop to be made of it.
func (a *attempts) countRoom(r *request, plan *preemptor.Decision) {
	if len(plan.Victims) == 0 {
		return
	}
	r.application.thrashGuard().count++
	counts := plan.Trigger != preemptor.Priority || !a.plain
	for i := range plan.Victims {
		counts = counts || plan.Victims[i].Priority >= r.Priority
	}
	r.nominated().harmless = !counts
}

// thrashGuard is the guard of an application; it is made if there is none yet.
func (a *application) thrashGuard() *thrashGuard {
	f := a.failed()
	if f.thrash == nil {
		f.thrash = &thrashGuard{}
	}
	return f.thrash
}

// takeBack takes back what was counted, since the ask is placed.
func (g *thrashGuard) takeBack(held *claim) {
	if held.harmless {
		g.count = max(g.count-1, 0)
	}
}

// thrashes reports whether room was made so often for an application that it is
// taken for a loop, in which applications evict each other in turn. The ask then backs
// off until the window is over.
func (a *attempts) thrashes(r *request) bool {
	app, guard := r.application, r.application.thrashGuard()
	window := doubled(a.preemption.LoopWindow, guard.doubled)
	end := guard.since.Add(window)
	if !end.After(a.now) {
		next := thrashGuard{since: a.now}
		if guard.reported {
			next.doubled = min(guard.doubled+1, doubledMax)
		}
		*guard = next
		return false
	}
	most := a.preemption.LoopMax * max(1, len(app.asks)+len(app.allocations))
	if guard.count < most {
		return false
	}
	w := r.waiting()
	times := "once"
	if guard.count > 1 {
		times = fmt.Sprintf("%d times", guard.count)
	}
	w.stopped = fmt.Sprintf("room was made %s within %s", times, window)
	a.backOff(r, end.Sub(a.now))
	if !guard.reported {
		guard.reported = true
		a.counts.Loops++
		a.tell(&ApplicationReport{
			r.Application, r.Key,
			"no more room is made for the application for now, since it repeats itself: " + w.stopped,
		})
	}
	return true
}
