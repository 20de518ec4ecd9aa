package simulator

import (
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// An application as the resource manager knows it.
type application struct {
	command  api.AddApplication // that registers it
	id       api.ApplicationID
	queue    *queueBook         // where it is; as asked for until the core accepts it
	known    bool               // the core has it
	runs     bool               // so it was told, when it was sent last
	rejected string             // and why
	times    int                // that it was registered
	arrived  int                // pods since it was sent last
	pending  int                // pods that wait
	gang     *gang              // while its pods wait for placeholders
	gathers  api.AddApplication // that registers it with placeholders
	created  time.Duration      // when it came first
	done     []*pod             // of its group, those that have succeeded
}

// applications are all that the resource manager has, whether the core knows them or
// not.
type applications struct {
	*simulation
	byID map[api.ApplicationID]*application
}

// refused takes in that the core did not take an application. One that runs it must take. The
// pods of a gang do not come then.
func (as *applications) refused(e *api.ApplicationRejected) {
	app := as.byID[e.ID]
	if app == nil {
		return
	}
	if app.runs {
		as.breach("application %s was rejected, and it runs: %s", e.ID, e.Reason)
	}
	app.known, app.rejected, app.gang = false, e.Reason, nil
}

// updated follows the state of an application: one that is over is registered
// anew when it gets another pod.
func (as *applications) updated(e *api.ApplicationChanged) {
	app := as.byID[e.ID]
	if app == nil {
		as.breach("application %s changed its state to %s and is not known", e.ID, e.State)
		return
	}
	if e.State.IsLast() {
		app.known = false
	}
}

// accepted takes in where the core put an application.
func (as *applications) accepted(e *api.ApplicationAccepted) {
	app := as.byID[e.ID]
	if app == nil {
		as.breach("application %s was accepted and is not known", e.ID)
		return
	}
	as.books.move(app, as.books.placedIn(e.Queue))
}

// register makes sure that the core knows an application.
func (as *applications) register(command api.AddApplication) *application {
	app := as.byID[command.ID]
	if app == nil {
		app = &application{command: command, id: command.ID, queue: as.books.queueOf(command.Queue), created: as.now}
		as.byID[command.ID] = app
	}
	if !app.known && app.rejected == "" {
		app.known, app.runs, app.arrived = true, false, 0
		app.times++
		as.send(app.command)
		as.tellDone(app)
	}
	return app
}

// newApplication is an application of a user with groups, or with one that has its name.
func newApplication(id api.ApplicationID, queue api.QueuePath, user string, groups []string) api.AddApplication {
	if len(groups) == 0 {
		groups = []string{user}
	}
	return api.AddApplication{ID: id, Queue: queue, User: user, Groups: groups}
}
