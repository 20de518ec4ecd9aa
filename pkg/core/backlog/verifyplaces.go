package backlog

import (
	"iter"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/devices"
	"github.com/narwhal-scheduler/narwhal/pkg/core/order"
	"github.com/narwhal-scheduler/narwhal/pkg/core/scarcity"
	"github.com/narwhal-scheduler/narwhal/pkg/core/tables"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// places checks that what stands in an order stands where it belongs now, and that the
// summaries say what a look at every item says.
func (v *verifier) places(q *Queue) {
	if !v.settled {
		return
	}
	for _, c := range q.Children {
		child := v.OfQueue(c)
		v.places(child)
		if place := child.placed(); child.Links().In() && child.place != place {
			v.Breaks("queue %s stands at %v and belongs at %v", child.Path, child.place, place)
		}
	}
	for _, a := range q.Applications {
		app := v.OfApplication(a)
		if app.Links().In() && (app.sumUp() || app.place != app.placed()) {
			v.Breaks("application %s stands at %v and belongs at %v", app.ID, app.place, app.placed())
		}
		v.summary(string(app.ID), &app.own, ownOf(&app.Queued, func(g *AskGroup) *Summary { return &g.own }))
	}
	for _, leaf := range q.classes {
		asks := 0
		for _, g := range leaf.Groups {
			asks += g.Live
			v.group(g)
		}
		if asks != leaf.Asks {
			v.Breaks("queue %s: a class has %d asks, counted %d", q.Path, asks, leaf.Asks)
		}
	}
	if q.Leaf {
		v.summary(string(q.Path), q.waiting(), slices.Values(ownOfLeaf(q)))
		return
	}
	v.summary(string(q.Path), q.waiting(), ownOf(&q.Queues, func(child *Queue) *Summary { return &child.Own }))
}

// group checks what is noted of a group in an order.
func (v *verifier) group(g *AskGroup) {
	c, own := g.Class, &g.own
	open := !c.Unschedulable
	if g.Links().In() && (own.Top != c.Priority || own.attempts != (g.Leaf.Active && !g.Leaf.listed) ||
		(own.nominated != nil) != (open && c.Nominated) || (own.parked != nil) != (open && !c.Nominated && c.Parked) ||
		(own.Open != nil) != (open && !c.Nominated && !c.Parked) ||
		(own.wanted != nil) != (c.Preempts && g.Application.IsLimited())) {
		v.Breaks("application %s: the summary of a group was stale", g.Application.ID)
	}
}

// ownOf is what the items of an order have themselves.
func ownOf[T order.Item[T]](tree *order.Tree[T], own func(T) *Summary) iter.Seq[*Summary] {
	return func(yield func(*Summary) bool) {
		tree.All(func(item T) bool { return yield(own(item)) })
	}
}

// summary compares a summary with that of a look at every part.
func (v *verifier) summary(of string, kept *Summary, parts iter.Seq[*Summary]) {
	sum := emptySummary
	lists := func(s *Summary) [4]**resources.Amounts {
		return [...]**resources.Amounts{&s.Open, &s.parked, &s.nominated, &s.wanted}
	}
	for part := range parts {
		sum.Top, sum.ready = max(sum.Top, part.Top), max(sum.ready, part.ready)
		sum.untried, sum.attempts = sum.untried || part.untried, sum.attempts || part.attempts
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
	same := sum.Top == kept.Top && sum.ready == kept.ready && sum.untried == kept.untried && sum.attempts == kept.attempts
	for i, l := range lists(kept) {
		all := lists(&sum)[i]
		same = same && (*l == nil) == (*all == nil) && (*l == nil || (*l).Equal(**all))
	}
	if !same {
		v.Breaks("the summary of %s is %+v, and a look at all says %+v", of, *kept, sum)
	}
}

// ranked checks the orders of nodes by their devices, where they are up to date.
func (v *verifier) ranked() {
	d := v.order.Devices
	if d == nil || !v.settled {
		return
	}
	v.scarce()
	for _, ranked := range d.ByAsk {
		amounts, missed := ranked.amounts, ranked.seen != d.dropped+uint64(len(d.changed))
		found := 0
		for _, n := range v.all {
			if missed || !v.order.has(n) || !amounts.FitsIn(n.Room) {
				continue
			}
			found++
			fresh := devices.Node{Capacity: n.Capacity, Free: n.Free, Tables: d.tablesOf(n), Room: v.order.of(n).tie.score}
			if is := ranked.bySlot[n.Slot]; is == nil || is.node != n || is.class != d.classOf(n) || is.tie.score != d.policy.Cost(&fresh, amounts) {
				v.Breaks("node %s: what %s wastes there is stale", n.ID, v.Kinds.Format(amounts))
			}
		}
		if missed {
			continue
		}
		if v.walked(ranked); found != ranked.len() {
			v.Breaks("%d nodes have room for %s, %d are in order", found, v.Kinds.Format(amounts), ranked.len())
		}
	}
}

// walked checks that a walk over all nodes of an order visits each of them, as they compare.
func (v *verifier) walked(ranked *rankedNodes) {
	var last *rankedNode
	visited := 0
	for n := range ranked.all {
		is := ranked.bySlot[n.Slot]
		if last != nil && ranked.compare(last, is) >= 0 {
			v.Breaks("node %s is shown for %s after %s, and stands before it", n.ID, v.Kinds.Format(ranked.amounts), last.node.ID)
		}
		last = is
		visited++
	}
	if visited != ranked.len() {
		v.Breaks("%d of %d nodes in order for %s are shown", visited, ranked.len(), v.Kinds.Format(ranked.amounts))
	}
}

// scarce checks what is known of what is scarce.
func (v *verifier) scarce() {
	s := v.order.scarce()
	if s == nil {
		return
	}
	for _, n := range v.all {
		at := tables.At(&s.places, n.Slot)
		if at.of != n || !s.Counts(&at.Place, n.Capacity, v.order.freeOn(n)) {
			v.Breaks("node %s: what is free of its class counts it with something else", n.ID)
		}
	}
	places := func(yield func(*scarcity.Place) bool) {
		for i := range s.places {
			if s.places[i].of != nil && !yield(&s.places[i].Place) {
				return
			}
		}
	}
	waits := func(yield func(*scarcity.Profile) bool) {
		for _, p := range s.waits {
			if p != nil && !yield(p) {
				return
			}
		}
	}
	if err := s.Verify(places, waits); err != nil {
		v.Breaks("%v", err)
	}
}
