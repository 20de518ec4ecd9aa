package backlog

import (
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/laws"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/order"
	"github.com/narwhal-scheduler/narwhal/pkg/core/tables"
)

// Verify recounts everything and returns the first broken law, or nil:
//
//   - every order is sorted and complete, and its summaries are exact;
//   - what is known not to fit does not fit, and what a limit holds back is really held back;
//   - what waits is in exactly one place;
//   - tables hold what is known of objects that are there, and nothing of those that are gone.
//
// The laws of the ledger are checked apart. It is linear in the size of the partition, and changes nothing.
// Until what has changed was reacted to, orders and what is known not to fit are not checked.
func (b *Backlog) Verify(order *NodeOrder) error {
	v := verifier{Backlog: b, Check: laws.Check{Partition: b.Name}, order: order, settled: b.Changes.None()}
	v.all = slices.AppendSeq(make([]*ledger.Node, 0, b.Nodes.Len()), b.AllNodes)
	v.tables()
	v.nodes()
	v.applications()
	v.queue(v.OfQueue(v.Root))
	v.limits()
	v.classes()
	v.ranked()
	v.places(v.OfQueue(v.Root))
	v.classTable()
	if v.settled && !v.cluster.Equal(v.Capacity.Amounts) {
		v.Breaks("shares are of %s, and the nodes hold %s", v.Kinds.Format(v.cluster), v.Kinds.Format(v.Capacity.Amounts))
	}
	return v.Err
}

// A verifier keeps the first law that it finds broken.
type verifier struct {
	*Backlog
	laws.Check
	order   *NodeOrder
	all     []*ledger.Node // by ID
	settled bool           // nothing has changed to which nothing has reacted
}

// tables checks that what is known of objects by their numbers is of objects that are there.
func (v *verifier) tables() {
	for slot, at := range v.order.nodes {
		if at != nil && (v.FindNode(at.ID) != at.Node || int(at.Slot) != slot) {
			v.Breaks("node %s is known to the order in place %d, and is not there", at.ID, slot)
		}
	}
	waiting := make(map[int]bool, v.Waiting)
	for _, r := range v.Requests {
		if r.Slot > 0 {
			waiting[int(r.Slot)] = true
		}
	}
	for slot, ask := range v.asks {
		if is := ask.class != nil; is != waiting[slot] || !is && ask.group != nil {
			v.Breaks("an ask of number %d waits is %t, and is known is %t", slot, waiting[slot], is)
		}
	}
	for slot, r := range v.moments.All {
		if m := v.moments.Get(slot, r); r.Slot != slot || !m.timer.Set() || !m.timer.At().Equal(m.first()) {
			v.Breaks("%s is looked at is %t, and waits is %t", r.Key, m.timer.Set(), r.Slot == slot)
		}
	}
	for account, lines := range v.blocked {
		if len(lines) == 0 {
			v.Breaks("%s is listed and holds nothing back", account.Subject)
		}
	}
}

func (v *verifier) nodes() {
	for _, n := range v.all {
		if v.settled && n.Schedulable != v.order.has(n) {
			v.Breaks("node %s: schedulable is %t, in the order is %t", n.ID, n.Schedulable, v.order.has(n))
		}
		if at := v.order.of(n); v.settled && at != nil && at.Links().In() && at.tie != (tie{v.order.scoreOf(n), v.order.domainOf(n)}) {
			v.Breaks("node %s: score %d is stale", n.ID, at.tie.score)
		}
	}
	sorted(v, "nodes", &v.order.Tree)
	sorted(v, "rooms", &v.Rooms.tree)
}

// sorted checks an order and its summaries.
func sorted[T order.Item[T]](v *verifier, what string, tree *order.Tree[T]) {
	if !v.settled {
		return
	}
	w := walk[T]{v: v, what: what}
	w.down(tree.Root())
	if w.count != tree.Len() {
		v.Breaks("the order of %s counts %d and has %d", what, tree.Len(), w.count)
	}
}

// A walk visits an order from the first item to the last.
type walk[T order.Item[T]] struct {
	v     *verifier // embedded, all its methods would be compiled again for each T
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
		w.v.Breaks("the order of %s is not sorted", w.what)
	}
	if !links.In() {
		w.v.Breaks("the order of %s holds what does not know of it", w.what)
	}
	w.last = top
	w.count++
	w.down(links.Right)
	// What is below is exact by now: a summary that was so too does not change.
	if top.Summarise() {
		w.v.Breaks("a summary in the order of %s was stale", w.what)
	}
}

func (v *verifier) applications() {
	v.Applications.Ascend(func(app *ledger.Application) bool {
		ordered := 0
		for _, r := range app.Asks {
			if v.GroupOf(r) != nil {
				ordered++
			}
			v.waiting(r)
		}
		waiting := v.OfApplication(app)
		v.groups(waiting, ordered)
		if v.settled && waiting.Links().In() != waiting.isTried() {
			v.Breaks("application %s: in the order is %t with %d groups", app.ID, waiting.Links().In(), waiting.Queued.Len())
		}
		return v.Err == nil
	})
}

// groups checks the groups of an application, which hold so many asks together.
func (v *verifier) groups(app *Application, asks int) {
	live, queued := 0, 0
	for g := range app.ByClass.All {
		c, count := g.Class, 0
		for r := range g.All {
			count++
			if v.GroupOf(r) != g || v.ClassOf(r) != c {
				v.Breaks("application %s: %s is in the group of another class", app.ID, r.Key)
			}
		}
		if count != g.Live || count == 0 || app.ByClass.of(c) != g || app.leaf.classes[c] != g.Leaf || c.Groups[g.atClass] != g || g.Leaf.Groups[g.atLeaf] != g {
			v.Breaks("application %s: a group counts %d asks and has %d", app.ID, g.Live, count)
		}
		if g.Links().In() != g.isTried() {
			v.Breaks("application %s: a group in the order is %t, refused is %t", app.ID, g.Links().In(), c.Unschedulable)
		}
		if g.Links().In() {
			queued++
		}
		if first := g.First(); g.Links().In() && g.place != first {
			v.Breaks("application %s: a group stands in the place of another ask", app.ID)
		}
		live += count
	}
	if live != asks || queued != app.Queued.Len() {
		v.Breaks("application %s: %d asks in %d groups, %d and %d expected", app.ID, live, app.Queued.Len(), asks, queued)
	}
	sorted(v, "asks", &app.Queued)
}

// waiting checks that an ask waits in exactly one place.
func (v *verifier) waiting(r *ledger.Request) {
	listed := 0
	if v.GroupOf(r) != nil {
		listed++
	}
	if r.Required != "" {
		if n := v.FindNode(r.Required); n != nil && n.Required.Has(r) {
			listed++
		}
		if set := v.Absent[r.Required]; set != nil && set.Has(r) {
			listed++
		}
	} else if r.Wait != nil && (r.Wait.Delayed || r.Wait.Held) {
		listed++
	}
	if listed != 1 {
		v.Breaks("ask %s waits in %d places", r.Key, listed)
	}
	if r.Eviction != nil {
		v.Breaks("ask %s is evicted", r.Key)
	}
	if v.ClassOf(r) == nil || !r.Amounts.Equal(v.ClassOf(r).Amounts) || r.Importance != v.Importance(r) || r.Importance != v.ClassOf(r).Importance ||
		(r.StartsWith == nil || v.Changes.None()) && v.ClassOf(r).Preempts != (v.Settled && v.WantsRoom(r)) || v.ClassOf(r).Nominated != (r.Nominated() != nil) {
		v.Breaks("ask %s is not of the class it is counted with", r.Key)
	}
}

// queue checks what the backlog knows of a queue.
func (v *verifier) queue(q *Queue) {
	for _, c := range q.Children {
		child := v.OfQueue(c)
		v.queue(child)
		if v.settled && child.Links().In() != child.waits() {
			v.Breaks("queue %s: in the order is %t, waits is %t", child.Path, child.Links().In(), child.waits())
		}
	}
	if v.settled && q.sumUp() {
		v.Breaks("queue %s: its summary was stale", q.Path)
	}
	active := 0
	for c, leaf := range q.classes {
		if leaf.Class != c || leaf.Leaf != q || len(leaf.Groups) == 0 || c.Leaves[leaf.atClass] != leaf {
			v.Breaks("queue %s: lists a class of no asks", q.Path)
		}
		if leaf.Active {
			if leaf.listed {
				active++
			}
			if !c.Preempts || leaf.listed && q.active[leaf.atActive] != leaf {
				v.Breaks("queue %s: room may be made for %s, which is not wanted", q.Path, v.Kinds.Format(c.Amounts))
			}
		}
	}
	if active != len(q.active) {
		v.Breaks("queue %s: %d classes are to be listed and %d are", q.Path, active, len(q.active))
	}
	sorted(v, "queues", &q.Queues)
}

// nodeFor is an open node with room for a class, if there is one that has been there
// all along.
func (v *verifier) nodeFor(c *Class) *ledger.Node {
	for _, n := range v.all {
		if v.Rooms.of(n) == nil && n.Schedulable && n.HasRoom(c.Amounts, c.Importance) {
			return n
		}
	}
	return nil
}

// classes checks that what is known not to fit does not fit.
func (v *verifier) classes() {
	parked, asks := 0, 0
	var roots tables.Counts
	for _, c := range v.Classes.Known {
		roots.Add(c.Importance)
		asks += c.Asks
		if !c.Parked {
			continue
		}
		parked++
		if n := v.nodeFor(c); n != nil && v.settled {
			v.Breaks("node %s has room for %s, which waits for it", n.ID, v.Kinds.Format(c.Amounts))
		}
		if !c.Links().In() || c.Asks == 0 {
			v.Breaks("%s is parked and not listed", v.Kinds.Format(c.Amounts))
		}
	}
	sorted(v, "parked classes", &v.Parked)
	if parked != v.Parked.Len() {
		v.Breaks("%d classes are parked and %d are listed", parked, v.Parked.Len())
	}
	if !slices.Equal(roots, v.Classes.roots) {
		v.Breaks("classes have the priorities %v, and %v are counted", roots, v.Classes.roots)
	}
	if asks != v.Backlog.Waiting {
		v.Breaks("%d asks are of classes and %d wait", asks, v.Backlog.Waiting)
	}
}

// classTable checks that classes without asks can be forgotten.
func (v *verifier) classTable() {
	t := &v.Classes
	idle := laws.MembersOf(t.idle)
	for key, c := range t.Known {
		if c.Key != key || c.Asks == 0 && !c.idle || c.idle != idle.Has(c) {
			v.Breaks("%s has %d asks and may be forgotten is %t", v.Kinds.Format(c.Amounts), c.Asks, c.idle)
		}
	}
}
