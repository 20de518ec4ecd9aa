package preemption

import (
	"fmt"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/backlog"
	"github.com/narwhal-scheduler/narwhal/pkg/core/guard"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/core/question"
	"github.com/narwhal-scheduler/narwhal/pkg/core/timers"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// Attempts are the preemption attempts: an ask that fits nowhere looks for the node
// where evictions make room at the least cost, because of its priority, or because
// of the guarantee of its queue. It is nominated to that node, and the victims are
// evicted. An attempt that failed is not repeated by asks of the same class in the
// same queue until something has changed that may help (see retries).
type Attempts struct {
	*backlog.Backlog
	Predicates *question.Predicates
	Costs      *CostCache
	Kept       *Claims
	Evictions  *Evictions
	Retries    *Retries
	Counts     *api.Preempted

	under      *unfinished                        // the attempt under way
	unfinished map[*backlog.LeafClass]*unfinished // those that go on in a later batch
	forgetAt   int                                // so many of these
	Begun      uint64                             // counts attempts
	owed       resources.Limits                   // scratch
	like       []*backlog.LeafClass
	others     []preemptor.Behind
}

// attemptOrder is the order in which the triggers are tried.
var attemptOrder = [...]preemptor.Trigger{preemptor.Priority, preemptor.Guarantee}

// Try makes an attempt for an ask. The outcome is placed if room is on its way.
func (a *Attempts) Try(r *ledger.Request) question.Outcome {
	if a.Options.Budgets != nil && a.Evictions.Batched == a.Batch {
		return question.Flush // the budgets count those evictions only after they are known
	}
	if a.Loops(r) {
		return question.Waits
	}
	a.Spend()
	u := a.under
	for _, trigger := range attemptOrder {
		if u.failedBy(trigger) || !a.triggerHolds(r, trigger) {
			continue
		}
		attempt, result := a.tryBy(r, trigger)
		if result == question.Flush || result == question.Paused || result == question.Busy {
			return result
		}
		u.failed, u.dryRuns = append(u.failed, attempt), dryRuns{}
		if result == question.Placed {
			r.Wait.Tried(u.failed)
			return question.Placed
		}
	}
	r.Waiting().Tried(u.failed)
	r.Wait.Plans(nil, a.Now)
	a.Changes.Application(r.App, 0)
	a.Retries.failed(r, u.began, a.Costs.Flat && !u.kept && r.WithoutRoom() == nil)
	return question.Waits
}

// triggerHolds reports whether a trigger holds for an ask. If it is only too early for
// that, the ask is looked at again in time.
func (a *Attempts) triggerHolds(r *ledger.Request, t preemptor.Trigger) bool {
	if t == preemptor.Priority {
		if a.Preemption.Priority == api.PriorityOff {
			return false
		}
		return !a.Plain || len(a.Running) > 0 && a.MayTake(r.Priority, a.Running[0].Priority)
	}
	if !r.IsUnderGuarantee() {
		return false
	}
	at := r.Created.Add(r.App.Queue.Properties.PreemptionDelay)
	if !at.After(a.Now) {
		return true
	}
	a.SetMoment(r, backlog.Guarantee, at)
	return false
}

// KeepBack lets no room be made for an ask until a time.
func (a *Attempts) KeepBack(r *ledger.Request, until time.Time, why string) {
	r.Waiting().Guarded().Start(&a.Timers, until, why, timers.Due{What: timers.Pause, Of: r})
	a.Reclassify(r)
}

// Wake has an attempt made for an ask whose moment has come.
func (a *Attempts) Wake(r *ledger.Request) {
	if timers.IsDue(a.MomentOf(r, backlog.Guarantee), a.Now) {
		a.PassOn(r)
	}
}

// countRoom counts that room was made for an ask. It is taken back when the ask is placed,
// if the victims are less important, and priorities are the same seen from any queue:
// then there is no loop to be made of it.
func (a *Attempts) countRoom(r *ledger.Request, plan *preemptor.Decision) {
	if len(plan.Victims) == 0 {
		return
	}
	r.App.Failed().Loop.Count()
	counts := plan.Trigger != preemptor.Priority || !a.Plain
	for i := range plan.Victims {
		counts = counts || plan.Victims[i].Priority >= r.Priority
	}
	if !counts {
		r.Nominated().SayHarmless()
	}
}

// Loops reports whether room was made so often for the application of an ask that it is taken for a
// loop. The ask is then kept back until the window is over.
func (a *Attempts) Loops(r *ledger.Request) bool {
	app, g := r.App, &r.App.Failed().Loop
	window := guard.Doubled(a.Preemption.LoopWindow, g.Times)
	until := g.Since.Add(window)
	if !until.After(a.Now) {
		g.Begin(a.Now)
		return false
	}
	if g.Made < a.Preemption.LoopMax*max(1, len(app.Asks)+len(app.Allocations)) {
		return false
	}
	why := fmt.Sprintf("room was made %s within %s", guard.TimesText(g.Made), window)
	a.KeepBack(r, until, why)
	if !g.Pauses() {
		g.PauseUntil(until, why)
		a.Counts.Loops++
		a.Tell(&api.ApplicationReport{
			ID: r.Application, Key: r.Key,
			Message: "no more room is made for the application for now, since it repeats itself: " + why,
		})
	}
	return true
}
