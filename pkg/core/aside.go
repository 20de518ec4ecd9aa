package core

import (
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/timers"
)

// An aside counts the asks of an application that failed on nodes, one of each class, since
// everything that may be tried was tried last. After as many as its queue says the application
// is set aside: for a while it stands in no order, so that its asks are not tried.
// Asks that are nominated, hold a reservation or have a required node go on, since they are
// bound to a node.
type aside struct {
	failed int
	visit  uint64            // in which they failed
	timer  timers.Timer[due] // set while it is set aside
}

// isAside reports whether the application is set aside.
func (a *application) isAside() bool { return a.aside != nil && a.aside.timer.Set() }

// asideUntil is when the application is tried again; zero if it is not set aside.
func (a *application) asideUntil() time.Time {
	if !a.isAside() {
		return time.Time{}
	}
	return a.aside.timer.At()
}

// countFailure counts an ask that failed on nodes.
func (p cycle) countFailure(app *application) {
	most := app.queue.properties.AsideAfter
	if most == 0 || app.isAside() {
		return
	}
	if app.aside == nil {
		app.aside = &aside{}
	}
	if app.aside.visit != p.visit {
		app.aside.visit, app.aside.failed = p.visit, 0
	}
	if app.aside.failed++; app.aside.failed >= most {
		app.aside.failed = 0
		p.setAside(app, p.now.Add(app.queue.properties.AsideDelay))
	}
}

// setAside keeps an application out of the order until a time.
func (p *Partition) setAside(app *application, until time.Time) {
	if app.aside == nil {
		app.aside = &aside{}
	}
	p.timers.Set(&app.aside.timer, until, due{what: dueAside, application: app})
	app.view = nil
	p.changes.application(app, 0)
}

// takeBack has an application tried again.
func (p *Partition) takeBack(app *application) {
	app.view = nil
	p.changes.application(app, 0)
}
