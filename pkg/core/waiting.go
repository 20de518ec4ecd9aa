package core

import (
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/order"
	"github.com/narwhal-scheduler/narwhal/pkg/core/tables"
)

// A waitingApplication is an application as the backlog knows it. It stands in the order of its leaf
// queue while it has asks that can be tried.
type waitingApplication struct {
	// What a search and the orders read comes first, so that it is close together.
	links order.Links[*waitingApplication]
	place applicationPlace
	own   summary // of its groups
	below summary // of the subtree of the queue's order

	*ledger.Application
	leaf   *waitingQueue
	line   *line // while it stands in the order of one
	groups groupSet
	queued order.Tree[*askGroup]
}

// A waitingQueue is a queue as the backlog knows it. It stands in the order of its parent while
// something below it waits.
type waitingQueue struct {
	*ledger.Queue
	above   *waitingQueue // nil at the root
	links   order.Links[*waitingQueue]
	place   queuePlace
	own     summary // of what waits here and has quota here
	below   summary // of the subtree of the parent's order
	queues  order.Tree[*waitingQueue]
	lines   lines    // of the applications of a leaf
	backlog *backlog // that it is of

	headroom headroom // scratch of searches

	classes map[*class]*leafClass // of the asks that wait in a leaf
	waitSet waitSet
	active  []*leafClass // of them, those with many groups for which room may be made
	resumed uint64       // the turn in which questions about an ask of this leaf went on
}

// A waitingAsk is what the backlog knows of an ask: its class, and the group in which it stands in the
// order of its application, nil if it is in none.
type waitingAsk struct {
	class *class
	group *askGroup
}

// classOf is the class of an ask, and groupOf its group; nil if it does not wait.
func (b *backlog) classOf(r *ledger.Request) *class    { return b.asks[r.Slot].class }
func (b *backlog) groupOf(r *ledger.Request) *askGroup { return b.asks[r.Slot].group }

// setClass counts an ask with a class.
func (b *backlog) setClass(r *ledger.Request, c *class) {
	tables.At(&b.asks, r.Slot).class, r.Importance = c, c.importance
	c.asks++
}

// ofApplication is what the backlog knows of an application, and ofQueue of a queue.
func (b *backlog) ofApplication(app *ledger.Application) *waitingApplication {
	at := tables.At(&b.waitingApps, app.Slot)
	if *at == nil {
		w := &waitingApplication{Application: app, leaf: b.ofQueue(app.Queue), own: emptySummary}
		w.queued.Looked = &b.work.Asks
		*at = w
	}
	return *at
}

func (b *backlog) ofQueue(q *ledger.Queue) *waitingQueue {
	if int(q.Slot) < len(b.waitingQueues) && b.waitingQueues[q.Slot] != nil {
		return b.waitingQueues[q.Slot]
	}
	w := &waitingQueue{Queue: q, own: emptySummary, backlog: b, classes: map[*class]*leafClass{}}
	if q.Parent != nil {
		w.above = b.ofQueue(q.Parent)
	}
	w.queues.Looked, w.lines.tree.Looked = &b.work.Queues, &b.work.Applications
	*tables.At(&b.waitingQueues, q.Slot) = w
	return w
}
