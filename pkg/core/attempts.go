package core

import (
	"fmt"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/core/timers"
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
	counts     *api.Preempted

	under  *unfinished      // the attempt under way
	begun  uint64           // counts attempts
	owed   resources.Limits // scratch
	like   []*leafClass
	others []preemptor.Behind
}

// attemptOrder is the order in which the triggers are tried.
var attemptOrder = [...]preemptor.Trigger{preemptor.Priority, preemptor.Guarantee}

// mayPreempt reports whether room may be made for an ask now.
func (b *backlog) mayPreempt(r *request) bool {
	g := b.groupOf(r)
	return g != nil && g.leaf.active
}

// try makes an attempt for an ask. The outcome is placed if room is on its way.
func (a *attempts) try(r *request) outcome {
	if a.options.Budgets != nil && a.evictions.batched == a.batch {
		return flush // the budgets count those evictions only after they are known
	}
	if a.loops(r) {
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
		if a.preemption.Priority == api.PriorityOff {
			return false
		}
		return !a.plain || len(a.running) > 0 && a.mayTake(r.Priority, a.running[0].Priority)
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

// keepBack lets no room be made for an ask until a time.
func (a *attempts) keepBack(r *request, until time.Time, why string) {
	r.waiting().guarded().start(&a.timers, until, why, due{what: dueGuard, of: r})
	a.reclassify(r)
}

// wake has an attempt made for an ask whose moment has come.
func (a *attempts) wake(r *request) {
	if timers.IsDue(r.wait.due.guarantee, a.now) {
		a.passOn(r)
	}
}

// countRoom counts that room was made for an ask. It is taken back when the ask is placed,
// if the victims are less important, and priorities are the same seen from any queue:
// then there is no loop to be made of it.
func (a *attempts) countRoom(r *request, plan *preemptor.Decision) {
	if len(plan.Victims) == 0 {
		return
	}
	r.application.failed().loop.made++
	counts := plan.Trigger != preemptor.Priority || !a.plain
	for i := range plan.Victims {
		counts = counts || plan.Victims[i].Priority >= r.Priority
	}
	r.nominated().harmless = !counts
}

// loops reports whether room was made so often for the application of an ask that it is taken for a
// loop. The ask is then kept back until the window is over.
func (a *attempts) loops(r *request) bool {
	app, g := r.application, &r.application.failed().loop
	window := doubled(a.preemption.LoopWindow, g.times)
	until := g.since.Add(window)
	if !until.After(a.now) {
		times := 0
		if g.pauses() {
			times = g.times + 1
		}
		*g = loopGuard{guard: guard{times: times}, since: a.now}
		return false
	}
	if g.made < a.preemption.LoopMax*max(1, len(app.asks)+len(app.allocations)) {
		return false
	}
	why := fmt.Sprintf("room was made %s within %s", timesText(g.made), window)
	a.keepBack(r, until, why)
	if !g.pauses() {
		g.until, g.why = until, why
		a.counts.Loops++
		a.tell(&api.ApplicationReport{
			ID: r.Application, Key: r.Key,
			Message: "no more room is made for the application for now, since it repeats itself: " + why,
		})
	}
	return true
}
