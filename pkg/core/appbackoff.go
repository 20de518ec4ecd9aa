package core

import (
	"maps"
	"time"
)

// An appBackoff counts the asks of an application that failed on nodes, one of each class, since
// everything that may be tried was tried last. After as many as its queue says the application
// backs off: for a while it stands in no order, so that its asks are not tried.
// Those that it backed off for do not count again before all others were tried: else the same ones
// would fail each time, and those behind them never be tried.
// Asks that are nominated, hold a reservation or have a required node go on, since they are
// bound to a node.
type appBackoff struct {
	guard
	failed  int
	counted map[*class]bool // whose failures were counted since all could be tried last
	visit   uint64          // in which they failed
	cut     bool            // the application backed off in it
}

// countFailure counts an ask of a class that failed on nodes.
func (p cycle) countFailure(app *application, c *class) {
	most := app.queue.properties.BackoffAfter
	if most == 0 || app.backsOff() {
		return
	}
	backoff := &app.failed().backoff
	if backoff.visit != p.visit {
		maps.DeleteFunc(backoff.counted, func(c *class, _ bool) bool { return !backoff.cut || c.asks == 0 })
		backoff.visit, backoff.failed, backoff.cut = p.visit, 0, false
	}
	if backoff.counted[c] {
		return
	}
	if backoff.counted == nil {
		backoff.counted = map[*class]bool{}
	}
	backoff.counted[c] = true
	if backoff.failed++; backoff.failed >= most {
		backoff.failed, backoff.cut = 0, true
		p.backOffUntil(app, p.now.Add(app.queue.properties.BackoffDelay))
	}
}

// backOffUntil keeps an application out of the order until a time.
func (p cycle) backOffUntil(app *application, until time.Time) {
	app.failed().backoff.start(&p.timers, until, "its application backs off, as many of its asks failed", due{application: app})
	p.changes.application(app, 0)
}
