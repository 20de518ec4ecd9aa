package core

import (
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/backlog"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/timers"
)

// countFailure counts an ask of a class that failed on nodes.
func (p *Partition) countFailure(app *ledger.Application, c *backlog.Class) {
	most := app.Queue.Properties.BackoffAfter
	if most == 0 || app.BacksOff() {
		return
	}
	waits := func(class string) bool {
		c := p.Classes.Known[class]
		return c != nil && c.Asks > 0
	}
	if app.Failed().Backoff.Fails(c.Key, p.visit, most, waits) {
		p.backOffUntil(app, p.Now.Add(app.Queue.Properties.BackoffDelay))
	}
}

// backOffUntil keeps an application out of the order until a time.
func (p *Partition) backOffUntil(app *ledger.Application, until time.Time) {
	app.Failed().Backoff.Start(&p.Timers, until, "its application backs off, as many of its asks failed", timers.Due{What: timers.Pause, Of: app})
	p.Changes.Application(app, 0)
}
