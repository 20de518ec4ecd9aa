package core

import (
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/order"
	"github.com/narwhal-scheduler/narwhal/pkg/core/tables"
)

// Verify recounts everything and returns the first broken law, or nil: those of the ledger, and
//
//   - every order is sorted and complete, and its summaries are exact;
//   - what is known not to fit does not fit, and what a limit holds back is really held back;
//   - what waits for something is in the list from which that is looked after.
//
// It is linear in the size of the partition and meant for tests and simulations. It
// changes nothing: if it reacted to what has changed, other asks could come first. So
// between a command and Schedule, which reacts, orders and what is known not to fit are
// not checked.
func (p *Partition) Verify() error {
	if err := p.Ledger.Verify(); err != nil {
		return err
	}
	v := verifier{p: p, settled: p.Changes.None()}
	defer func(work api.Work) { p.work = work }(p.work)
	v.all = slices.AppendSeq(make([]*ledger.Node, 0, p.Nodes.Len()), p.AllNodes)
	v.nodes()
	v.applications()
	v.queue(p.ofQueue(p.Root))
	v.limits()
	checkGroups(&v)
	v.classes()
	checkClaims(&v)
	checkSlots(&v)
	checkWakes(&v)
	v.ranked()
	v.preemption()
	v.noted()
	return v.broken
}

func (v *verifier) nodes() {
	for _, n := range v.all {
		if v.settled && n.Schedulable != v.p.order.has(n) {
			v.breaks("node %s: schedulable is %t, in the order is %t", n.ID, n.Schedulable, v.p.order.has(n))
		}
		if at := v.p.order.of(n); v.settled && at != nil && at.Links().In() && at.score != v.p.order.scoreOf(n) {
			v.breaks("node %s: score %d is stale", n.ID, at.score)
		}
	}
	sorted(v, "nodes", &v.p.order.tree)
	sorted(v, "rooms", &v.p.rooms.tree)
}

// sorted checks an order and its summaries.
func sorted[T order.Item[T]](v *verifier, what string, tree *order.Tree[T]) {
	if !v.settled {
		return
	}
	w := walk[T]{verifier: v, what: what}
	w.down(tree.Root())
	if w.count != tree.Len() {
		v.breaks("the order of %s counts %d and has %d", what, tree.Len(), w.count)
	}
}

// A walk visits an order from the first item to the last.
type walk[T order.Item[T]] struct {
	*verifier
	what  string
	last  T
	count int
}

func (w *walk[T]) down(top T) {
	var none T
	if top == none {
		return
	}
	links := top.Links()
	w.down(links.Left)
	if w.count > 0 && !w.last.Before(top) {
		w.breaks("the order of %s is not sorted", w.what)
	}
	if !links.In() {
		w.breaks("the order of %s holds what does not know of it", w.what)
	}
	w.last = top
	w.count++
	w.down(links.Right)
	// What is below is exact by now: a summary that was so too does not change.
	if top.Summarise() {
		w.breaks("a summary in the order of %s was stale", w.what)
	}
}

func (v *verifier) applications() {
	v.p.Applications.Ascend(func(app *ledger.Application) bool {
		ordered := 0
		for _, r := range app.Asks {
			if v.p.groupOf(r) != nil {
				ordered++
			}
			v.waiting(r)
		}
		waiting := v.p.ofApplication(app)
		v.groups(waiting, ordered)
		if v.settled && waiting.Links().In() != waiting.isTried() {
			v.breaks("application %s: in the order is %t with %d groups", app.ID, waiting.Links().In(), waiting.queued.Len())
		}
		return v.broken == nil
	})
}

// groups checks the groups of an application, which hold so many asks together.
func (v *verifier) groups(app *waitingApplication, asks int) {
	live, queued := 0, 0
	for g := range app.groups.all {
		c, count := g.class, 0
		for r := range g.all {
			count++
			if v.p.groupOf(r) != g || v.p.classOf(r) != c {
				v.breaks("application %s: %s is in the group of another class", app.ID, r.Key)
			}
		}
		if count != g.live || count == 0 || app.groups.of(c) != g || app.leaf.classes[c] != g.leaf || c.groups[g.atClass] != g || g.leaf.groups[g.atLeaf] != g {
			v.breaks("application %s: a group counts %d asks and has %d", app.ID, g.live, count)
		}
		if g.Links().In() != g.isTried() {
			v.breaks("application %s: a group in the order is %t, refused is %t", app.ID, g.Links().In(), c.unschedulable)
		}
		if g.Links().In() {
			queued++
		}
		if first := g.first(); g.Links().In() && g.place != first {
			v.breaks("application %s: a group stands in the place of another ask", app.ID)
		}
		live += count
	}
	if live != asks || queued != app.queued.Len() {
		v.breaks("application %s: %d asks in %d groups, %d and %d expected", app.ID, live, app.queued.Len(), asks, queued)
	}
	sorted(v, "asks", &app.queued)
}

// waiting checks that an ask waits in exactly one place.
func (v *verifier) waiting(r *ledger.Request) {
	listed := 0
	if v.p.groupOf(r) != nil {
		listed++
	}
	if r.Required != "" {
		if n := v.p.FindNode(r.Required); n != nil && n.Required.Has(r) {
			listed++
		}
		if set := v.p.Absent[r.Required]; set != nil && set.Has(r) {
			listed++
		}
	} else if r.Wait != nil && (r.Wait.Delayed || r.Wait.Held) {
		listed++
	}
	if listed != 1 {
		v.breaks("ask %s waits in %d places", r.Key, listed)
	}
	if r.Eviction != nil {
		v.breaks("ask %s is evicted", r.Key)
	}
	if r.Wait != nil && r.Wait.Former != "" {
		v.renominated++
	}
	if v.p.classOf(r) == nil || !r.Amounts.Equal(v.p.classOf(r).amounts) || r.Importance != v.p.importance(r) || r.Importance != v.p.classOf(r).importance ||
		v.p.classOf(r).preempts != (v.p.Settled && v.p.wantsRoom(r)) || v.p.classOf(r).nominated != (r.Nominated() != nil) {
		v.breaks("ask %s is not of the class it is counted with", r.Key)
	}
	if r.Wait != nil && r.Wait.Timer.Set() != !r.Wait.Due.First().IsZero() {
		v.breaks("ask %s: its timer is set is %t", r.Key, r.Wait.Timer.Set())
	}
}

// queue checks what the backlog knows of a queue.
func (v *verifier) queue(q *waitingQueue) {
	for _, c := range q.Children {
		child := v.p.ofQueue(c)
		v.queue(child)
		if v.settled && child.Links().In() != child.waits() {
			v.breaks("queue %s: in the order is %t, waits is %t", child.Path, child.Links().In(), child.waits())
		}
	}
	if v.settled && q.sumUp() {
		v.breaks("queue %s: its summary was stale", q.Path)
	}
	active := 0
	for c, leaf := range q.classes {
		if leaf.class != c || leaf.leaf != q || len(leaf.groups) == 0 || c.leaves[leaf.atClass] != leaf {
			v.breaks("queue %s: lists a class of no asks", q.Path)
		}
		if leaf.active {
			if leaf.listed {
				active++
			}
			if !c.preempts || leaf.listed && q.active[leaf.atActive] != leaf {
				v.breaks("queue %s: room may be made for %s, which is not wanted", q.Path, v.p.Kinds.Format(c.amounts))
			}
		}
	}
	if active != len(q.active) {
		v.breaks("queue %s: %d classes are to be listed and %d are", q.Path, active, len(q.active))
	}
	sorted(v, "queues", &q.queues)
}

// nodeFor is an open node with room for a class, if there is one that has been there
// all along.
func (v *verifier) nodeFor(c *class) *ledger.Node {
	for _, n := range v.all {
		if v.p.rooms.of(n) == nil && n.Schedulable && n.HasRoom(c.amounts, c.importance) {
			return n
		}
	}
	return nil
}

// classes checks that what is known not to fit does not fit.
func (v *verifier) classes() {
	parked, asks := 0, 0
	var roots tables.Counts
	for _, c := range v.p.classes.known {
		roots.Add(c.importance)
		asks += c.asks
		if !c.parked {
			continue
		}
		parked++
		if n := v.nodeFor(c); n != nil && v.settled {
			v.breaks("node %s has room for %s, which waits for it", n.ID, v.p.Kinds.Format(c.amounts))
		}
		if !c.Links().In() || c.asks == 0 {
			v.breaks("%s is parked and not listed", v.p.Kinds.Format(c.amounts))
		}
	}
	sorted(v, "parked classes", &v.p.parked)
	if parked != v.p.parked.Len() {
		v.breaks("%d classes are parked and %d are listed", parked, v.p.parked.Len())
	}
	if !slices.Equal(roots, v.p.classes.roots) {
		v.breaks("classes have the priorities %v, and %v are counted", roots, v.p.classes.roots)
	}
	if asks != v.p.backlog.Waiting {
		v.breaks("%d asks are of classes and %d wait", asks, v.p.backlog.Waiting)
	}
}
