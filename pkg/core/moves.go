package core

import (
	"fmt"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/timers"
)

// run books an allocation. Its application is Running from then on, or, if it has a gang, once
// all placeholders run or anything else does.
func (p *Partition) run(r *request, n *node) {
	p.book(r, n)
	app := r.application
	if app.gang != nil {
		p.gangRan(r)
		if app.state == api.Resuming || app.state == api.Failing || app.state == api.Accepted && r.Placeholder && !app.gang.isComplete() {
			return
		}
	}
	if app.state != api.Running {
		p.enter(app, api.Running, "")
	}
}

// endWait takes an ask off the books and out of wherever it waits. Of what is known of
// it only the failures to bind are kept, and that victims ended for it, in case there is
// another.
func (p *Partition) endWait(r *request) {
	if r.TaskGroup != "" {
		p.resignTaskGroup(r)
	}
	if r.startsWith != nil {
		r.startsWith.resign(&p.ledger, r)
	}
	if r.wait != nil {
		r.wait.held = false
		p.passOn(r)
		p.kept.withdraw(r)
		p.renominations.drop(r)
	}
	p.unbind(r)
	p.withdraw(r)
	if w := r.wait; w != nil {
		p.timers.Cancel(&w.timer)
		r.wait = nil
		if w.bindings > 0 || w.ran || w.guard != nil {
			r.wait = &wait{bindings: w.bindings, avoid: w.avoid, ran: w.ran}
		}
		if w.guard != nil {
			p.timers.Cancel(&w.guard.timer)
			r.wait.guard = &guard{times: w.guard.times}
		}
	}
}

// bind lists an ask that has a required node with that node.
func (p *Partition) bind(r *request) {
	if n := p.findNode(r.Required); n != nil {
		n.required.add(r)
		p.changes.node(n, nodeRetry)
		return
	}
	r.waiting().reason = api.NodeUnknown
	set := p.absent[r.Required]
	if set == nil {
		set = &askSet{}
		p.absent[r.Required] = set
	}
	set.add(r)
}

// unbind takes an ask off the list of its required node, if it has one.
func (p *Partition) unbind(r *request) {
	if r.Required == "" {
		return
	}
	if n := p.findNode(r.Required); n != nil {
		n.required.remove(r)
		return
	}
	if set := p.absent[r.Required]; set != nil && set.remove(r) {
		delete(p.absent, r.Required)
	}
}

// boundTo is the node that an ask is bound to, if it still waits.
func (p *Partition) boundTo(r *request) *node {
	switch {
	case r.node != nil || p.requests[r.Key] != r:
		return nil
	case r.Required != "":
		return p.findNode(r.Required)
	case r.claim() != nil:
		return r.claim().node
	}
	return nil
}

// await lists a bound ask to be tried again when the account that holds it back may hold more.
func (p *Partition) await(r *request, a *account) {
	if p.boundTo(r) == nil || r.waiting().heldBy == a {
		return
	}
	r.wait.heldBy = a
	a.held = append(a.held, r)
}

// enter changes the state of an application and tells of it. A change that does not
// exist is an error of the caller, and panics.
func (p *Partition) enter(app *application, next api.State, message string) {
	from := app.state
	if err := app.moveTo(next, p.now); err != nil {
		panic(fmt.Sprintf("partition %s: %v", p.name, err))
	}
	app.view = nil
	if next == api.Completing && app.idle() {
		p.setRan(app, false)
	}
	p.awaitEnd(app)
	p.tell(&api.ApplicationChanged{ID: app.id, Queue: app.queue.path, From: from, State: next, Message: message})
}

// dropApplication removes an application that has nothing left, and its queue if that
// drains and is empty.
func (p *Partition) dropApplication(app *application, removed bool) {
	if app.completion != nil {
		p.timers.Cancel(app.completion)
	}
	if app.failures != nil {
		p.timers.Cancel(&app.failures.backoff.timer)
	}
	if app.gang != nil {
		p.forgetGang(app)
	}
	p.setRan(app, false)
	if group := app.group(); group != "" {
		p.tell(&api.ApplicationGroup{ID: app.id, Queue: app.queue.path, Before: group})
	}
	p.limits.leave(app)
	p.applications.Delete(app)
	app.gone = true
	p.changes.application(app, 0)
	q := app.queue
	delete(q.applications, app.id)
	p.unview(q)
	p.tell(&api.ApplicationGone{ID: app.id, Queue: q.path, State: app.state, Removed: removed})
	p.prune(q)
}

// completeLater lets an application complete that has nothing left, after a while.
func (p *Partition) completeLater(app *application) {
	if app.gang != nil {
		p.followGang(app)
	}
	if !app.isDone() || (app.state != api.Accepted && app.state != api.Running) {
		return
	}
	p.enter(app, api.Completing, "nothing is left to run")
}

// awaitEnd sets when an application ends by itself in the state that it is in: one that has
// nothing left, or that never asked for anything.
func (p *Partition) awaitEnd(app *application) {
	switch {
	case app.state == api.Completing:
		p.completeAt(app, app.since.Add(p.options.CompletingDelay))
	case app.state == api.New && p.options.UnusedDelay > 0:
		p.completeAt(app, app.since.Add(p.options.UnusedDelay))
	case app.completion != nil:
		p.timers.Cancel(app.completion)
	}
}

// followGang brings the state of an application in line with what is left of its gang.
func (p *Partition) followGang(app *application) {
	if app.gang.placeholders == 0 {
		p.timers.Cancel(&app.gang.timer)
		if app.state == api.Resuming {
			p.enter(app, api.Accepted, "all placeholders have ended")
			if len(app.allocations) > 0 {
				p.enter(app, api.Running, "")
			}
		}
	}
	if app.state == api.Completing && app.idle() { // its last placeholder has ended
		p.setRan(app, false)
	}
	if app.state == api.Failing && app.idle() {
		p.enter(app, api.Failed, gangTimedOut)
		p.dropApplication(app, false)
	}
}

// completeAt lets an application complete at a time.
func (p *Partition) completeAt(app *application, at time.Time) {
	if app.completion == nil {
		app.completion = &timers.Timer[due]{}
	}
	p.timers.Set(app.completion, at, due{what: dueCompletion, of: app})
}

// complete ends an application that has been completing, or new, long enough.
func (p *Partition) complete(app *application) {
	if len(app.allocations) > 0 { // placeholders, which end first
		p.dismissRunning(app, false, "nothing is left to run")
		p.completeAt(app, p.now.Add(p.options.CompletingDelay))
		return
	}
	message := ""
	if app.state == api.New {
		message = fmt.Sprintf("it asked for nothing in %s", p.options.UnusedDelay)
	}
	p.enter(app, api.Completed, message)
	p.dropApplication(app, false)
}

// ask books an ask and has it wait: in the order of its application, or at the node
// that it needs. The request is in no list.
func (p *Partition) ask(r *request) {
	if r.TaskGroup != "" {
		p.joinTaskGroup(r)
	}
	if r.startsWith != nil {
		r.startsWith.join(&p.ledger, r, p.groupOf(r) != nil)
	}
	p.enqueue(r, p.classNow(r, p.predicates.constraintsOf(r)))
	if r.Required != "" {
		p.bind(r)
	}
}

// tryAgain ends the delay of an ask.
func (p *Partition) tryAgain(r *request) {
	w := r.wait
	w.due.retry, w.delayed, w.planned = time.Time{}, false, 0
	p.mayJoinTaskGroup(r)
	if r.Required == "" {
		if !r.isHeld() {
			p.insert(r)
		}
		return
	}
	if n := p.boundTo(r); n != nil {
		p.changes.node(n, nodeRetry)
	}
}
