package core

import (
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

	*application
	leaf   *waitingQueue
	line   *line // while it stands in the order of one
	groups groupSet
	queued order.Tree[*askGroup]
}

// A waitingQueue is a queue as the backlog knows it. It stands in the order of its parent while
// something below it waits.
type waitingQueue struct {
	*queue
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
func (b *backlog) classOf(r *request) *class    { return b.asks[r.slot].class }
func (b *backlog) groupOf(r *request) *askGroup { return b.asks[r.slot].group }

// setClass counts an ask with a class.
func (b *backlog) setClass(r *request, c *class) {
	tables.At(&b.asks, r.slot).class, r.importance = c, c.importance
	c.asks++
}

// ofApplication is what the backlog knows of an application, and ofQueue of a queue.
func (b *backlog) ofApplication(app *application) *waitingApplication {
	at := tables.At(&b.waitingApps, app.slot)
	if *at == nil {
		w := &waitingApplication{application: app, leaf: b.ofQueue(app.queue), own: emptySummary}
		w.queued.Looked = &b.work.Asks
		*at = w
	}
	return *at
}

func (b *backlog) ofQueue(q *queue) *waitingQueue {
	if int(q.slot) < len(b.waitingQueues) && b.waitingQueues[q.slot] != nil {
		return b.waitingQueues[q.slot]
	}
	w := &waitingQueue{queue: q, own: emptySummary, backlog: b, classes: map[*class]*leafClass{}}
	if q.parent != nil {
		w.above = b.ofQueue(q.parent)
	}
	w.queues.Looked, w.lines.tree.Looked = &b.work.Queues, &b.work.Applications
	*tables.At(&b.waitingQueues, q.slot) = w
	return w
}
