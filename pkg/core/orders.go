package core

import (
	"github.com/narwhal-scheduler/narwhal/pkg/core/order"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// settleApplication brings the place of an application in the order of its queue up
// to date.
func (b *backlog) settleApplication(app *application) {
	changed := app.summarise()
	place := app.placed()
	app.queue.apps.Settle(app, app.queued.Len() > 0, place != app.place, changed, func() { app.place = place })
}

// settleQueue brings a queue and those above it up to date, from the leaf up.
func (b *backlog) settleQueue(q *queue) {
	for ; q != nil; q = q.parent {
		q.view = nil
		changed := q.summarise()
		if q.parent == nil {
			return
		}
		place := queuePlace{priority: q.own.top, share: q.share()}
		q.parent.queues.Settle(q, q.waits(), place != q.place, changed, func() { q.place = place })
	}
}

// clearOrders takes everything out of the orders of queues and applications, so that
// what decides them may change.
func (b *backlog) clearOrders(q *queue) {
	q.queues = order.Tree[*queue]{Looked: q.queues.Looked}
	q.apps = order.Tree[*application]{Looked: q.apps.Looked}
	for _, child := range q.children {
		child.links = order.Links[*queue]{}
		b.clearOrders(child)
	}
	for _, app := range q.applications {
		app.links = order.Links[*application]{}
	}
}

// recomputeShares puts everything in order again after what shares are measured
// against has changed: the size of the cluster, or the configuration.
func (b *backlog) recomputeShares() {
	b.changes.resized = false
	b.clearOrders(b.root)
	total := make(resources.Limits, b.kinds.Len())
	for i := range total {
		total[i] = b.capacity.Of(resources.Kind(i))
	}
	b.computeShares(b.root, total)
}

// computeShares works out what shares are measured against, from a queue down, and puts
// everything in order from the leaves up. The max of a queue overrules those above.
func (b *backlog) computeShares(q *queue, above resources.Limits) {
	q.fairMax = above.Clone()
	for i, v := range q.max {
		if v != resources.Unlimited {
			q.fairMax.Set(resources.Kind(i), v)
		}
	}
	q.view = nil
	for _, child := range q.sortedChildren() {
		b.computeShares(child, q.fairMax)
	}
	for _, app := range q.sortedApplications() {
		b.settleApplication(app)
	}
	q.summarise()
	if q.parent != nil {
		q.place = queuePlace{priority: q.own.top, share: q.share()}
		q.parent.queues.Settle(q, q.waits(), false, false, func() {})
	}
}
