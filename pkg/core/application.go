package core

import (
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/timers"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// An application is a group of asks and allocations that came together.
//
//	used    = the sum of its allocations
//	pending = the sum of its asks
type application struct {
	id        api.ApplicationID
	queue     *queue
	user      string
	byUser    *account // the lowest of the limits of its user; nil if there are none
	byGroup   *account
	groups    []string
	tags      map[string]string
	submitted time.Time // or when its oldest ask was created, if that is earlier

	state      api.State
	dated      bool  // submitted was stated, so it stays
	changed    bool  // recorded, and not reacted to yet
	ran        bool  // something was placed since it had nothing
	counts     bool  // for limits of applications: it ran, or quota is kept for it
	keeps      int32 // asks for which quota is kept
	since      time.Time
	completion *timers.Timer[due] // when it ends by itself; nil before that is first known
	failures   *failures          // nil before any
	gang       *gang              // nil if it has no task group

	used        resources.Sum
	pending     resources.Sum
	allocations []*request
	asks        []*request
	slot        int32 // a number that no other application has
	gone        bool  // from the partition

	view     *api.ApplicationView
	viewedAt uint64 // the stamp when the view was made
}

// failures are what is counted of tries that led to nothing. Few applications have any.
type failures struct {
	loop    loopGuard
	backoff appBackoff
}

// failed is what is counted of an application.
func (a *application) failed() *failures {
	if a.failures == nil {
		a.failures = &failures{}
	}
	return a.failures
}

// backsOff reports whether no ask of the application is tried, as many failed.
func (a *application) backsOff() bool { return a.failures != nil && a.failures.backoff.pauses() }

// idle reports whether the application has nothing left.
func (a *application) idle() bool { return len(a.allocations) == 0 && len(a.asks) == 0 }

// isDone reports whether the application has nothing left to run: it is idle, or what ran has
// ended and only placeholders are left, which nothing will replace.
func (a *application) isDone() bool {
	return a.idle() || a.gang != nil && a.gang.worked && len(a.asks) == 0 && len(a.allocations) == a.gang.placeholders
}
