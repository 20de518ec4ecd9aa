package simulator

import (
	"github.com/narwhal-scheduler/narwhal/pkg/core"
)

// An application as the resource manager knows it.
type application struct {
	id        core.ApplicationID
	requested core.QueuePath
	user      string
	queue     *queueBook
	known     bool   // the core has it
	rejected  string // and why
}

// applications are all that the resource manager has, whether the core knows them or
// not.
type applications struct {
	*simulation
	byID map[core.ApplicationID]*application
}

func (a *application) refuse(reason string) {
	if a != nil {
		a.known, a.rejected = false, reason
	}
}

// updated follows the state of an application: one that is over is registered
// anew when it gets another pod.
func (as *applications) updated(e *core.ApplicationChanged) {
	app := as.byID[e.ID]
	if app == nil {
		as.breach("application %s changed its state to %s and is not known", e.ID, e.State)
		return
	}
	if e.State.IsLast() {
		app.known = false
	}
}

// register makes sure that the core knows an application.
func (as *applications) register(id core.ApplicationID, requested core.QueuePath, user string) *application {
	app := as.byID[id]
	if app == nil {
		app = &application{id: id, requested: requested, user: user, queue: as.books.queueOf(requested)}
		as.byID[id] = app
	}
	if !app.known && app.rejected == "" {
		app.known = true
		as.send(core.AddApplication{ID: id, Queue: requested, User: user, Groups: []string{user}})
	}
	return app
}
