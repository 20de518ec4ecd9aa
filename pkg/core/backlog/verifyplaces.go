package backlog

import (
	"iter"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/devices"
	"github.com/narwhal-scheduler/narwhal/pkg/core/order"
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
		if place := child.Placed(); child.Links().In() && child.Place != place {
			v.Breaks("queue %s stands at %v and belongs at %v", child.Path, child.Place, place)
		}
	}
	for _, a := range q.Applications {
		app := v.OfApplication(a)
		if app.Links().In() && (app.SumUp() || app.Place != app.Placed()) {
			v.Breaks("application %s stands at %v and belongs at %v", app.ID, app.Place, app.Placed())
		}
		v.summary(string(app.ID), &app.Own, ownOf(&app.Queued, func(g *AskGroup) *Summary { return &g.Own }))
	}
	for _, leaf := range q.Classes {
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
		v.summary(string(q.Path), q.Waiting(), slices.Values(ownOfLeaf(q)))
		return
	}
	v.summary(string(q.Path), q.Waiting(), ownOf(&q.Queues, func(child *Queue) *Summary { return &child.Own }))
}

// group checks what is noted of a group in an order.
func (v *verifier) group(g *AskGroup) {
	c, own := g.Class, &g.Own
	open := !c.Unschedulable
	if g.Links().In() && (own.Top != c.Priority || own.Attempts != (g.Leaf.Active && !g.Leaf.Listed) ||
		(own.Nominated != nil) != (open && c.Nominated) || (own.Parked != nil) != (open && !c.Nominated && c.Parked) ||
		(own.Open != nil) != (open && !c.Nominated && !c.Parked) ||
		(own.Wanted != nil) != (c.Preempts && g.Application.IsLimited())) {
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
	sum := EmptySummary
	lists := func(s *Summary) [4]**resources.Amounts {
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
		v.Breaks("the summary of %s is %+v, and a look at all says %+v", of, *kept, sum)
	}
}

// ranked checks the orders of nodes by their devices, where they are up to date.
func (v *verifier) ranked() {
	d := v.order.Devices
	if d == nil || !v.settled {
		return
	}
	for _, ranked := range d.ByAsk {
		amounts, missed := ranked.Amounts, ranked.Seen != d.Dropped+uint64(len(d.Changed))
		found := 0
		for _, n := range v.all {
			if missed || !v.order.Has(n) || !amounts.FitsIn(n.Room) {
				continue
			}
			found++
			fresh := devices.Node{Capacity: n.Capacity, Free: n.Free, Tables: d.TablesOf(n), Room: v.order.Of(n).Score}
			if is := ranked.BySlot[n.Slot]; is == nil || is.Node != n || is.Cost != d.Policy.Cost(&fresh, amounts) {
				v.Breaks("node %s: what %s wastes there is stale", n.ID, v.Kinds.Format(amounts))
			}
		}
		if !missed && found != ranked.Tree.Len() {
			v.Breaks("%d nodes have room for %s, %d are in order", found, v.Kinds.Format(amounts), ranked.Tree.Len())
		}
	}
}
