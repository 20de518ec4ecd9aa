package archive

import (
	"maps"
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// The states for which the core has no name: of an application that was not
// registered, and of one that was removed while something was left to run.
const (
	Rejected = "Rejected"
	Failed   = "Failed"
)

// changesMax is how many changes of state are kept of an application. One that goes
// on may complete and run again any number of times.
const changesMax = 64

// An ApplicationRecord is what an application was, from its first day to its last or
// until now. Readers share it and everything in it.
type ApplicationRecord struct {
	ID        api.ApplicationID
	Queue     api.QueuePath // of one that was rejected, as it was wished for
	User      string
	Groups    []string
	Tags      map[string]string
	Submitted time.Time
	Started   time.Time     // when it ran first; zero if it never did
	Finished  time.Time     // zero while it goes on
	State     string        // the last one
	Changes   []StateChange // the latest changes of state, the oldest first
	Rejection string        // why it was rejected

	// MaxUsed is the most used at once, kind by kind and without placeholders.
	MaxUsed resources.Amounts
	// What allocations used that have ended, by type of instance: regular ones,
	// those that were preempted, and placeholders.
	Used, Preempted, Placeholders []ResourceUsage
}

// A StateChange is a change of state.
type StateChange struct {
	At     time.Time
	State  string
	Reason string // may be empty
}

// ResourceUsage is amounts times seconds on one type of instance.
type ResourceUsage struct {
	Instance string
	Amounts  resources.Amounts
}

// An application is one that goes on.
type application struct {
	ApplicationRecord
	used    resources.Sum                         // without placeholders
	held    *held                                 // what runs of its owner; nil unless work is counted
	pending map[api.AllocationKey]*PendingReasons // of asks, where an event said why they wait
	runs    runs                                  // of its allocations that ended
	view    *ApplicationRecord                    // nil if it has changed since
}

// viewed is the record as it is now. Lists in it only grow, so that what is there
// is shared.
func (a *application) viewed() *ApplicationRecord {
	if a.view != nil {
		return a.view
	}
	view := a.ApplicationRecord
	view.Changes = slices.Clip(a.Changes)
	view.MaxUsed = a.MaxUsed.Clone()
	for _, list := range []*[]ResourceUsage{&view.Used, &view.Preempted, &view.Placeholders} {
		*list = slices.Clone(*list)
		for i := range *list {
			(*list)[i].Amounts = (*list)[i].Amounts.Clone()
		}
	}
	a.view = &view
	return a.view
}

// enter enters a state.
func (a *application) enter(at time.Time, state, reason string) {
	if len(a.Changes) == changesMax {
		a.Changes = slices.Clone(a.Changes[1:])
	}
	a.Changes = append(a.Changes, StateChange{At: at, State: state, Reason: reason})
	a.State, a.view = state, nil
	if a.Started.IsZero() && state == api.Running.String() {
		a.Started = at
	}
}

// accepted begins the record of an application.
func (b *Book) accepted(e *api.ApplicationAccepted) {
	b.applications[e.ID] = &application{ApplicationRecord: ApplicationRecord{
		ID: e.ID, Queue: e.Queue, User: e.User, Groups: slices.Clone(e.Groups), Tags: maps.Clone(e.Tags),
		Submitted: b.now, State: api.New.String(),
	}}
}

// reject keeps an application that was not registered. One of the same ID may go
// on.
func (b *Book) reject(e *api.ApplicationRejected) {
	b.rejected.add(&ApplicationRecord{
		ID: e.ID, Queue: e.Queue, User: e.User, Groups: e.Groups, Tags: e.Tags,
		Submitted: b.now, Finished: b.now, State: Rejected, Rejection: e.Reason,
		Changes: []StateChange{{b.now, Rejected, e.Reason}},
	})
}

// changed notes a state of an application.
func (b *Book) changed(e *api.ApplicationChanged) {
	if e.From == api.Running {
		b.counts.Applications--
	}
	if e.State == api.Running {
		b.counts.Applications++
	}
	if a := b.find(e.ID); a != nil {
		a.enter(b.now, e.State.String(), e.Message)
	}
}

// gone ends the record of an application. One that was removed has completed if
// nothing was left to run, and failed otherwise: the core has no state for it.
func (b *Book) gone(e *api.ApplicationGone) {
	if e.State == api.Running {
		b.counts.Applications--
	}
	a := b.find(e.ID)
	if a == nil {
		return
	}
	if e.Removed {
		state := Failed
		if e.State == api.Completing || e.State == api.New {
			state = api.Completed.String()
		}
		a.enter(b.now, state, "it was removed")
	}
	a.Finished, a.pending, a.view = b.now, nil, nil
	delete(b.applications, e.ID)
	b.last = nil
	ended := a.viewed()
	b.ended.add(ended)
	b.finished = append(b.finished, ended)
}

// forget drops records that are too many or too old.
func (b *Book) forget() {
	for _, kept := range []struct {
		ring *ring[*ApplicationRecord]
		most int
	}{{&b.ended, b.config.EndedMax}, {&b.rejected, b.config.RejectedMax}} {
		for kept.ring.len() > kept.most || kept.ring.len() > 0 && kept.ring.all()[0].Finished.Add(b.config.Keep).Before(b.now) {
			b.expired = append(b.expired, kept.ring.all()[0])
			kept.ring.drop()
		}
	}
}
