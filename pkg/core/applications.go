package core

import (
	"fmt"
)

func (p *Partition) findApplication(id ApplicationID) *application {
	p.likeApplication.id = id
	app, _ := p.applications.Get(&p.likeApplication)
	return app
}

func (p *Partition) addApplication(c AddApplication) {
	refuse := func(format string, args ...any) {
		p.tell(&ApplicationRejected{ID: c.ID, Queue: c.Queue, User: c.User, Groups: c.Groups, Tags: c.Tags, Reason: fmt.Sprintf(format, args...)})
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
		submitted: p.now, since: p.now, sum: emptyBacklog,
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
		p.tell(&AskEnded{r.Allocation, CauseApplicationRemoved})
		p.dequeue(r)
		p.forget(r)
	}
	message := fmt.Sprintf("application %s was removed", id)
	for _, r := range p.unplaceAll(app) {
		p.ended(r, CauseApplicationRemoved, message)
	}
	p.dropApplication(app, true)
}

func (p *Partition) dropApplication(app *application, removed bool) {
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
	p.tell(&ApplicationChanged{ID: app.id, Queue: app.queue.path, From: from, State: next, Message: message})
}

// rest lets an application complete that has nothing left, after a while.
func (p *Partition) rest(app *application) {
	if !app.idle() || (app.state != Accepted && app.state != Running) {
		return
	}
	p.enter(app, Completing, "nothing is left to run")
	p.alarms.add(alarm{at: p.now.Add(p.options.CompletingDelay), application: app})
}

// complete ends an application that has been completing long enough.
func (p *Partition) complete(app *application) {
	if app.state != Completing || app.since.Add(p.options.CompletingDelay).After(p.now) ||
		p.findApplication(app.id) != app {
		return
	}
	p.enter(app, Completed, "")
	p.dropApplication(app, false)
}

// enqueue books an ask and puts it where it waits: in the order of its
// application, or at the node that it needs. The request is in no list.
func (p *Partition) enqueue(r *request) {
	app := r.application
	begun := p.takeShape(r)
	p.asks++
	r.Allocation.Amounts = r.shape.amounts // equal, and shared by all its kind
	app.asks = enlist(app.asks, r, &r.at)
	app.pending.Add(r.Amounts)
	app.queue.await(r.Amounts)
	app.view = nil
	p.unview(app.queue)
	switch {
	case r.Required != "":
		p.bind(r)
	case r.wait == nil || !r.wait.aside:
		app.queued.Insert(r)
		p.settleWhileChanged(app)
	}
	if begun {
		app.queue.settleUp()
	}
}

// settleWhileChanged is settleAbove for a change that nobody above may see.
func (p *Partition) settleWhileChanged(app *application) {
	changed := app.settle()
	for q := app.queue; q != nil && changed; q = q.parent {
		changed = q.settle()
	}
}

// dequeue takes an ask off the books.
func (p *Partition) dequeue(r *request) {
	p.withdraw(r)
	p.settleAbove(r.application)
}

// withdraw takes an ask off the books and out of wherever it waits. The order
// of applications and queues is left to the caller. Of its story only the
// failures to bind are kept, in case there is another.
func (p *Partition) withdraw(r *request) {
	app := r.application
	p.unreserve(r)
	p.unbind(r)
	p.withdrawNomination(r)
	if r.links.In() {
		app.queued.Remove(r)
	}
	r.unhint()
	if w := r.wait; w != nil {
		if w.aside {
			p.notAside(r)
		}
		r.wait = nil
		if w.tries > 0 {
			r.wait = &wait{tries: w.tries, avoid: w.avoid}
		}
	}
	p.shapes.leave(r.shape)
	p.asks--
	r.shape = nil
	app.asks = delist(app.asks, r.at, atApplication)
	app.pending.Sub(r.Amounts)
	app.queue.forgo(r.Amounts)
}
