package core

import (
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/order"
	"github.com/narwhal-scheduler/narwhal/pkg/core/tables"
)

// settle brings the place of an application in the order of its line up to date.
func (a *waitingApplication) settle() {
	changed := a.sumUp()
	place, wanted := a.placed(), a.isTried()
	before, to := a.line, a.line
	if wanted {
		to = a.leaf.lines.find(a)
	}
	if before != to && before != nil {
		before.apps.Remove(a)
		before.settle()
	}
	if to == nil {
		return
	}
	settled := to.apps.Settle(a, wanted, place != a.place, changed, func() { a.place = place })
	a.line = to
	if settled || !to.isFree() {
		to.settle()
	}
	if !wanted {
		a.line = nil
	}
}

// isTried reports whether the application stands in the order of its queue.
func (a *waitingApplication) isTried() bool {
	return a.queued.Len() > 0 && !a.BacksOff()
}

// settleApplication brings an application up to date. One that is gone is known no longer then.
func (b *backlog) settleApplication(app *ledger.Application) {
	b.ofApplication(app).settle()
	if app.Gone {
		b.waitingApps[app.Slot] = nil
		b.ApplicationSlots.GiveBack(app.Slot)
	}
}

// settleQueue brings a queue and those above it up to date, from the leaf up. One that is gone is
// known no longer then.
func (b *backlog) settleQueue(of *ledger.Queue) {
	b.settleUp(of)
	if of.Gone {
		b.waitingQueues[of.Slot] = nil
		b.QueueSlots.GiveBack(of.Slot)
	}
}

func (b *backlog) settleUp(of *ledger.Queue) {
	for q := b.ofQueue(of); q != nil; q = q.above {
		q.View = nil
		changed := q.sumUp()
		if q.above == nil {
			return
		}
		place := q.placed()
		q.above.queues.Settle(q, q.waits(), place != q.place, changed, func() { q.place = place })
	}
}

// clearOrders takes everything out of the orders of queues and applications, so that
// what decides them may change.
func (b *backlog) clearOrders(q *waitingQueue) {
	q.queues = order.Tree[*waitingQueue]{Looked: q.queues.Looked}
	q.lines.clear()
	for _, c := range q.Children {
		child := b.ofQueue(c)
		child.links = order.Links[*waitingQueue]{}
		b.clearOrders(child)
	}
}

// recomputeShares puts everything in order again after the configuration has changed.
func (b *backlog) recomputeShares() {
	b.Changes.Resized = false
	b.cluster = b.Capacity.Clone()
	root := b.ofQueue(b.Root)
	b.clearOrders(root)
	b.computeShares(root)
}

// computeShares puts everything below a queue in order, from the leaves up.
func (b *backlog) computeShares(q *waitingQueue) {
	q.View = nil
	for _, child := range q.SortedChildren() {
		b.computeShares(b.ofQueue(child))
	}
	for _, app := range q.SortedApplications() {
		b.ofApplication(app).settle()
	}
	q.sumUp()
	if q.above != nil {
		q.settleShare()
	}
}

func (q *waitingQueue) settleShare() {
	q.place = q.placed()
	q.above.queues.Settle(q, q.waits(), false, false, func() {})
}

// resizeShares puts everything below a queue in order again after the size of the cluster
// has changed. Queues that use nothing and where nothing waits have no share and stand in
// no order: they cost a look.
func (b *backlog) resizeShares(q *waitingQueue) {
	q.View = nil
	for _, child := range q.Children { // each has orders of its own
		if child := b.ofQueue(child); child.isBusy() {
			b.resizeShares(child)
		}
	}
	queues, apps := slices.Collect(q.queues.All), q.lines.clear()
	q.queues = order.Tree[*waitingQueue]{Looked: q.queues.Looked}
	for _, child := range queues {
		child.links = order.Links[*waitingQueue]{}
	}
	for _, app := range apps {
		app.settle()
	}
	for _, child := range queues {
		child.settleShare()
	}
	q.sumUp()
}

// insert puts an ask into the group of its class.
func (b *backlog) insert(r *ledger.Request) {
	app := b.ofApplication(r.App)
	g := app.groups.of(b.classOf(r))
	if g == nil {
		g = b.newGroup(app, b.classOf(r))
	}
	b.work.Asks += uint64(g.add(r))
	if b.classOf(r).slots.waits {
		b.classOf(r).slots.waits, b.SlotsDue = false, true
	}
	g.leaf.leaf.waitSet.count(b.Kinds, g.leaf, 1)
	if r.Wait != nil && r.Wait.Hinted {
		g.hinted++
	}
	b.settleGroup(g)
	b.Changes.Application(r.App, 0)
}

// extract takes an ask out of its group.
func (b *backlog) extract(r *ledger.Request) {
	g := b.groupOf(r)
	g.remove(r)
	g.leaf.leaf.waitSet.count(b.Kinds, g.leaf, -1)
	if r.Wait != nil && r.Wait.Hinted {
		g.hinted--
	}
	b.settleGroup(g)
	if g.live == 0 {
		b.dropGroup(g)
	}
	b.Changes.Application(r.App, 0)
}

func (b *backlog) newGroup(app *waitingApplication, c *class) *askGroup {
	leaf := app.leaf.classes[c]
	if leaf == nil {
		leaf = &leafClass{class: c, leaf: app.leaf, atClass: len(c.leaves)}
		app.leaf.classes[c] = leaf
		c.leaves = append(c.leaves, leaf)
		if c.preempts {
			if c.simulations != nil {
				c.simulations.help(nil)
			}
			b.activate(leaf)
		}
	}
	g := &askGroup{
		asks:  &b.asks,
		class: c, application: app, leaf: leaf, own: emptySummary,
		atClass: int32(len(c.groups)), atLeaf: int32(len(leaf.groups)),
	}
	c.groups = append(c.groups, g)
	leaf.groups = append(leaf.groups, g)
	app.groups.add(g)
	return g
}

func (b *backlog) dropGroup(g *askGroup) {
	c, leaf := g.class, g.leaf
	g.application.groups.remove(g)
	c.groups = tables.SwapRemove(c.groups, g.atClass, func(g *askGroup) *int32 { return &g.atClass })
	leaf.groups = tables.SwapRemove(leaf.groups, g.atLeaf, func(g *askGroup) *int32 { return &g.atLeaf })
	if len(leaf.groups) == 0 {
		b.dropLeafClass(leaf)
	}
}

func (b *backlog) dropLeafClass(leaf *leafClass) {
	b.deactivate(leaf, nil)
	c := leaf.class
	c.leaves = tables.SwapRemove(c.leaves, leaf.atClass, func(leaf *leafClass) *int { return &leaf.atClass })
	delete(leaf.leaf.classes, c)
	leaf.leaf = nil
}

// markedMax is how many groups of a class in a leaf are marked one by one while room
// may be made for them. A class with more is listed with the leaf, and a search
// compares it with what else it finds (see BenchmarkAttemptOfManyApplications).
const markedMax = 64

// activate lets room be made for the asks of a class in a leaf.
func (b *backlog) activate(leaf *leafClass) {
	if leaf.active || leaf.leaf == nil {
		return
	}
	b.learn()
	leaf.active = true
	if len(leaf.groups) > markedMax {
		b.list(leaf)
	}
	b.mark(leaf)
}

// deactivate lets no room be made for the asks of a class in a leaf, since that failed.
// last are the attempts, for readers.
func (b *backlog) deactivate(leaf *leafClass, last []api.PreemptionAttempt) {
	if !leaf.active {
		return
	}
	b.learn()
	leaf.active, leaf.last = false, last
	if leaf.listed {
		b.unlist(leaf)
		return
	}
	b.mark(leaf)
}

// list adds a class to those that a search of its leaf looks at one by one.
func (b *backlog) list(leaf *leafClass) {
	q := leaf.leaf
	leaf.listed, leaf.atActive = true, len(q.active)
	q.active = append(q.active, leaf)
	b.Changes.Queue(q.Queue, 0)
}

func (b *backlog) unlist(leaf *leafClass) {
	q := leaf.leaf
	leaf.listed = false
	q.active = tables.SwapRemove(q.active, leaf.atActive, func(leaf *leafClass) *int { return &leaf.atActive })
	b.Changes.Queue(q.Queue, 0)
}

// mark brings the marks of the groups of a class in a leaf up to date.
func (b *backlog) mark(leaf *leafClass) {
	if leaf.listed {
		return
	}
	for _, g := range leaf.groups {
		b.settleGroup(g)
		b.Changes.Application(g.application.Application, 0)
	}
}

// passOn lets room be made for the class of an ask that waited for its guarantee: when that holds,
// or, if the ask goes before, for the next one.
func (b *backlog) passOn(r *ledger.Request) {
	if r.Wait.Due.Guarantee.IsZero() {
		return
	}
	r.Wait.Due.Guarantee = time.Time{}
	if leaf := b.ofQueue(r.App.Queue).classes[b.classOf(r)]; leaf != nil && leaf.class.preempts {
		leaf.class.simulations.help(nil)
		b.activate(leaf)
	}
}

// isBusy reports whether anything is used or waits below.
func (q *waitingQueue) isBusy() bool { return !q.Used.IsZero() || q.waits() }

// settleGroups brings all groups up to date, after other limits apply to applications.
func (b *backlog) settleGroups() {
	b.Applications.Ascend(func(app *ledger.Application) bool {
		for g := range b.ofApplication(app).groups.all { // each changes its own place only
			b.settleGroup(g)
		}
		return true
	})
}
