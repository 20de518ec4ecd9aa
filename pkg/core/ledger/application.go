package ledger

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/guard"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// An Application is a group of asks and allocations that came together.
//
//	Used    = the sum of its allocations
//	Pending = the sum of its asks
type Application struct {
	ID        api.ApplicationID
	Queue     *Queue
	User      string
	ByUser    *Account // the lowest of the limits of its user; nil if there are none
	ByGroup   *Account
	Groups    []string
	Tags      map[string]string
	Submitted time.Time // or when its oldest ask was created, if that is earlier

	State    api.State
	dated    bool  // submitted was stated, so it stays
	changed  bool  // recorded, and not reacted to yet
	Ran      bool  // something was placed since it had nothing
	Counts   bool  // for limits of applications: it ran, or quota is kept for it
	keeps    int32 // asks for which quota is kept
	Since    time.Time
	Failures *Failures // nil before any
	Gang     *gang     // nil if it has no task group

	Used        resources.Sum
	Pending     resources.Sum
	Allocations []*Request
	Asks        []*Request
	Slot        int32 // a number that no other application has
	Gone        bool  // from the partition

	View     *api.ApplicationView
	ViewedAt uint64 // the stamp when the view was made
}

// DropView has the view of an application made anew.
func (a *Application) DropView() { a.View = nil }

// ShowAs keeps the view of an application until it changes, as of a stamp.
func (a *Application) ShowAs(view *api.ApplicationView, stamp uint64) {
	a.View, a.ViewedAt = view, stamp
}

// AddApplication registers an application that is not known in a queue.
func (l *Ledger) AddApplication(c api.AddApplication, q *Queue) *Application {
	app := &Application{
		ID: c.ID, Queue: q, User: c.User, Groups: c.Groups, Tags: c.Tags,
		Submitted: l.Now, Since: l.Now, dated: !c.Created.IsZero(), Slot: l.ApplicationSlots.Take(),
	}
	if app.dated {
		app.Submitted = c.Created
	}
	app.beginGang(c)
	l.Limits.join(app)
	l.Applications.ReplaceOrInsert(app)
	q.Applications[app.ID] = app
	q.Unview()
	return app
}

// RemoveApplication takes an application out of the ledger that has nothing left.
func (l *Ledger) RemoveApplication(app *Application) {
	l.dropLostOf(app)
	l.Limits.Leave(app)
	l.Applications.Delete(app)
	app.Gone = true
	l.Changes.Application(app, 0)
	delete(app.Queue.Applications, app.ID)
}

// Retag gives an application other tags.
func (a *Application) Retag(tags map[string]string) {
	a.Tags, a.View = tags, nil
	a.Queue.Unview()
}

// Date notes when an ask of the application was created, which is not later than it was submitted.
func (a *Application) Date(created time.Time) {
	if !a.dated && created.Before(a.Submitted) {
		a.Submitted = created
	}
}

// Restore takes what a view shows of an application, but for what it has.
func (a *Application) Restore(v *api.ApplicationView) {
	a.Submitted, a.State, a.Since = v.Submitted, v.State, v.Since
	a.restoreGang(v.Gang)
}

// Failures are what is counted of tries that led to nothing. Few applications have any.
type Failures struct {
	Loop    guard.Loop
	Backoff guard.Backoff
}

// Failed is what is counted of an application.
func (a *Application) Failed() *Failures {
	if a.Failures == nil {
		a.Failures = &Failures{}
	}
	return a.Failures
}

// BacksOff reports whether no ask of the application is tried, as many failed.
func (a *Application) BacksOff() bool { return a.Failures != nil && a.Failures.Backoff.Pauses() }

// Idle reports whether the application has nothing left.
func (a *Application) Idle() bool { return len(a.Allocations) == 0 && len(a.Asks) == 0 }

// IsDone reports whether the application has nothing left to run: it is idle, or what ran has
// ended and only placeholders are left, which nothing will replace.
func (a *Application) IsDone() bool {
	return a.Idle() || a.Gang != nil && a.Gang.worked && len(a.Asks) == 0 && len(a.Allocations) == a.Gang.Placeholders
}

// moves is every change of state there is.
var moves = [api.States][]api.State{
	api.New:        {api.Accepted, api.Running, api.Completed, api.Failing},
	api.Accepted:   {api.Resuming, api.Running, api.Completing, api.Completed, api.Failing},
	api.Resuming:   {api.Accepted},
	api.Running:    {api.Completing, api.Failing},
	api.Completing: {api.Accepted, api.Running, api.Completed},
	api.Failing:    {api.Failed},
	api.Completed:  {},
	api.Failed:     {},
}

// ErrNoMove is wrapped by the error for a change of state that does not exist.
var errNoMove = errors.New("no such change of state")

// MoveTo changes the state, or says which change was asked for and is none.
func (a *Application) MoveTo(next api.State, now time.Time) error {
	if !slices.Contains(moves[a.State], next) {
		return fmt.Errorf("application %s: %s to %s: %w", a.ID, a.State, next, errNoMove)
	}
	a.State, a.Since, a.View = next, now, nil
	return nil
}

// MayRun reports whether the state of an application goes with what it has.
func (a *Application) MayRun() bool {
	placeholders := 0
	if a.Gang != nil {
		placeholders = a.Gang.Placeholders
	}
	switch a.State {
	case api.Running:
		return true
	case api.Accepted, api.Completing:
		return len(a.Allocations) == placeholders
	case api.Resuming:
		return placeholders > 0
	case api.Failing:
		return !a.Idle()
	case api.New, api.Completed, api.Failed:
	}
	return len(a.Allocations) == 0
}
