package backlog

import (
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/order"
	"github.com/narwhal-scheduler/narwhal/pkg/core/tables"
	"github.com/narwhal-scheduler/narwhal/pkg/core/timers"
)

// An Application is an application as the backlog knows it. It stands in the order of its leaf
// queue while it has asks that can be tried.
type Application struct {
	// What a search and the orders read comes first, so that it is close together.
	links order.Links[*Application]
	place applicationPlace
	own   Summary // of its groups
	below Summary // of the subtree of the queue's order

	*ledger.Application
	leaf    *Queue
	line    *line // while it stands in the order of one
	ByClass groupSet
	Queued  order.Tree[*AskGroup]
}

// A Queue is a queue as the backlog knows it. It stands in the order of its parent while
// something below it waits.
type Queue struct {
	links order.Links[*Queue]
	place queuePlace
	Own   Summary // of what waits here and has quota here
	below Summary // of the subtree of the parent's order
	above *Queue  // nil at the root
	*ledger.Queue
	Queues  order.Tree[*Queue]
	Lines   lines    // of the applications of a leaf
	backlog *Backlog // that it is of

	headroom headroom // scratch of searches

	classes map[*Class]*LeafClass // of the asks that wait in a leaf
	WaitSet waitSet
	active  []*LeafClass // of them, those with many groups for which room may be made
}

// A waitingAsk is what the backlog knows of an ask: its class, and the group in which it stands in the
// order of its application, nil if it is in none.
type waitingAsk struct {
	class *Class
	group *AskGroup
}

// ClassOf is the class of an ask; nil if it does not wait.
func (b *Backlog) ClassOf(r *ledger.Request) *Class { return b.asks[r.Slot].class }

// GroupOf is the group in which an ask stands; nil if it stands in none.
func (b *Backlog) GroupOf(r *ledger.Request) *AskGroup { return b.asks[r.Slot].group }

// setClass counts an ask with a class.
func (b *Backlog) setClass(r *ledger.Request, c *Class) {
	tables.At(&b.asks, r.Slot).class = c
	b.Rank(r, c.Importance)
	c.Asks++
}

// OfApplication is what the backlog knows of an application.
func (b *Backlog) OfApplication(app *ledger.Application) *Application {
	at := tables.At(&b.waitingApps, app.Slot)
	if *at == nil {
		w := &Application{Application: app, leaf: b.OfQueue(app.Queue), own: emptySummary}
		w.Queued.CountIn(&b.Work.Asks)
		*at = w
	}
	return *at
}

// OfQueue is what the backlog knows of a queue.
func (b *Backlog) OfQueue(q *ledger.Queue) *Queue {
	if int(q.Slot) < len(b.waitingQueues) && b.waitingQueues[q.Slot] != nil {
		return b.waitingQueues[q.Slot]
	}
	w := &Queue{Queue: q, Own: emptySummary, backlog: b, classes: map[*Class]*LeafClass{}}
	if q.Parent != nil {
		w.above = b.OfQueue(q.Parent)
	}
	w.Queues.CountIn(&b.Work.Queues)
	w.Lines.tree.CountIn(&b.Work.Applications)
	*tables.At(&b.waitingQueues, q.Slot) = w
	return w
}

// A Moment is what is to be done about an ask at some time.
type Moment uint8

// What is to be done.
const (
	Retry     Moment = iota // it is tried again
	ClaimEnds               // its claim ends, for which nothing is evicted
	Guarantee               // the preemption delay of its queue is over
	momentsOf               // how many there are
)

// moments are when something is to be done about an ask; zero is never. The timer is set to the first of them.
type moments struct {
	at    [momentsOf]time.Time
	timer timers.Timer
}

// first is the first of the moments; zero if there is none.
func (m *moments) first() (first time.Time) {
	for _, at := range m.at {
		if first.IsZero() || !at.IsZero() && at.Before(first) {
			first = at
		}
	}
	return first
}

// MomentOf is when something is to be done about an ask; zero is never.
func (b *Backlog) MomentOf(r *ledger.Request, what Moment) (at time.Time) {
	if m := b.moments.Get(r.Slot, r); m != nil {
		at = m.at[what]
	}
	return at
}

// SetMoment says when something is to be done about an ask; zero is never. The ask is looked at when the
// first of its moments has come.
func (b *Backlog) SetMoment(r *ledger.Request, what Moment, at time.Time) {
	if at.IsZero() && b.MomentOf(r, what).IsZero() {
		return
	}
	of := b.moments.Of(r.Slot, r)
	if *of == nil {
		*of = &moments{}
	}
	m := *of
	m.at[what] = at
	if first := m.first(); first.IsZero() {
		b.forgetMoments(r)
	} else {
		b.Timers.Set(&m.timer, first, timers.Due{What: timers.Ask, Of: r})
	}
}

// forgetMoments has nothing done about an ask.
func (b *Backlog) forgetMoments(r *ledger.Request) {
	if m := b.moments.Get(r.Slot, r); m != nil {
		b.Timers.Cancel(&m.timer)
		b.moments.Drop(r.Slot)
	}
}
