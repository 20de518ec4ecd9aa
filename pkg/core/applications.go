package core

import (
	"fmt"
)

func (p *Partition) addApplication(c AddApplication) {
	refuse := func(format string, args ...any) {
		p.tell(&ApplicationRejected{
			ID: c.ID, Queue: c.Queue, User: c.User, Groups: c.Groups, Tags: c.Tags, Reason: fmt.Sprintf(format, args...),
		})
	}
	if c.ID == "" {
		refuse("an application without an ID")
		return
	}
	if p.findApplication(c.ID) != nil {
		refuse("application %s is registered already", c.ID)
		return
	}
	q, err := p.leafFor(c.Queue)
	if err != nil {
		refuse("application %s: %v", c.ID, err)
		return
	}
	if q.draining && !c.Forced {
		refuse("application %s: queue %s is draining", c.ID, q.path)
		return
	}
	app := &application{
		id: c.ID, queue: q, user: c.User, groups: c.Groups, tags: c.Tags,
		submitted: p.now, since: p.now, own: emptySummary,
	}
	app.queued.Looked = &p.work.Asks
	p.applications.ReplaceOrInsert(app)
	q.applications[app.id] = app
	p.unview(q)
	p.tell(&ApplicationAccepted{ID: app.id, Queue: q.path, User: app.user, Groups: app.groups, Tags: app.tags})
}

// removeApplication takes an application off the books with all it has. One
// that is not known is gone already.
func (p *Partition) removeApplication(id ApplicationID) {
	app := p.findApplication(id)
	if app == nil {
		return
	}
	for _, r := range byKey(app.asks) {
		p.endAsk(r, CauseApplicationRemoved)
	}
	message := fmt.Sprintf("application %s was removed", id)
	for _, r := range byKey(app.allocations) {
		p.endAllocation(r, CauseApplicationRemoved, message)
	}
	p.dropApplication(app, true)
}

func (p *Partition) dropApplication(app *application, removed bool) {
	p.timers.Cancel(&app.completion)
	p.applications.Delete(app)
	q := app.queue
	delete(q.applications, app.id)
	p.unview(q)
	p.tell(&ApplicationGone{ID: app.id, Queue: q.path, State: app.state, Removed: removed})
	p.prune(q)
}

// enter changes the state of an application and says so. That the change
// exists is a matter of the code that asks for it.
func (p *Partition) enter(app *application, next State, message string) {
	from := app.state
	if err := app.moveTo(next, p.now); err != nil {
		panic(fmt.Sprintf("partition %s: %v", p.name, err))
	}
	app.view = nil
	if from == Completing {
		p.timers.Cancel(&app.completion)
	}
	p.tell(&ApplicationChanged{ID: app.id, Queue: app.queue.path, From: from, State: next, Message: message})
}

// rest lets an application complete that has nothing left, after a while.
func (p *Partition) rest(app *application) {
	if !app.idle() || (app.state != Accepted && app.state != Running) {
		return
	}
	p.enter(app, Completing, "nothing is left to run")
	p.timers.Set(&app.completion, p.now.Add(p.options.CompletingDelay), due{what: dueCompletion, application: app})
}

// complete ends an application that has been completing long enough.
func (p *Partition) complete(app *application) {
	p.enter(app, Completed, "")
	p.dropApplication(app, false)
}
