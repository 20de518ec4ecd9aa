package core

import (
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/order"
	"github.com/narwhal-scheduler/narwhal/pkg/core/tables"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// Verify recounts everything and returns the first broken law, or nil:
//
//   - the books of the nodes and the books of the queues agree, but for what is overdue on a node
//     that is not ready, and sums agree along the tree of queues;
//   - every request is in exactly the lists that its state says, under a key of
//     its own, and every allocation is on a known node;
//   - no node has more on it than it holds and no queue uses more than its max,
//     except by adoption, resizing, or a lowered capacity or max;
//   - every order is sorted and complete, and its summaries are exact;
//   - what is known not to fit does not fit;
//   - so do the accounts of limits, and what a limit holds back is really held back;
//   - what is kept for nominated asks and what is being evicted is counted exactly;
//   - task groups count their members, and each placeholder has one ask at most;
//   - what waits for something is in the list from which that is looked after.
//
// It is linear in the size of the partition and meant for tests and simulations. It
// changes nothing: if it reacted to what has changed, other asks could come first. So
// between a command and Schedule, which reacts, orders and what is known not to fit are
// not checked.
func (p *Partition) Verify() error {
	v := verifier{p: p, settled: p.changes.none()}
	defer func(work api.Work) { p.work = work }(p.work)
	v.all = slices.AppendSeq(make([]*node, 0, p.nodes.Len()), p.allNodes)
	v.nodes()
	v.applications()
	v.queue(p.root)
	v.limits()
	checkMembers(&v)
	v.totals()
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
	if len(v.p.nodesByID) != len(v.all) {
		v.breaks("%d nodes are in order and %d can be looked up", len(v.all), len(v.p.nodesByID))
	}
	if !noDetails.isEmpty() {
		v.breaks("the details of nodes that have none of their own were changed: %+v", noDetails)
	}
	for _, n := range v.all {
		if v.p.findNode(n.id) != n {
			v.breaks("node %s cannot be looked up", n.id)
		}
		var releasing resources.Sum
		evicted := 0
		v.equal("allocated", string(n.id), n.allocated, v.add(n.own))
		v.equal("occupied", string(n.id), n.occupied, v.add(n.foreign))
		for i := range max(len(n.free), len(n.capacity)) {
			k := resources.Kind(i)
			if n.free.Of(k) != resources.Total(n.capacity.Of(k), -n.allocated.Of(k), -n.occupied.Of(k)) {
				v.breaks("node %s: free %s is not what is left", n.id, v.p.kinds.Format(n.free))
			}
		}
		if !n.overcommitted && n.negative() {
			v.breaks("node %s: overcommitted by a placement, free %s", n.id, v.p.kinds.Format(n.free))
		}
		for _, list := range [2][]*request{n.own, n.foreign} {
			for i, r := range list {
				if r.node != n || r.Node != n.id || int(r.on) != i || v.p.classOf(r) != nil {
					v.breaks("node %s lists %s, which is not there", n.id, r.Key)
				}
				if r.releasing() {
					releasing.Add(r.Amounts)
				}
				if r.eviction != nil {
					evicted++
				}
				checkNodeOnly(v, r)
				if r.victim() && (r.Required != "" || r.Origin == api.Static) {
					v.breaks("node %s: %s is evicted and is never a victim", n.id, r.Key)
				}
			}
		}
		if evicted != n.details.read().evicted {
			v.breaks("node %s: %d are evicted, %d counted", n.id, evicted, n.details.read().evicted)
		}
		checkClaimsOn(v, n, releasing)
		v.found += len(n.foreign)
		if v.settled && n.schedulable != v.p.order.has(n) {
			v.breaks("node %s: schedulable is %t, in the order is %t", n.id, n.schedulable, v.p.order.has(n))
		}
		if at := v.p.order.of(n); v.settled && at != nil && at.links.In() && at.score != v.p.order.scoreOf(n) {
			v.breaks("node %s: score %d is stale", n.id, at.score)
		}
		v.used.AddSum(n.allocated)
		v.foreign.AddSum(n.occupied)
		v.total.Add(n.capacity)
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
	v.p.applications.Ascend(func(app *application) bool {
		v.equal("used", string(app.id), app.used, v.add(charged(app.allocations)))
		v.equal("pending", string(app.id), app.pending, v.add(app.asks))
		v.found += len(app.allocations) + len(app.asks)
		for i, r := range app.allocations {
			if r.application != app || r.node == nil || int(r.at) != i || v.p.requests[r.Key] != r {
				v.breaks("application %s lists allocation %s, which is not there", app.id, r.Key)
			}
		}
		ordered := 0
		for i, r := range app.asks {
			if r.application != app || r.node != nil || r.Node != "" || int(r.at) != i || v.p.requests[r.Key] != r {
				v.breaks("application %s lists ask %s, which is not there", app.id, r.Key)
			}
			if v.p.groupOf(r) != nil {
				ordered++
			}
			v.waiting(r)
			if err := v.p.checkKinds(r); err != nil {
				v.breaks("%v", err)
			}
			v.unknown += len(r.Unknown)
		}
		waiting := v.p.ofApplication(app)
		v.groups(waiting, ordered)
		if app.queue.applications[app.id] != app {
			v.breaks("application %s is not in its queue %s", app.id, app.queue.path)
		}
		if v.settled && waiting.links.In() != waiting.isTried() {
			v.breaks("application %s: in the order is %t with %d groups", app.id, waiting.links.In(), waiting.queued.Len())
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
				v.breaks("application %s: %s is in the group of another class", app.id, r.Key)
			}
		}
		if count != g.live || count == 0 || app.groups.of(c) != g || app.leaf.classes[c] != g.leaf || c.groups[g.atClass] != g || g.leaf.groups[g.atLeaf] != g {
			v.breaks("application %s: a group counts %d asks and has %d", app.id, g.live, count)
		}
		if g.links.In() != g.isTried() {
			v.breaks("application %s: a group in the order is %t, refused is %t", app.id, g.links.In(), c.unschedulable)
		}
		if g.links.In() {
			queued++
		}
		if first := g.first(); g.links.In() && g.place != first {
			v.breaks("application %s: a group stands in the place of another ask", app.id)
		}
		live += count
	}
	if live != asks || queued != app.queued.Len() {
		v.breaks("application %s: %d asks in %d groups, %d and %d expected", app.id, live, app.queued.Len(), asks, queued)
	}
	sorted(v, "asks", &app.queued)
}

// waiting checks that an ask waits in exactly one place.
func (v *verifier) waiting(r *request) {
	listed := 0
	if v.p.groupOf(r) != nil {
		listed++
	}
	if r.Required != "" {
		if n := v.p.findNode(r.Required); n != nil && n.required.has(r) {
			listed++
		}
		if set := v.p.absent[r.Required]; set != nil && set.has(r) {
			listed++
		}
	} else if r.wait != nil && (r.wait.delayed || r.wait.held) {
		listed++
	}
	if listed != 1 {
		v.breaks("ask %s waits in %d places", r.Key, listed)
	}
	if r.eviction != nil {
		v.breaks("ask %s is evicted", r.Key)
	}
	if r.wait != nil && r.wait.former != "" {
		v.renominated++
	}
	if v.p.classOf(r) == nil || !r.Amounts.Equal(v.p.classOf(r).amounts) || r.importance != v.p.importance(r) || r.importance != v.p.classOf(r).importance ||
		v.p.classOf(r).preempts != (v.p.settled && v.p.wantsRoom(r)) || v.p.classOf(r).nominated != (r.nominated() != nil) {
		v.breaks("ask %s is not of the class it is counted with", r.Key)
	}
	if r.wait != nil && r.wait.timer.Set() != !r.wait.due.first().IsZero() {
		v.breaks("ask %s: its timer is set is %t", r.Key, r.wait.timer.Set())
	}
}

func (v *verifier) queue(q *queue) {
	var used, pending resources.Sum
	for _, child := range q.children {
		v.queue(child)
		used.AddSum(child.used)
		pending.AddSum(child.pending)
		if waiting := v.p.ofQueue(child); v.settled && waiting.links.In() != waiting.waits() {
			v.breaks("queue %s: in the order is %t, waits is %t", child.path, waiting.links.In(), waiting.waits())
		}
	}
	for _, app := range q.applications {
		used.AddSum(app.used)
		pending.AddSum(app.pending)
	}
	v.equal("used", string(q.path), q.used, used)
	v.equal("pending", string(q.path), q.pending, pending)
	if !q.exceeded && !q.used.Within(q.max) {
		v.breaks("queue %s: uses %s of %s by a placement", q.path, v.p.kinds.Format(q.used.Amounts), v.p.kinds.FormatLimits(q.max))
	}
	if q.leaf && len(q.children) > 0 || !q.leaf && len(q.applications) > 0 {
		v.breaks("queue %s: leaf is %t with %d queues and %d applications", q.path, q.leaf, len(q.children), len(q.applications))
	}
	v.waitingQueue(v.p.ofQueue(q))
}

// waitingQueue checks what the backlog knows of a queue.
func (v *verifier) waitingQueue(q *waitingQueue) {
	if v.settled && q.summarise() {
		v.breaks("queue %s: its summary was stale", q.path)
	}
	active := 0
	for c, leaf := range q.classes {
		if leaf.class != c || leaf.leaf != q || len(leaf.groups) == 0 || c.leaves[leaf.atClass] != leaf {
			v.breaks("queue %s: lists a class of no asks", q.path)
		}
		if leaf.active {
			if leaf.listed {
				active++
			}
			if !c.preempts || leaf.listed && q.active[leaf.atActive] != leaf {
				v.breaks("queue %s: room may be made for %s, which is not wanted", q.path, v.p.kinds.Format(c.amounts))
			}
		}
	}
	if active != len(q.active) {
		v.breaks("queue %s: %d classes are to be listed and %d are", q.path, active, len(q.active))
	}
	sorted(v, "queues", &q.queues)
}

func (v *verifier) totals() {
	v.equal("used", "nodes and queues", v.p.root.used, v.used)
	v.equal("occupied", "the partition", v.p.occupied, v.foreign)
	v.equal("capacity", "the partition", v.p.capacity, v.total)
	for id, list := range v.p.unplaced {
		v.found += len(list)
		if v.p.findNode(id) != nil || len(list) == 0 {
			v.breaks("%d foreign allocations wait for node %s, which is known", len(list), id)
		}
	}
	for _, set := range v.p.unknown {
		v.unknown -= set.len()
	}
	if v.unknown != 0 {
		v.breaks("%d more unknown kinds are wanted than listed", v.unknown)
	}
	if v.found != len(v.p.requests) {
		v.breaks("%d requests are known by key and %d are listed", len(v.p.requests), v.found)
	}
}

// nodeFor is an open node with room for a class, if there is one that has been there
// all along.
func (v *verifier) nodeFor(c *class) *node {
	for _, n := range v.all {
		if v.p.rooms.of(n) == nil && n.schedulable && n.hasRoom(c.amounts, c.importance) {
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
			v.breaks("node %s has room for %s, which waits for it", n.id, v.p.kinds.Format(c.amounts))
		}
		if !c.links.In() || c.asks == 0 {
			v.breaks("%s is parked and not listed", v.p.kinds.Format(c.amounts))
		}
	}
	sorted(v, "parked classes", &v.p.parked)
	if parked != v.p.parked.Len() {
		v.breaks("%d classes are parked and %d are listed", parked, v.p.parked.Len())
	}
	if !slices.Equal(roots, v.p.classes.roots) {
		v.breaks("classes have the priorities %v, and %v are counted", roots, v.p.classes.roots)
	}
	if asks != v.p.backlog.waiting {
		v.breaks("%d asks are of classes and %d wait", asks, v.p.backlog.waiting)
	}
}
