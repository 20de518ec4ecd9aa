package core

import (
	"maps"
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
	backoff := &app.Failed().Backoff
	if backoff.Visit != p.visit {
		maps.DeleteFunc(backoff.Counted, func(key string, _ bool) bool {
			c := p.Classes.Known[key]
			return !backoff.Cut || c == nil || c.Asks == 0
		})
		backoff.Visit, backoff.Failed, backoff.Cut = p.visit, 0, false
	}
	if backoff.Counted[c.Key] {
		return
	}
	if backoff.Counted == nil {
		backoff.Counted = map[string]bool{}
	}
	backoff.Counted[c.Key] = true
	if backoff.Failed++; backoff.Failed >= most {
		backoff.Failed, backoff.Cut = 0, true
		p.backOffUntil(app, p.Now.Add(app.Queue.Properties.BackoffDelay))
	}
}

// backOffUntil keeps an application out of the order until a time.
func (p *Partition) backOffUntil(app *ledger.Application, until time.Time) {
	app.Failed().Backoff.Start(&p.Timers, until, "its application backs off, as many of its asks failed", timers.Due{What: timers.Pause, Of: app})
	p.Changes.Application(app, 0)
}
