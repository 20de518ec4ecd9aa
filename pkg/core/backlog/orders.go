package backlog

import (
	"cmp"
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/order"
	"github.com/narwhal-scheduler/narwhal/pkg/core/tables"
)

// settle brings the place of an application in the order of its line up to date.
func (a *Application) settle() {
	changed := a.sumUp()
	place, wanted := a.placed(), a.isTried()
	before, to := a.line, a.line
	if wanted {
		to = a.leaf.Lines.find(a)
	}
	if before != to && before != nil {
		before.Apps.Remove(a)
		before.Settle()
	}
	if to == nil {
		return
	}
	settled := to.Apps.Settle(a, wanted, place != a.place, changed, func() { a.place = place })
	a.line = to
	if settled || !to.isFree() {
		to.Settle()
	}
	if !wanted {
		a.line = nil
	}
}

// isTried reports whether the application stands in the order of its queue.
func (a *Application) isTried() bool {
	return a.Queued.Len() > 0 && !a.BacksOff()
}

// SettleApplication brings an application up to date. One that is gone is known no longer then.
func (b *Backlog) SettleApplication(app *ledger.Application) {
	b.OfApplication(app).settle()
	if app.Gone {
		b.waitingApps[app.Slot] = nil
		b.ApplicationSlots.GiveBack(app.Slot)
	}
}

// SettleQueue brings a queue and those above it up to date, from the leaf up. One that is gone is
// known no longer then.
func (b *Backlog) SettleQueue(of *ledger.Queue) {
	b.settleUp(of)
	if of.Gone {
		b.waitingQueues[of.Slot] = nil
		b.QueueSlots.GiveBack(of.Slot)
	}
}

func (b *Backlog) settleUp(of *ledger.Queue) {
	for q := b.OfQueue(of); q != nil; q = q.above {
		q.DropView()
		changed := q.sumUp()
		if q.above == nil {
			return
		}
		place := q.placed()
		q.above.Queues.Settle(q, q.waits(), place != q.place, changed, func() { q.place = place })
	}
}

// clearOrders takes everything out of the orders of queues and applications, so that
// what decides them may change.
func (b *Backlog) clearOrders(q *Queue) {
	q.Queues = order.Tree[*Queue]{Looked: q.Queues.Looked}
	q.Lines.clear()
	for _, c := range q.Children {
		child := b.OfQueue(c)
		child.links = order.Links[*Queue]{}
		b.clearOrders(child)
	}
}

// RecomputeShares puts everything in order again after the configuration has changed.
func (b *Backlog) RecomputeShares() {
	root := b.beginAgain()
	b.clearOrders(root)
	b.computeShares(root)
}

// Resize puts everything in order again after the size of the cluster has changed.
func (b *Backlog) Resize() { b.resizeShares(b.beginAgain()) }

// beginAgain notes the size of the cluster, and forgets what a search found of lines: these are made anew.
func (b *Backlog) beginAgain() (root *Queue) {
	b.Changes.TakeResized()
	b.cluster = b.Capacity.Clone()
	clear(b.stale)
	b.stale = b.stale[:0]
	return b.OfQueue(b.Root)
}

// computeShares puts everything below a queue in order, from the leaves up.
func (b *Backlog) computeShares(q *Queue) {
	q.DropView()
	for _, child := range q.SortedChildren() {
		b.computeShares(b.OfQueue(child))
	}
	for _, app := range q.SortedApplications() {
		b.OfApplication(app).settle()
	}
	q.sumUp()
	if q.above != nil {
		q.settleShare()
	}
}

func (q *Queue) settleShare() {
	q.place = q.placed()
	q.above.Queues.Settle(q, q.waits(), false, false, func() {})
}

// resizeShares puts everything below a queue in order again. Queues that use nothing and where nothing
// waits have no share and stand in no order: they cost a look.
func (b *Backlog) resizeShares(q *Queue) {
	q.DropView()
	for _, child := range b.busyChildren(q) {
		b.resizeShares(child)
	}
	queues, apps := slices.Collect(q.Queues.All), q.Lines.clear()
	q.Queues = order.Tree[*Queue]{Looked: q.Queues.Looked}
	for _, child := range queues {
		child.links = order.Links[*Queue]{}
	}
	for _, app := range apps {
		app.settle()
	}
	for _, child := range queues {
		child.settleShare()
	}
	q.sumUp()
}

// Insert puts an ask into the group of its class.
func (b *Backlog) Insert(r *ledger.Request) {
	app := b.OfApplication(r.App)
	g := app.ByClass.of(b.ClassOf(r))
	if g == nil {
		g = b.newGroup(app, b.ClassOf(r))
	}
	b.Work.Asks += uint64(g.add(r))
	b.EndAwait(b.ClassOf(r))
	g.Leaf.Leaf.WaitSet.count(b.Kinds, g.Leaf, 1)
	if r.IsHinted() {
		g.Hinted++
	} else if g.Class.FitsNowhere() {
		b.MayHint()
	}
	b.settleGroup(g)
	b.Changes.Application(r.App, 0)
}

// Extract takes an ask out of its group.
func (b *Backlog) Extract(r *ledger.Request) {
	g := b.GroupOf(r)
	g.remove(r)
	g.Leaf.Leaf.WaitSet.count(b.Kinds, g.Leaf, -1)
	if r.IsHinted() {
		g.Hinted--
	}
	b.settleGroup(g)
	if g.Live == 0 {
		b.dropGroup(g)
	}
	b.Changes.Application(r.App, 0)
}

func (b *Backlog) newGroup(app *Application, c *Class) *AskGroup {
	leaf := app.leaf.classes[c]
	if leaf == nil {
		leaf = &LeafClass{Class: c, Leaf: app.leaf, atClass: len(c.Leaves)}
		app.leaf.classes[c] = leaf
		c.Leaves = append(c.Leaves, leaf)
		if c.Preempts {
			c.Simulations.Help(nil)
			b.Activate(leaf)
		}
	}
	g := &AskGroup{
		asks:  &b.asks,
		Class: c, Application: app, Leaf: leaf, own: emptySummary,
		atClass: int32(len(c.Groups)), atLeaf: int32(len(leaf.Groups)),
	}
	c.Groups = append(c.Groups, g)
	leaf.Groups = append(leaf.Groups, g)
	app.ByClass.add(g)
	return g
}

func (b *Backlog) dropGroup(g *AskGroup) {
	c, leaf := g.Class, g.Leaf
	g.Application.ByClass.remove(g)
	c.Groups = tables.SwapRemove(c.Groups, g.atClass, func(g *AskGroup) *int32 { return &g.atClass })
	leaf.Groups = tables.SwapRemove(leaf.Groups, g.atLeaf, func(g *AskGroup) *int32 { return &g.atLeaf })
	if len(leaf.Groups) == 0 {
		b.dropLeafClass(leaf)
	}
}

func (b *Backlog) dropLeafClass(leaf *LeafClass) {
	b.Deactivate(leaf, nil)
	c := leaf.Class
	c.Leaves = tables.SwapRemove(c.Leaves, leaf.atClass, func(leaf *LeafClass) *int { return &leaf.atClass })
	delete(leaf.Leaf.classes, c)
	leaf.Leaf = nil
}

// MarkedMax is how many groups of a class in a leaf are marked one by one while room
// may be made for them. A class with more is listed with the leaf, and a search
// compares it with what else it finds (see BenchmarkAttemptOfManyApplications).
const MarkedMax = 64

// Activate lets room be made for the asks of a class in a leaf.
func (b *Backlog) Activate(leaf *LeafClass) {
	if leaf.Active || leaf.Leaf == nil {
		return
	}
	b.Learn()
	leaf.Active = true
	if len(leaf.Groups) > MarkedMax {
		b.list(leaf)
	}
	b.mark(leaf)
}

// Deactivate lets no room be made for the asks of a class in a leaf, since that failed.
// last are the attempts, for readers.
func (b *Backlog) Deactivate(leaf *LeafClass, last []api.PreemptionAttempt) {
	if !leaf.Active {
		return
	}
	b.Learn()
	leaf.Active, leaf.Last = false, last
	if leaf.listed {
		b.unlist(leaf)
		return
	}
	b.mark(leaf)
}

// list adds a class to those that a search of its leaf looks at one by one.
func (b *Backlog) list(leaf *LeafClass) {
	q := leaf.Leaf
	leaf.listed, leaf.atActive = true, len(q.active)
	q.active = append(q.active, leaf)
	b.Changes.Queue(q.Queue, 0)
}

func (b *Backlog) unlist(leaf *LeafClass) {
	q := leaf.Leaf
	leaf.listed = false
	q.active = tables.SwapRemove(q.active, leaf.atActive, func(leaf *LeafClass) *int { return &leaf.atActive })
	b.Changes.Queue(q.Queue, 0)
}

// mark brings the marks of the groups of a class in a leaf up to date.
func (b *Backlog) mark(leaf *LeafClass) {
	if leaf.listed {
		return
	}
	for _, g := range leaf.Groups {
		b.settleGroup(g)
		b.Changes.Application(g.Application.Application, 0)
	}
}

// PassOn lets room be made for the class of an ask that waited for its guarantee: when that holds,
// or, if the ask goes before, for the next one.
func (b *Backlog) PassOn(r *ledger.Request) {
	if b.MomentOf(r, Guarantee).IsZero() {
		return
	}
	b.SetMoment(r, Guarantee, time.Time{})
	if leaf := b.OfQueue(r.App.Queue).classes[b.ClassOf(r)]; leaf != nil && leaf.Class.Preempts {
		leaf.Class.Simulations.Help(nil)
		b.Activate(leaf)
	}
}

// busyChildren are the queues below one in which anything is used or waits, by name: each has orders of its own, and what an account holds
// back in several of them is listed together.
func (b *Backlog) busyChildren(q *Queue) (busy []*Queue) {
	for _, child := range q.Children {
		if child := b.OfQueue(child); child.isBusy() {
			busy = append(busy, child)
		}
	}
	slices.SortFunc(busy, func(a, b *Queue) int { return cmp.Compare(a.Name, b.Name) })
	return busy
}

// isBusy reports whether anything is used or waits below.
func (q *Queue) isBusy() bool { return !q.Used.IsZero() || q.waits() }

// SettleGroups brings all groups up to date, after other limits apply to applications.
func (b *Backlog) SettleGroups() {
	b.Applications.Ascend(func(app *ledger.Application) bool {
		for g := range b.OfApplication(app).ByClass.All { // each changes its own place only
			b.settleGroup(g)
		}
		return true
	})
}
