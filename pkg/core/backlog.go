package core

import (
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/order"
	"github.com/narwhal-scheduler/narwhal/pkg/core/timers"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A backlog is what waits: asks by class, in the orders in which they are tried. It
// stands on the ledger and decides which ask is next, not where it goes.
//
//	classes.asks = asks of all applications
//	closed holds the classes that are closed, and only those with asks
type backlog struct {
	ledger
	timers   timers.Queue[due]
	classes  classTable
	closed   order.Tree[*class]
	rooms    rooms
	reserves priorityCounts // ordinary asks that hold a reservation
	reserved int            // nodes that they hold
	// plain says that a priority is the same seen from any queue.
	plain bool
	work  Work
}

func newBacklog(options Options) backlog {
	return backlog{ledger: newLedger(options), classes: classTable{known: map[string]*class{}}}
}

// classOf finds the class of an ask, as it is now. Constraints are those of its
// class before, or of a new ask.
func (b *backlog) classOf(r *request, constraints string) *class {
	return b.classes.of(class{
		amounts: r.Amounts, priority: r.Priority, rootPriority: b.rootPriority(r),
		preempts: b.wantsRoom(r), nominated: r.nominated() != nil, constraints: constraints,
	})
}

// wantsRoom reports whether evictions may make room for an ask that may run
// anywhere.
func (b *backlog) wantsRoom(r *request) bool {
	return !b.preemption.Disabled && r.Required == "" && !r.neverPreempts() && r.nominated() == nil &&
		(r.wait == nil || r.wait.due.backOff.IsZero())
}

// reclassify gives an ask the class that it has now.
func (b *backlog) reclassify(r *request) { b.reclass(r, b.classOf(r, r.class.constraints)) }

// enqueue books an ask of a class and puts it into the order of its application,
// unless it is aside or bound to one node.
func (b *backlog) enqueue(r *request, c *class) {
	b.setClass(r, c)
	r.Allocation.Amounts = c.amounts // equal, and shared by all of the class
	b.addPending(r)
	if r.Required == "" && (r.wait == nil || !r.wait.aside) {
		b.insert(r)
	}
}

// withdraw takes an ask off the books and out of the order.
func (b *backlog) withdraw(r *request) {
	b.unhint(r)
	if r.group != nil {
		b.extract(r)
	}
	b.dropClass(r)
	b.subPending(r)
}

// reclass gives an ask another class.
func (b *backlog) reclass(r *request, c *class) {
	if r.class == c {
		return
	}
	ordered := r.group != nil
	if ordered {
		b.extract(r)
	}
	before := r.class
	b.setClass(r, c)
	if before.reserved == r {
		before.reserved, c.reserved = nil, r
		b.reserves.remove(before.rootPriority)
		b.reserves.add(c.rootPriority)
	}
	if c.refused == nil && before.refused != nil && before.constraints == c.constraints {
		c.refused = before.refused.clone()
	}
	b.release(before)
	if ordered {
		b.insert(r)
	}
	b.changes.application(r.application, 0)
}

func (b *backlog) setClass(r *request, c *class) {
	r.class = c
	c.asks++
}

func (b *backlog) dropClass(r *request) {
	c := r.class
	r.class = nil
	b.release(c)
}

// release counts one ask less of a class.
func (b *backlog) release(c *class) {
	c.asks--
	if c.asks == 0 {
		b.openClass(c)
		c.since = time.Time{}
		b.timers.Cancel(&c.timer)
		b.classes.release(c)
	}
}

// insert puts an ask into the group of its class.
func (b *backlog) insert(r *request) {
	app := r.application
	g := app.classes[r.class]
	if g == nil {
		g = b.newGroup(app, r.class)
	}
	g.add(r)
	if r.wait != nil && r.wait.hinted {
		g.hinted++
	}
	b.settleGroup(g)
	b.changes.application(app, 0)
}

// extract takes an ask out of its group.
func (b *backlog) extract(r *request) {
	g := r.group
	g.remove(r)
	if r.wait != nil && r.wait.hinted {
		g.hinted--
	}
	b.settleGroup(g)
	if g.live == 0 {
		b.dropGroup(g)
	}
	b.changes.application(r.application, 0)
}

func (b *backlog) newGroup(app *application, c *class) *askGroup {
	leaf := app.queue.classes[c]
	if leaf == nil {
		leaf = &leafClass{class: c, leaf: app.queue, atClass: len(c.leaves)}
		app.queue.classes[c] = leaf
		c.leaves = append(c.leaves, leaf)
		c.passive++
		if c.preempts {
			b.activate(leaf)
		}
	}
	g := &askGroup{class: c, application: app, leaf: leaf, atClass: len(c.groups), atLeaf: len(leaf.groups), own: emptySummary}
	c.groups = append(c.groups, g)
	leaf.groups = append(leaf.groups, g)
	if app.classes == nil {
		app.classes = map[*class]*askGroup{}
	}
	app.classes[c] = g
	return g
}

func (b *backlog) dropGroup(g *askGroup) {
	c, leaf := g.class, g.leaf
	delete(g.application.classes, c)
	last := c.groups[len(c.groups)-1]
	c.groups[g.atClass], last.atClass = last, g.atClass
	c.groups = c.groups[:len(c.groups)-1]
	last = leaf.groups[len(leaf.groups)-1]
	leaf.groups[g.atLeaf], last.atLeaf = last, g.atLeaf
	leaf.groups = leaf.groups[:len(leaf.groups)-1]
	if len(leaf.groups) == 0 {
		b.dropLeafClass(leaf)
	}
}

func (b *backlog) dropLeafClass(leaf *leafClass) {
	b.deactivate(leaf, nil)
	c := leaf.class
	last := c.leaves[len(c.leaves)-1]
	c.leaves[leaf.atClass], last.atClass = last, leaf.atClass
	c.leaves = c.leaves[:len(c.leaves)-1]
	c.passive--
	delete(leaf.leaf.classes, c)
	leaf.leaf = nil
}

// activate lets room be made for the asks of a class in a leaf.
func (b *backlog) activate(leaf *leafClass) {
	if leaf.active || leaf.leaf == nil {
		return
	}
	q := leaf.leaf
	b.learn()
	leaf.active, leaf.atActive = true, len(q.active)
	q.active = append(q.active, leaf)
	leaf.class.passive--
	b.changes.queue(q, 0)
}

// deactivate keeps room from being made for them, since that came to nothing.
func (b *backlog) deactivate(leaf *leafClass, last []PreemptionAttempt) {
	if !leaf.active {
		return
	}
	q := leaf.leaf
	b.learn()
	leaf.active, leaf.last = false, last
	moved := q.active[len(q.active)-1]
	q.active[leaf.atActive], moved.atActive = moved, leaf.atActive
	q.active = q.active[:len(q.active)-1]
	leaf.class.passive++
	b.changes.queue(q, 0)
}

// learn notes that why asks wait may be another reason than before.
func (b *backlog) learn() {
	b.stamp++
	b.rooms.learnt = b.stamp
}

// closeClass remembers that no open node has room for a class.
func (b *backlog) closeClass(c *class) {
	c.checked = b.rooms.epoch
	if c.closed {
		return
	}
	b.learn()
	c.closed = true
	b.closed.Insert(c)
	b.settleClass(c)
}

// openClass lets a class be tried on every node again.
func (b *backlog) openClass(c *class) {
	if !c.closed {
		return
	}
	b.learn()
	c.closed = false
	b.closed.Remove(c)
	b.settleClass(c)
}

// fitting are the closed classes that fit on a node with new room.
func (b *backlog) fitting(room resources.Amounts) []*class {
	var found []*class
	var below func(*class)
	below = func(top *class) {
		if top == nil || !top.below.amounts.FitsIn(room) {
			return
		}
		below(top.links.Left)
		if b.rooms.fit(top) {
			found = append(found, top)
		}
		below(top.links.Right)
	}
	below(b.closed.Root())
	return found
}

// settleClass brings the orders up to date with what is known of a class.
func (b *backlog) settleClass(c *class) {
	for _, g := range c.groups {
		b.settleGroup(g)
		b.changes.application(g.application, 0)
	}
}

// settleGroup brings the place of a group in the order of its application up to date.
func (b *backlog) settleGroup(g *askGroup) {
	c, first := g.class, g.first()
	wanted := first != nil && !c.isRefused()
	own, place := emptySummary, g.place
	if wanted {
		place = groupPlace{first.Created, first.number}
		own.top = c.priority
		all := least{true, c.amounts}
		switch {
		case c.nominated:
			own.nominated, own.untried = all, !c.closed
		case c.closed:
			own.closed = all
		default:
			own.open = all
		}
	}
	changed := g.own.top != own.top || g.own.open.any != own.open.any || g.own.closed.any != own.closed.any || g.own.untried != own.untried
	g.application.queued.Settle(g, wanted, place != g.place, changed, func() { g.own, g.place = own, place })
}

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

// uproot takes everything out of the orders of queues and applications, so that
// what decides them may change.
func (b *backlog) uproot(q *queue) {
	q.queues = order.Tree[*queue]{Looked: q.queues.Looked}
	q.apps = order.Tree[*application]{Looked: q.apps.Looked}
	for _, child := range q.children {
		child.links = order.Links[*queue]{}
		b.uproot(child)
	}
	for _, app := range q.applications {
		app.links = order.Links[*application]{}
	}
}

// remeasure puts everything in order again after what shares are measured
// against has changed: the size of the cluster, or the configuration.
func (b *backlog) remeasure() {
	b.changes.resized = false
	b.uproot(b.root)
	total := make(resources.Limits, b.kinds.Len())
	for i := range total {
		total[i] = b.capacity.Of(resources.Kind(i))
	}
	b.measure(b.root, total)
}

// measure works out what shares are measured against, down, and puts in order, up.
// A maximum overrules what is above it.
func (b *backlog) measure(q *queue, above resources.Limits) {
	q.fairMax = above.Clone()
	for i, v := range q.max {
		if v != resources.Unlimited {
			q.fairMax.Set(resources.Kind(i), v)
		}
	}
	q.view = nil
	for _, child := range q.sortedChildren() {
		b.measure(child, q.fairMax)
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

// rootPriority is the priority of an ask as the root sees it, by which asks of all
// queues compare that are nominated to a node.
func (b *backlog) rootPriority(r *request) int32 {
	priority := r.Priority
	if b.plain {
		return priority
	}
	for q := r.application.queue; q != nil; q = q.parent {
		priority = q.properties.seenFromAbove(priority)
	}
	return priority
}
