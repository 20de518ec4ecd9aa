package core

import (
	"maps"
	"time"
)

// countFailure counts an ask of a class that failed on nodes.
func (p *Partition) countFailure(app *application, c *class) {
	most := app.queue.properties.BackoffAfter
	if most == 0 || app.backsOff() {
		return
	}
	backoff := &app.failed().backoff
	if backoff.visit != p.visit {
		maps.DeleteFunc(backoff.counted, func(key string, _ bool) bool {
			c := p.classes.known[key]
			return !backoff.cut || c == nil || c.asks == 0
		})
		backoff.visit, backoff.failed, backoff.cut = p.visit, 0, false
	}
	if backoff.counted[c.key] {
		return
	}
	if backoff.counted == nil {
		backoff.counted = map[string]bool{}
	}
	backoff.counted[c.key] = true
	if backoff.failed++; backoff.failed >= most {
		backoff.failed, backoff.cut = 0, true
		p.backOffUntil(app, p.now.Add(app.queue.properties.BackoffDelay))
	}
}

// backOffUntil keeps an application out of the order until a time.
func (p *Partition) backOffUntil(app *application, until time.Time) {
	app.failed().backoff.start(&p.timers, until, "its application backs off, as many of its asks failed", due{what: dueGuard, of: app})
	p.changes.application(app, 0)
}
