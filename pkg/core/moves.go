package core

import (
	"fmt"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/backlog"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/timers"
)

// run books an allocation. Its application is Running from then on, or, if it has a gang, once
// all placeholders run or anything else does.
func (p *Partition) run(r *ledger.Request, n *ledger.Node) {
	p.Book(r, n)
	p.Changes.TookRoom(r)
	app := r.App
	if app.Gang != nil {
		p.stayOn(app)
		p.gangRan(r)
		if app.State == api.Resuming || app.State == api.Failing || app.State == api.Accepted && r.Placeholder && !app.Gang.IsComplete() {
			return
		}
	}
	if app.State != api.Running {
		p.enter(app, api.Running, "")
	}
}

// endWait takes an ask off the books and out of wherever it waits. Of what is known of
// it only the failures to bind are kept, and that victims ended for it, in case there is
// another.
func (p *Partition) endWait(r *ledger.Request) {
	if r.TaskGroup != "" {
		p.groups.Resign(r)
	}
	if r.StartsWith != nil {
		r.StartsWith.Resign(&p.Ledger, r)
	}
	if r.Wait != nil {
		p.PassOn(r)
		p.kept.GiveUp(r)
		p.renominations.Drop(r)
	}
	p.trials.Drop(r.Slot)
	p.Unbind(r)
	p.order.WaitsNoMore(r)
	p.Withdraw(r)
	if w := r.Wait; w != nil && w.Guard != nil {
		p.Timers.Cancel(&w.Guard.Timer)
	}
	r.EndWait()
}

// boundTo is the node that an ask is bound to, if it still waits.
func (p *Partition) boundTo(r *ledger.Request) *ledger.Node {
	switch {
	case r.RunsOn != nil || p.Requests[r.Key] != r:
		return nil
	case r.Required != "":
		return p.FindNode(r.Required)
	case r.Claim() != nil:
		return r.Claim().Node
	}
	return nil
}

// await lists a bound ask to be tried again when the account that holds it back may hold more.
func (p *Partition) await(r *ledger.Request, a *ledger.Account) {
	if p.boundTo(r) != nil {
		a.HoldUp(r)
	}
}

// enter changes the state of an application and tells of it. A change that does not
// exist is an error of the caller, and panics.
func (p *Partition) enter(app *ledger.Application, next api.State, message string) {
	from := app.State
	if err := app.MoveTo(next, p.Now); err != nil {
		panic(fmt.Sprintf("partition %s: %v", p.Name, err))
	}
	if (next == api.Completing || next == api.Accepted) && app.Idle() {
		p.SetRan(app, false)
	}
	p.awaitEnd(app)
	p.Tell(&api.ApplicationChanged{ID: app.ID, Queue: app.Queue.Path, From: from, State: next, Message: message})
}

// dropApplication removes an application that has nothing left, and its queue if that
// drains and is empty.
func (p *Partition) dropApplication(app *ledger.Application, removed bool) {
	p.stayOn(app)
	if app.Failures != nil {
		p.Timers.Cancel(&app.Failures.Backoff.Timer)
	}
	if app.Gang != nil {
		p.Timers.Cancel(&app.Gang.Timer)
		p.groups.Forget(app)
	}
	p.EndDoneOf(app)
	p.SetRan(app, false)
	if group := app.Group(); group != "" {
		p.Tell(&api.ApplicationGroup{ID: app.ID, Queue: app.Queue.Path, Before: group})
	}
	p.RemoveApplication(app)
	q := app.Queue
	p.Tell(&api.ApplicationGone{ID: app.ID, Queue: q.Path, State: app.State, Removed: removed})
	p.Prune(q)
}

// nothingLeft is why an application completes.
const nothingLeft = "nothing is left to run"

// completeLater lets an application complete that has nothing left, after a while. One that goes on without its
// placeholders has yet to ask.
func (p *Partition) completeLater(app *ledger.Application) {
	resumed := app.State == api.Resuming
	if app.Gang != nil {
		p.followGang(app)
	}
	if resumed || !app.IsDone() || (app.State != api.Accepted && app.State != api.Running) {
		return
	}
	p.enter(app, api.Completing, nothingLeft)
}

// unused reports whether an application ends by itself after a time since it has not asked for anything, or for nothing
// without its placeholders.
func (p *Partition) unused(app *ledger.Application) bool {
	return p.Options.UnusedDelay > 0 && (app.State == api.New || app.State == api.Accepted && app.IsDone())
}

// awaitEnd sets when an application ends by itself in the state that it is in: one that has
// nothing left, or that never asked for anything.
func (p *Partition) awaitEnd(app *ledger.Application) {
	switch {
	case app.State == api.Completing:
		p.completeAt(app, app.Since.Add(p.Options.CompletingDelay))
	case p.unused(app):
		p.completeAt(app, app.Since.Add(p.Options.UnusedDelay))
	default:
		p.stayOn(app)
	}
}

// followGang brings the state of an application in line with what is left of its gang.
func (p *Partition) followGang(app *ledger.Application) {
	if app.Gang.Placeholders == 0 {
		p.Timers.Cancel(&app.Gang.Timer)
		if app.State == api.Resuming {
			p.enter(app, api.Accepted, "all placeholders have ended")
			if len(app.Allocations) > 0 {
				p.enter(app, api.Running, "")
			}
		}
	}
	if app.State == api.Completing && app.Idle() { // its last placeholder has ended
		p.SetRan(app, false)
	}
	if app.State == api.Failing && app.Idle() {
		p.enter(app, api.Failed, gangTimedOut)
		p.dropApplication(app, false)
	}
}

// completeAt lets an application complete at a time.
func (p *Partition) completeAt(app *ledger.Application, at time.Time) {
	p.Timers.Set(p.completions.Of(app.Slot, app), at, timers.Due{What: timers.Completion, Of: app})
}

// completes reports whether an application ends by itself, and stayOn has it not do so.
func (p *Partition) completes(app *ledger.Application) bool {
	timer := p.completions.Get(app.Slot, app)
	return timer.Set()
}

func (p *Partition) stayOn(app *ledger.Application) {
	if p.completes(app) {
		p.Timers.Cancel(p.completions.Of(app.Slot, app))
	}
}

// complete ends an application that has been completing, or new, long enough.
func (p *Partition) complete(app *ledger.Application) {
	if len(app.Allocations) > 0 { // placeholders, which end first
		p.dismissRunning(app, false, nothingLeft)
		p.completeAt(app, p.Now.Add(p.Options.CompletingDelay))
		return
	}
	message := ""
	if app.State != api.Completing {
		message = fmt.Sprintf("it asked for nothing in %s", p.Options.UnusedDelay)
	}
	p.enter(app, api.Completed, message)
	p.dropApplication(app, false)
}

// ask books an ask and has it wait: in the order of its application, or at the node
// that it needs. The request is in no list.
func (p *Partition) ask(r *ledger.Request) {
	p.stayOn(r.App)
	if r.TaskGroup != "" {
		p.JoinTaskGroup(r)
	}
	if r.StartsWith != nil {
		p.groups.Join(r)
	}
	p.Enqueue(r, p.ClassNow(r, p.predicates.ConstraintsOf(r)))
	p.order.Waits(r)
	if r.Required != "" {
		p.Bind(r)
	}
}

// tryAgain ends the delay of an ask.
func (p *Partition) tryAgain(r *ledger.Request) {
	r.Wait.EndDelay()
	p.trials.Drop(r.Slot)
	p.SetMoment(r, backlog.Retry, time.Time{})
	p.MayJoinTaskGroup(r)
	if r.Required == "" {
		if !r.IsHeld() {
			p.Insert(r)
		}
		return
	}
	if n := p.boundTo(r); n != nil {
		p.Changes.Node(n, ledger.NodeRetry)
	}
}
