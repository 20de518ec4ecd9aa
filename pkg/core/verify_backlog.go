package core

import (
	"iter"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/backlog"
	"github.com/narwhal-scheduler/narwhal/pkg/core/devices"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/order"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// noted checks what is noted beside the books: what the resource manager was told, the
// places in orders, and the lists from which what waits is tried again. An ask that is
// missing in one of them would wait for ever.
func (v *verifier) noted() {
	v.hints(v.p.Root)
	v.places(v.p.OfQueue(v.p.Root))
	v.retried()
	v.refused()
	v.bound()
	v.classTable()
	v.timers()
	v.costs()
	if v.settled && !v.p.Cluster.Equal(v.p.Capacity.Amounts) {
		v.breaks("shares are of %s, and the nodes hold %s", v.p.Kinds.Format(v.p.Cluster), v.p.Kinds.Format(v.p.Capacity.Amounts))
	}
}

// hints checks of how many asks of each group the resource manager knows that no node can take them.
func (v *verifier) hints(q *ledger.Queue) {
	for _, child := range q.Children {
		v.hints(child)
	}
	for _, app := range q.Applications {
		var counted map[*backlog.AskGroup]int // most asks are not told of
		for _, r := range app.Asks {
			if r.Wait != nil && r.Wait.Hinted {
				if counted == nil {
					counted = map[*backlog.AskGroup]int{}
				}
				counted[v.p.GroupOf(r)]++
			}
		}
		for g := range v.p.OfApplication(app).ByClass.All {
			if g.Hinted != counted[g] {
				v.breaks("application %s: %d asks of a group were told of, counted %d", app.ID, counted[g], g.Hinted)
			}
		}
	}
}

// places checks that what stands in an order stands where it belongs now, and that the
// summaries say what a look at every item says.
func (v *verifier) places(q *backlog.Queue) {
	if !v.settled {
		return
	}
	for _, c := range q.Children {
		child := v.p.OfQueue(c)
		v.places(child)
		if place := child.Placed(); child.Links().In() && child.Place != place {
			v.breaks("queue %s stands at %v and belongs at %v", child.Path, child.Place, place)
		}
	}
	for _, a := range q.Applications {
		app := v.p.OfApplication(a)
		if app.Links().In() && (app.SumUp() || app.Place != app.Placed()) {
			v.breaks("application %s stands at %v and belongs at %v", app.ID, app.Place, app.Placed())
		}
		v.summary(string(app.ID), &app.Own, ownOf(&app.Queued, func(g *backlog.AskGroup) *backlog.Summary { return &g.Own }))
	}
	for _, leaf := range q.Classes {
		asks := 0
		for _, g := range leaf.Groups {
			asks += g.Live
			v.group(g)
		}
		if asks != leaf.Asks {
			v.breaks("queue %s: a class has %d asks, counted %d", q.Path, asks, leaf.Asks)
		}
	}
	if q.Leaf {
		v.summary(string(q.Path), q.Waiting(), slices.Values(ownOfLeaf(q)))
		return
	}
	v.summary(string(q.Path), q.Waiting(), ownOf(&q.Queues, func(child *backlog.Queue) *backlog.Summary { return &child.Own }))
}

// group checks what is noted of a group in an order.
func (v *verifier) group(g *backlog.AskGroup) {
	c, own := g.Class, &g.Own
	open := !c.Unschedulable
	if g.Links().In() && (own.Top != c.Priority || own.Attempts != (g.Leaf.Active && !g.Leaf.Listed) ||
		(own.Nominated != nil) != (open && c.Nominated) || (own.Parked != nil) != (open && !c.Nominated && c.Parked) ||
		(own.Open != nil) != (open && !c.Nominated && !c.Parked) ||
		(own.Wanted != nil) != (c.Preempts && g.Application.IsLimited())) {
		v.breaks("application %s: the summary of a group was stale", g.Application.ID)
	}
}

// ownOf is what the items of an order have themselves.
func ownOf[T order.Item[T]](tree *order.Tree[T], own func(T) *backlog.Summary) iter.Seq[*backlog.Summary] {
	return func(yield func(*backlog.Summary) bool) {
		tree.All(func(item T) bool { return yield(own(item)) })
	}
}

// summary compares a summary with that of a look at every part.
func (v *verifier) summary(of string, kept *backlog.Summary, parts iter.Seq[*backlog.Summary]) {
	sum := backlog.EmptySummary
	lists := func(s *backlog.Summary) [4]**resources.Amounts {
		return [...]**resources.Amounts{&s.Open, &s.Parked, &s.Nominated, &s.Wanted}
	}
	for part := range parts {
		sum.Top, sum.Ready = max(sum.Top, part.Top), max(sum.Ready, part.Ready)
		sum.Untried, sum.Attempts = sum.Untried || part.Untried, sum.Attempts || part.Attempts
		for i, l := range lists(part) {
			switch all := lists(&sum)[i]; {
			case *l == nil:
			case *all == nil:
				least := (*l).Clone()
				*all = &least
			default:
				for k := range **all {
					(**all)[k] = min((**all)[k], (*l).Of(resources.Kind(k)))
				}
			}
		}
	}
	same := sum.Top == kept.Top && sum.Ready == kept.Ready && sum.Untried == kept.Untried && sum.Attempts == kept.Attempts
	for i, l := range lists(kept) {
		all := lists(&sum)[i]
		same = same && (*l == nil) == (*all == nil) && (*l == nil || (*l).Equal(**all))
	}
	if !same {
		v.breaks("the summary of %s is %+v, and a look at all says %+v", of, *kept, sum)
	}
}

// retried checks that every class for which an attempt failed is listed once, to be
// tried again, and so is every queue that could not give back enough.
func (v *verifier) retried() {
	s := &v.p.retries
	list := s.ByNode
	byNode, queued := membersOf(list), membersOf(s.Queue)
	if byNode.twice || queued.twice {
		v.breaks("of %d classes and %d classes of queues that are tried again some are listed twice", len(list), len(s.Queue))
	}
	for i, c := range list {
		if !c.Listed || i > 0 && list[i-1].Priority < c.Priority {
			v.breaks("%s is listed to be tried when a node changes, in the wrong place", v.p.Kinds.Format(c.Amounts))
		}
	}
	for _, leaf := range s.Queue {
		if !leaf.Queued {
			v.breaks("%s is queued to be tried again, and does not know", v.p.Kinds.Format(leaf.Class.Amounts))
		}
	}
	if s.Pending > len(s.Queue) || s.Pending > 0 && !s.Timer.Set() {
		v.breaks("%d of %d are tried again, and it is not known when", s.Pending, len(s.Queue))
	}
	for _, c := range v.p.Classes.Known {
		if listed := slices.Contains(v.p.Classes.Alike[c.Constraints], c); listed != (c.Constraints != "") {
			v.breaks("class %q is listed among those of its constraints is %t", c.Constraints, listed)
		}
		if c.Listed && !byNode.has(c) {
			v.breaks("%s is not listed to be tried when a node changes", v.p.Kinds.Format(c.Amounts))
		}
		for _, leaf := range c.Leaves {
			if leaf.Queued && !queued.has(leaf) || c.Preempts && !leaf.Active && !leaf.Queued && !c.Listed {
				v.breaks("%s of queue %s is never tried again", v.p.Kinds.Format(c.Amounts), leaf.Leaf.Path)
			}
		}
	}
	v.excess(v.p.Root)
}

// excess checks that a queue is tried again that could not give back enough.
func (v *verifier) excess(q *ledger.Queue) {
	lists := slices.Concat(v.p.retries.Excess, v.p.retries.ExcessNow)
	listed := 0
	for _, other := range lists {
		if other == q {
			listed++
		}
	}
	e := v.p.quotas.Beyond[q]
	if listed > 1 || listed == 0 && e != nil && !e.Left.IsZero() && e.Again.IsZero() {
		v.breaks("queue %s could not give back enough and is listed %d times", q.Path, listed)
	}
	_, gives := v.p.quotas.GivesBackAt(q)
	if v.settled && gives && e.Left == nil && !e.Timer.Set() && !q.BeyondMax().IsZero() {
		v.breaks("queue %s is beyond its max and never gives back", q.Path)
	}
	for _, child := range q.Children {
		v.excess(child)
	}
}

// refused checks that the resource manager is asked again about every class that it
// refused, and about every node that was freed.
func (v *verifier) refused() {
	s := &v.p.refused
	freed := membersOf(s.Regained)
	listed := map[*backlog.Class]int{}
	for _, c := range s.List {
		if listed[c]++; listed[c] > 1 || !c.InRefused {
			v.breaks("%s was refused and is listed %d times", v.p.Kinds.Format(c.Amounts), listed[c])
		}
	}
	paused := map[*backlog.Class]bool{}
	for _, e := range s.Paused {
		if e.IsCurrent() {
			paused[e.Class] = true
		}
	}
	for _, c := range v.p.Classes.Known {
		if !c.Unschedulable {
			continue
		}
		goesOn := paused[c]
		if goesOn != (c.Paused != nil) || !goesOn && listed[c] == 0 {
			v.breaks("%s was refused: questions pause is %t, and are to go on is %t", v.p.Kinds.Format(c.Amounts), c.Paused != nil, goesOn)
		}
	}
	if len(s.List) > 0 && !s.Whole.Set() || len(s.Regained) > 0 && !s.Soon.Set() || len(paused) > 0 && !s.Resumes.Set() {
		v.breaks("refused classes are asked about again is %t, on freed nodes %t, where questions pause %t", s.Whole.Set(), s.Soon.Set(), s.Resumes.Set())
	}
	for _, n := range v.all {
		if n.Regained != freed.has(n) {
			v.breaks("node %s was freed is %t, and is not asked about", n.ID, n.Regained)
		}
	}
}

// bound checks that asks that are bound to a node are tried when that changes, or when
// there is the quota for which they wait.
func (v *verifier) bound() {
	retry := 0
	for _, n := range v.all {
		if n.Retry {
			retry++
			if !slices.ContainsFunc(v.p.dirty, func(d dirtyNode) bool { return d.Node == n }) {
				v.breaks("the asks of node %s are not tried", n.ID)
			}
		}
	}
	for _, r := range v.p.Requests {
		if r.Wait != nil && r.Wait.HeldBy != nil && !slices.Contains(r.Wait.HeldBy.Held, r) {
			v.breaks("%s is not tried when %s has room", r.Key, r.Wait.HeldBy.Subject)
		}
	}
}

// classTable checks that classes without asks can be forgotten.
func (v *verifier) classTable() {
	t := &v.p.Classes
	idle := membersOf(t.Idle)
	for key, c := range t.Known {
		if c.Key != key || c.Asks == 0 && !c.Idle || c.Idle != idle.has(c) {
			v.breaks("%s has %d asks and may be forgotten is %t", v.p.Kinds.Format(c.Amounts), c.Asks, c.Idle)
		}
	}
}

// timers checks that what ends by itself has a timer.
func (v *verifier) timers() {
	for _, n := range v.all {
		for r := range n.AllOn {
			if r.Releasing() && !r.Eviction.Timer.Set() {
				v.breaks("the eviction of %s is never overdue", r.Key)
			}
			if e := r.Eviction; e != nil && e.Guard.Pauses() != e.Guard.Timer.Set() {
				v.breaks("the eviction of %s keeps others from node %s for ever", r.Key, n.ID)
			}
		}
	}
	v.p.Applications.Ascend(func(app *ledger.Application) bool {
		completing := app.State == api.Completing || app.State == api.New && v.p.Options.UnusedDelay > 0
		completes := app.Completion != nil && app.Completion.Set()
		if completing != completes || completing && !app.IsDone() {
			v.breaks("application %s is %s, and completes is %t", app.ID, app.State, completes)
		}
		if app.BacksOff() && !app.Failures.Backoff.Timer.Set() {
			v.breaks("application %s backs off for ever", app.ID)
		}
		if !app.MayRun() {
			v.breaks("application %s is %s and runs %d allocations", app.ID, app.State, len(app.Allocations))
		}
		return v.broken == nil
	})
}

// costs checks the heaps of what room costs: every place is known, and counted.
func (v *verifier) costs() {
	for _, c := range v.p.costs.Known {
		for i := range c.Heap {
			if at, found := c.Find(c.Heap[i].Node); !found || at != i {
				v.breaks("node %s is in place %d and found in %d", c.Heap[i].Node.ID, i, at)
			}
			if i > 0 && c.Heap[i].Less(&c.Heap[(i-1)/2]) {
				v.breaks("node %s costs less than one before it", c.Heap[i].Node.ID)
			}
		}
	}
}

// ranked checks the orders of nodes by their devices, where they are up to date.
func (v *verifier) ranked() {
	d := v.p.order.Devices
	if d == nil || !v.settled {
		return
	}
	for _, ranked := range d.ByAsk {
		amounts, missed := ranked.Amounts, ranked.Seen != d.Dropped+uint64(len(d.Changed))
		found := 0
		for _, n := range v.all {
			if missed || !v.p.order.Has(n) || !amounts.FitsIn(n.Room) {
				continue
			}
			found++
			fresh := devices.Node{Capacity: n.Capacity, Free: n.Free, Tables: d.TablesOf(n), Room: v.p.order.Of(n).Score}
			if is := ranked.BySlot[n.Slot]; is == nil || is.Node != n || is.Cost != d.Policy.Cost(&fresh, amounts) {
				v.breaks("node %s: what %s wastes there is stale", n.ID, v.p.Kinds.Format(amounts))
			}
		}
		if !missed && found != ranked.Tree.Len() {
			v.breaks("%d nodes have room for %s, %d are in order", found, v.p.Kinds.Format(amounts), ranked.Tree.Len())
		}
	}
}
