package archive

import (
	"maps"
	"slices"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// Rejected is the state of an application that was not taken in, which the core
// has no name for.
const Rejected = "Rejected"

// turnsMax is how many changes of state are kept of a life. One that goes on may
// complete and run again any number of times.
const turnsMax = 64

// A Life is what an application was, from the first to the last day or until now.
// Readers share it and what is in it. Of one that was rejected without anybody
// having seen the request, only the ID and the reason are known.
type ApplicationRecord struct {
	ID        core.ApplicationID
	Queue     core.QueuePath // of one that was rejected, as it was wished for
	User      string
	Groups    []string
	Tags      map[string]string
	Submitted time.Time
	Started   time.Time     // when it ran first; zero if it never did
	Finished  time.Time     // zero while it lives
	State     string        // the last one
	Changes   []StateChange // the latest changes of state, the oldest first
	Rejection string        // why it was rejected

	// MaxUsed is by kind, whenever that was, and without placeholders.
	MaxUsed resources.Amounts
	// What allocations used that have ended, by type of instance: those that were
	// preempted and placeholders on their own.
	Used, Preempted, Placeholders []ResourceUsage
}

// A Turn is a change of state.
type StateChange struct {
	At     time.Time
	State  string
	Reason string // may be empty
}

// Spent is amounts times seconds on one type of instance.
type ResourceUsage struct {
	Instance string
	Amounts  resources.Amounts
}

// A life is one that goes on.
type life struct {
	ApplicationRecord
	running int               // allocations
	used    resources.Amounts // without placeholders
	waits   map[core.AllocationKey]*PendingReasons
	view    *ApplicationRecord // nil if it has changed since
}

// viewed is the life as it is now. Lists in it only grow, so that what is there
// is shared.
func (l *life) viewed() *ApplicationRecord {
	if l.view != nil {
		return l.view
	}
	view := l.ApplicationRecord
	view.Changes = slices.Clip(l.Changes)
	view.MaxUsed = l.MaxUsed.Clone()
	for _, list := range []*[]ResourceUsage{&view.Used, &view.Preempted, &view.Placeholders} {
		*list = slices.Clone(*list)
		for i := range *list {
			(*list)[i].Amounts = (*list)[i].Amounts.Clone()
		}
	}
	l.view = &view
	return l.view
}

// turn enters a state.
func (l *life) turn(at time.Time, state, reason string) {
	if len(l.Changes) == turnsMax {
		l.Changes = slices.Clone(l.Changes[1:])
	}
	l.Changes = append(l.Changes, StateChange{At: at, State: state, Reason: reason})
	l.State, l.view = state, nil
	if l.Started.IsZero() && state == core.Running.String() {
		l.Started = at
	}
}

// accepted begins a life.
func (b *Book) accepted(c core.AddApplication) {
	l := &life{ApplicationRecord: ApplicationRecord{
		ID: c.ID, Queue: c.Queue.Full(), User: c.User, Groups: slices.Clone(c.Groups), Tags: maps.Clone(c.Tags),
		Submitted: b.now, State: core.New.String(),
	}}
	b.lives[c.ID] = l
}

// rejected keeps an application that was not taken in. One of the same ID may go
// on.
func (b *Book) rejected(command core.Command, e *si.RejectedApplication) {
	l := &ApplicationRecord{
		ID: core.ApplicationID(e.ApplicationID), Submitted: b.now, Finished: b.now, State: Rejected, Rejection: e.Reason,
		Changes: []StateChange{{b.now, Rejected, e.Reason}},
	}
	if c, ok := command.(core.AddApplication); ok && c.ID == l.ID {
		l.Queue, l.User, l.Groups, l.Tags = c.Queue, c.User, c.Groups, c.Tags
	}
	b.rejections.add(l)
	b.forget()
}

// entered notes a state of an application, which may be its last one.
func (b *Book) entered(e *si.UpdatedApplication) {
	l := b.lives[core.ApplicationID(e.ApplicationID)]
	if l == nil {
		return
	}
	b.turn(l, e.State, e.Message)
	if e.State == core.Completed.String() || e.State == core.Failed.String() {
		b.finish(l)
	}
}

func (b *Book) turn(l *life, state, reason string) {
	running := core.Running.String()
	if l.State == running {
		b.counts.Applications--
	}
	if state == running {
		b.counts.Applications++
	}
	l.turn(b.now, state, reason)
}

// removed ends an application that was removed. It has completed if nothing was
// left to run, and failed otherwise: the core tells no state.
func (b *Book) removed(id core.ApplicationID) {
	l := b.lives[id]
	if l == nil {
		return
	}
	state := core.Failed
	if l.State == core.Completing.String() || l.State == core.New.String() {
		state = core.Completed
	}
	b.turn(l, state.String(), "it was removed")
	b.finish(l)
}

// finish ends a life.
func (b *Book) finish(l *life) {
	l.Finished, l.waits, l.view = b.now, nil, nil
	delete(b.lives, l.ID)
	if b.last == l {
		b.last = nil
	}
	b.plans.withdraw(b.now, l.ID, "the application is over")
	ended := l.viewed()
	b.ended.add(ended)
	b.over = append(b.over, ended)
	b.forget()
}

// forget drops what is too much or too old.
func (b *Book) forget() {
	for _, kept := range []struct {
		ring *ring[*ApplicationRecord]
		most int
	}{{&b.ended, b.config.EndedMax}, {&b.rejections, b.config.RejectedMax}} {
		for kept.ring.len() > kept.most || kept.ring.len() > 0 && kept.ring.all()[0].Finished.Add(b.config.Keep).Before(b.now) {
			kept.ring.drop()
		}
	}
}
