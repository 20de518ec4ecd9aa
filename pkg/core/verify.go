package core

import (
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/backlog"
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
	if err := p.VerifyTables(&p.order); err != nil {
		return err
	}
	v := verifier{p: p, settled: p.Changes.None()}
	defer func(work api.Work) { p.Work = work }(p.Work)
	v.all = slices.AppendSeq(make([]*ledger.Node, 0, p.Nodes.Len()), p.AllNodes)
	v.nodes()
	v.applications()
	v.queue(p.OfQueue(p.Root))
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
		if v.settled && n.Schedulable != v.p.order.Has(n) {
			v.breaks("node %s: schedulable is %t, in the order is %t", n.ID, n.Schedulable, v.p.order.Has(n))
		}
		if at := v.p.order.Of(n); v.settled && at != nil && at.Links().In() && at.Score != v.p.order.ScoreOf(n) {
			v.breaks("node %s: score %d is stale", n.ID, at.Score)
		}
	}
	sorted(v, "nodes", &v.p.order.Tree)
	sorted(v, "rooms", &v.p.Rooms.Tree)
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
			if v.p.GroupOf(r) != nil {
				ordered++
			}
			v.waiting(r)
		}
		waiting := v.p.OfApplication(app)
		v.groups(waiting, ordered)
		if v.settled && waiting.Links().In() != waiting.IsTried() {
			v.breaks("application %s: in the order is %t with %d groups", app.ID, waiting.Links().In(), waiting.Queued.Len())
		}
		return v.broken == nil
	})
}

// groups checks the groups of an application, which hold so many asks together.
func (v *verifier) groups(app *backlog.Application, asks int) {
	live, queued := 0, 0
	for g := range app.ByClass.All {
		c, count := g.Class, 0
		for r := range g.All {
			count++
			if v.p.GroupOf(r) != g || v.p.ClassOf(r) != c {
				v.breaks("application %s: %s is in the group of another class", app.ID, r.Key)
			}
		}
		if count != g.Live || count == 0 || app.ByClass.Of(c) != g || app.Leaf.Classes[c] != g.Leaf || c.Groups[g.AtClass] != g || g.Leaf.Groups[g.AtLeaf] != g {
			v.breaks("application %s: a group counts %d asks and has %d", app.ID, g.Live, count)
		}
		if g.Links().In() != g.IsTried() {
			v.breaks("application %s: a group in the order is %t, refused is %t", app.ID, g.Links().In(), c.Unschedulable)
		}
		if g.Links().In() {
			queued++
		}
		if first := g.First(); g.Links().In() && g.Place != first {
			v.breaks("application %s: a group stands in the place of another ask", app.ID)
		}
		live += count
	}
	if live != asks || queued != app.Queued.Len() {
		v.breaks("application %s: %d asks in %d groups, %d and %d expected", app.ID, live, app.Queued.Len(), asks, queued)
	}
	sorted(v, "asks", &app.Queued)
}

// waiting checks that an ask waits in exactly one place.
func (v *verifier) waiting(r *ledger.Request) {
	listed := 0
	if v.p.GroupOf(r) != nil {
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
	if v.p.ClassOf(r) == nil || !r.Amounts.Equal(v.p.ClassOf(r).Amounts) || r.Importance != v.p.Importance(r) || r.Importance != v.p.ClassOf(r).Importance ||
		v.p.ClassOf(r).Preempts != (v.p.Settled && v.p.WantsRoom(r)) || v.p.ClassOf(r).Nominated != (r.Nominated() != nil) {
		v.breaks("ask %s is not of the class it is counted with", r.Key)
	}
	if r.Wait != nil && r.Wait.Timer.Set() != !r.Wait.Due.First().IsZero() {
		v.breaks("ask %s: its timer is set is %t", r.Key, r.Wait.Timer.Set())
	}
}

// queue checks what the backlog knows of a queue.
func (v *verifier) queue(q *backlog.Queue) {
	for _, c := range q.Children {
		child := v.p.OfQueue(c)
		v.queue(child)
		if v.settled && child.Links().In() != child.Waits() {
			v.breaks("queue %s: in the order is %t, waits is %t", child.Path, child.Links().In(), child.Waits())
		}
	}
	if v.settled && q.SumUp() {
		v.breaks("queue %s: its summary was stale", q.Path)
	}
	active := 0
	for c, leaf := range q.Classes {
		if leaf.Class != c || leaf.Leaf != q || len(leaf.Groups) == 0 || c.Leaves[leaf.AtClass] != leaf {
			v.breaks("queue %s: lists a class of no asks", q.Path)
		}
		if leaf.Active {
			if leaf.Listed {
				active++
			}
			if !c.Preempts || leaf.Listed && q.Active[leaf.AtActive] != leaf {
				v.breaks("queue %s: room may be made for %s, which is not wanted", q.Path, v.p.Kinds.Format(c.Amounts))
			}
		}
	}
	if active != len(q.Active) {
		v.breaks("queue %s: %d classes are to be listed and %d are", q.Path, active, len(q.Active))
	}
	sorted(v, "queues", &q.Queues)
}

// nodeFor is an open node with room for a class, if there is one that has been there
// all along.
func (v *verifier) nodeFor(c *backlog.Class) *ledger.Node {
	for _, n := range v.all {
		if v.p.Rooms.Of(n) == nil && n.Schedulable && n.HasRoom(c.Amounts, c.Importance) {
			return n
		}
	}
	return nil
}

// classes checks that what is known not to fit does not fit.
func (v *verifier) classes() {
	parked, asks := 0, 0
	var roots tables.Counts
	for _, c := range v.p.Classes.Known {
		roots.Add(c.Importance)
		asks += c.Asks
		if !c.Parked {
			continue
		}
		parked++
		if n := v.nodeFor(c); n != nil && v.settled {
			v.breaks("node %s has room for %s, which waits for it", n.ID, v.p.Kinds.Format(c.Amounts))
		}
		if !c.Links().In() || c.Asks == 0 {
			v.breaks("%s is parked and not listed", v.p.Kinds.Format(c.Amounts))
		}
	}
	sorted(v, "parked classes", &v.p.Parked)
	if parked != v.p.Parked.Len() {
		v.breaks("%d classes are parked and %d are listed", parked, v.p.Parked.Len())
	}
	if !slices.Equal(roots, v.p.Classes.Roots) {
		v.breaks("classes have the priorities %v, and %v are counted", roots, v.p.Classes.Roots)
	}
	if asks != v.p.Backlog.Waiting {
		v.breaks("%d asks are of classes and %d wait", asks, v.p.Backlog.Waiting)
	}
}
