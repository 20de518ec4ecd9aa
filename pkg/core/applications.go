package core

import (
	"fmt"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

func (p *Partition) addApplication(c api.AddApplication) {
	refuse := func(format string, args ...any) {
		p.tell(&api.ApplicationRejected{
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
	q, err := p.queueFor(c)
	if err != nil {
		refuse("application %s: %v", c.ID, err)
		return
	}
	if err := checkGang(q, c); err != nil {
		p.prune(q)
		refuse("application %s: %v", c.ID, err)
		return
	}
	p.takeIn(c, q)
}

// takeIn registers an application in a queue.
func (p *Partition) takeIn(c api.AddApplication, q *queue) {
	app := &application{
		id: c.ID, queue: q, user: c.User, groups: c.Groups, tags: c.Tags,
		submitted: p.now, since: p.now, dated: !c.Created.IsZero(), slot: p.applicationSlots.Take(),
	}
	if app.dated {
		app.submitted = c.Created
	}
	app.beginGang(c)
	p.limits.join(app)
	p.applications.ReplaceOrInsert(app)
	q.applications[app.id] = app
	p.unview(q)
	p.awaitEnd(app)
	p.tell(&api.ApplicationAccepted{ID: app.id, Queue: q.path, User: app.user, Groups: app.groups, Tags: app.tags})
	p.tellGroup(app, "")
}

// removeApplication takes an application off the books with all it has. One
// that is not known is gone already.
func (p *Partition) removeApplication(id api.ApplicationID) {
	app := p.findApplication(id)
	if app == nil {
		return
	}
	for _, r := range byKey(app.asks) {
		p.endAsk(r, api.CauseApplicationRemoved)
	}
	message := fmt.Sprintf("application %s was removed", id)
	for _, r := range byKey(app.allocations) {
		p.endAllocation(r, api.CauseApplicationRemoved, message)
	}
	p.dropApplication(app, true)
}

// checkGang says why a queue cannot take an application with placeholders; nil if it can.
// One that runs already is taken whatever it holds.
func checkGang(q *queue, c api.AddApplication) error {
	if kind, negative := c.Placeholders.Negative(); negative {
		return fmt.Errorf("contains negative resources of kind %d for its placeholders", kind)
	}
	if c.Forced {
		return nil
	}
	if c.Placeholders.Above(api.PlanMax) {
		return fmt.Errorf("the sum of its placeholders is too large")
	}
	for ; q != nil; q = q.parent {
		if !c.Placeholders.Within(q.max) {
			return fmt.Errorf("its placeholders want more than the max of queue %s", q.path)
		}
	}
	return nil
}
