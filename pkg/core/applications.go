package core

import (
	"fmt"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
)

func (p *Partition) addApplication(c api.AddApplication) {
	refuse := func(format string, args ...any) {
		p.Tell(&api.ApplicationRejected{
			ID: c.ID, Queue: c.Queue, User: c.User, Groups: c.Groups, Tags: c.Tags, Reason: fmt.Sprintf(format, args...),
		})
	}
	if c.ID == "" {
		refuse("an application without an ID")
		return
	}
	if p.FindApplication(c.ID) != nil {
		refuse("application %s is registered already", c.ID)
		return
	}
	q, err := p.queueFor(c)
	if err != nil {
		refuse("application %s: %v", c.ID, err)
		return
	}
	if err := checkGang(q, c); err != nil {
		p.Prune(q)
		refuse("application %s: %v", c.ID, err)
		return
	}
	p.takeIn(c, q)
}

// takeIn registers an application in a queue.
func (p *Partition) takeIn(c api.AddApplication, q *ledger.Queue) {
	app := p.AddApplication(c, q)
	p.awaitEnd(app)
	p.Tell(&api.ApplicationAccepted{ID: app.ID, Queue: q.Path, User: app.User, Groups: app.Groups, Tags: app.Tags})
	p.TellGroup(app, "")
}

// updateApplication takes other tags and another quota.
func (p *Partition) updateApplication(c api.UpdateApplication) {
	app := p.FindApplication(c.ID)
	if app == nil {
		return
	}
	app.Retag(c.Tags)
	p.setQuota(app.Queue, c.Quota)
}

// removeApplication takes an application off the books with all it has. One
// that is not known is gone already.
func (p *Partition) removeApplication(id api.ApplicationID) {
	app := p.FindApplication(id)
	if app == nil {
		return
	}
	for _, r := range ledger.ByKey(app.Asks) {
		p.endAsk(r, api.CauseApplicationRemoved)
	}
	message := fmt.Sprintf("application %s was removed", id)
	for _, r := range ledger.ByKey(app.Allocations) {
		p.endAllocation(r, api.CauseApplicationRemoved, message)
	}
	p.dropApplication(app, true)
}

// checkGang says why a queue cannot take an application with placeholders; nil if it can.
// One that runs already is taken whatever it holds.
func checkGang(q *ledger.Queue, c api.AddApplication) error {
	if kind, negative := c.Placeholders.Negative(); negative {
		return fmt.Errorf("contains negative resources of kind %d for its placeholders", kind)
	}
	if c.Forced {
		return nil
	}
	if c.Placeholders.Above(api.PlanMax) {
		return fmt.Errorf("the sum of its placeholders is too large")
	}
	for ; q != nil; q = q.Parent {
		if !c.Placeholders.Within(q.Max) {
			return fmt.Errorf("its placeholders want more than the max of queue %s", q.Path)
		}
	}
	return nil
}
