package preemption

import (
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/backlog"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/question"
	"github.com/narwhal-scheduler/narwhal/pkg/core/timers"
)

// Hints tell the resource manager which asks only more nodes could help, once for
// each ask.
type Hints struct {
	*backlog.Backlog
	Refused *question.Refused
	timer   timers.Timer
}

// hintDelay is how long an ask that fits no node waits before the resource
// manager hears of it.
const hintDelay = time.Second

// Later has the resource manager told, after a while, of the asks that only more
// nodes could help, if there may be some of which it was not.
func (h *Hints) Later() {
	if h.TakeUnhinted() && !h.timer.Set() {
		h.Timers.Set(&h.timer, h.Now.Add(hintDelay), timers.Due{What: timers.Hints})
	}
}

// Wake tells of every ask that fits no node now, in order, as far as the quotas would
// let it run if there were nodes: what is told of altogether fits what is left of
// every quota. It is linear in the groups of asks, happens at most once a second,
// and tells no more at a time than a batch places.
func (h *Hints) Wake() {
	left := h.Options.BatchMax
	if !h.inQueue(h.OfQueue(h.Root), &left) || !h.outOfOrder(&left) {
		h.Timers.Set(&h.timer, h.Now.Add(time.Nanosecond), timers.Due{What: timers.Hints})
	}
}

// outOfOrder tells of the asks that stand in no order, since the resource manager refuses them on all nodes with
// room, or since their application backs off. It reports whether all were told of.
func (h *Hints) outOfOrder(left *int) bool {
	for c := range h.Parked.All {
		if !h.inClass(c, left) {
			return false
		}
	}
	for _, c := range h.Refused.Listed() {
		if !h.inClass(c, left) {
			return false
		}
	}
	return true
}

func (h *Hints) inClass(c *backlog.Class, left *int) bool {
	for _, g := range c.Groups {
		if c.FitsNowhere() && g.Hinted < g.Live && !h.inGroup(g, left) {
			return false
		}
	}
	return true
}

// inQueue tells of the asks below a queue, and reports whether all were told of.
func (h *Hints) inQueue(q *backlog.Queue, left *int) bool {
	for child := range q.Queues.All {
		if !h.inQueue(child, left) {
			return false
		}
	}
	for l := range q.Lines.Tried {
		for app := range l.Apps.All {
			for g := range app.Queued.All {
				if g.Class.Parked && g.Hinted < g.Live && !h.inGroup(g, left) {
					return false
				}
			}
		}
	}
	return true
}

// inGroup tells of the asks of a group, and reports whether all were told of.
func (h *Hints) inGroup(g *backlog.AskGroup, left *int) bool {
	for r := range g.All {
		switch {
		case r.IsHinted() || r.Nominated() != nil:
		case *left == 0:
			return false
		case !h.TellOf(r):
			h.LacksQuota()
			return true // the quotas have no room for others of the class
		default:
			*left--
		}
	}
	return true
}

// TellOf tells of an ask that no node can take it, unless that was told. It reports
// whether the quotas would let it run.
func (h *Hints) TellOf(r *ledger.Request) bool {
	if r.IsHinted() {
		return true
	}
	r.Waiting()
	if r.HeldBack() != nil {
		return false
	}
	for _, account := range r.App.Accounts() {
		for ; account != nil; account = account.Parent {
			if !account.Max.Holds(r.Amounts, account.Used.Amounts, account.Hinted.Amounts, r.Amounts) {
				return false
			}
		}
	}
	h.Hint(r)
	h.Tell(&api.Unschedulable{Allocation: r.Allocation, Why: h.WaitsFor(r)})
	return true
}
