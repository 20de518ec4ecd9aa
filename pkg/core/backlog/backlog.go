package backlog

import (
	"cmp"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/order"
	"github.com/narwhal-scheduler/narwhal/pkg/core/tables"
	"github.com/narwhal-scheduler/narwhal/pkg/core/timers"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A Backlog is what waits: asks by class, in the orders in which they are tried. It
// reads the ledger and decides which ask is next, not where it is placed.
//
//	the asks of all Classes = the asks of all applications
//	Parked holds the classes that are parked, and only those with asks
type Backlog struct {
	ledger.Ledger
	Timers  timers.Queue
	Classes classTable
	Parked  order.Tree[*Class]
	Rooms   rooms
	// Cluster is the capacity of all nodes when everything was put in order last.
	cluster resources.Amounts
	// Plain says that a priority is the same seen from any queue.
	Plain bool
	Work  *api.Work // counts what scheduling looks at, in all parts
	// boundless is what is left of quotas above the root.
	boundless     headroom
	asks          []waitingAsk // by the slots of asks
	moments       tables.Table[*ledger.Request, *moments]
	waitingApps   []*Application // by the slots of applications
	waitingQueues []*Queue       // by those of queues
	searching     search         // memory
	hintsToCome
	blocked map[*ledger.Account][]*line // lines that an account holds back
	stale   []*line                     // in which a search found that limits hold everything back
}

// hintsToCome are what the resource manager is to hear of asks that only more nodes help.
type hintsToCome struct {
	unhinted     bool // there may be asks of which it has not heard
	withoutQuota bool // of some it was not told since quotas would not let them run
}

// MayHint notes that there may be asks of which the resource manager has not heard.
func (h *hintsToCome) MayHint() { h.unhinted = true }

// TakeUnhinted reports whether there may be.
func (h *hintsToCome) TakeUnhinted() (may bool) {
	may, h.unhinted = h.unhinted, false
	return may
}

// LacksQuota notes that the resource manager was not told of some asks, since quotas would not let them run.
func (h *hintsToCome) LacksQuota() { h.withoutQuota = true }

// QuotaFreed notes that quotas may let more asks run.
func (h *hintsToCome) QuotaFreed() {
	h.unhinted, h.withoutQuota = h.unhinted || h.withoutQuota, false
}

// NewBacklog makes a backlog of nothing, with a ledger.
func NewBacklog(options api.Options) Backlog {
	return Backlog{Ledger: ledger.NewLedger(options), Work: &api.Work{}, Classes: classTable{Known: map[string]*Class{}}, asks: make([]waitingAsk, 1), blocked: map[*ledger.Account][]*line{}}
}

// ClassNow finds the class of an ask, as it is now. Constraints are those of its
// class before, or of a new ask.
func (b *Backlog) ClassNow(r *ledger.Request, constraints string) *Class {
	return b.Classes.Of(ClassTraits{
		Amounts: r.Amounts, Priority: r.Priority, Importance: b.Importance(r),
		Preempts: b.Settled && b.WantsRoom(r), Nominated: r.Nominated() != nil, Constraints: constraints,
		whole: r.StartsWith != nil && r.StartsTogether(),
	})
}

// WantsRoom reports whether evictions may make room for an ask that may run
// anywhere.
func (b *Backlog) WantsRoom(r *ledger.Request) bool {
	return !b.Preemption.Disabled && r.Required == "" && !r.NeverPreempts() && r.Nominated() == nil &&
		!r.Wait.Paused() && !r.IsSurplus()
}

// Reclassify gives an ask the class that it has now.
func (b *Backlog) Reclassify(r *ledger.Request) {
	b.Reclass(r, b.ClassNow(r, b.ClassOf(r).Constraints))
}

// Enqueue books an ask of a class and puts it into the order of its application,
// unless it is delayed or bound to one node.
func (b *Backlog) Enqueue(r *ledger.Request, c *Class) {
	b.AddPending(r)
	b.setClass(r, c)
	r.Allocation.Amounts = c.Amounts // equal, and shared by all of the class
	if r.Required == "" && (r.Wait == nil || !r.Wait.Delayed && !r.Wait.Held) {
		b.Insert(r)
	}
}

// OrderAgain puts an ask in order that was held back, unless its binding failed just now.
func (b *Backlog) OrderAgain(r *ledger.Request) {
	if r.IsHeld() && r.Wait.OrderAgain() {
		b.Insert(r)
	}
}

// Withdraw takes an ask off the books and out of the order.
func (b *Backlog) Withdraw(r *ledger.Request) {
	if b.GroupOf(r) != nil {
		b.Extract(r)
	}
	if r.IsHinted() {
		b.QuotaFreed()
		r.Unhint()
	}
	b.forgetMoments(r)
	c := b.ClassOf(r)
	b.asks[r.Slot] = waitingAsk{}
	b.SubPending(r)
	b.release(c)
}

// Reclass gives an ask another class.
func (b *Backlog) Reclass(r *ledger.Request, c *Class) {
	before := b.ClassOf(r)
	if before == c {
		return
	}
	ordered := b.GroupOf(r) != nil
	if ordered {
		b.Extract(r)
	}
	b.setClass(r, c)
	if r.Reserved() {
		if before.Preempts != c.Preempts {
			b.Changes.Node(r.Claim().Node, ledger.NodeYields) // it gives way to asks of its importance if room may be made for it
		}
		if !r.Wait.Claim.Whole {
			before.Claims--
			c.Claims++
			b.MayHelpSlots()
		}
	}
	if before.asLike(c) {
		c.Refused, c.Simulations = cmp.Or(c.Refused, before.Refused), cmp.Or(c.Simulations, before.Simulations)
	}
	b.release(before)
	if ordered {
		b.Insert(r)
	}
	b.Changes.Application(r.App, 0)
}

// release counts one ask less of a class.
func (b *Backlog) release(c *Class) {
	c.Asks--
	if c.Asks == 0 {
		b.Unpark(c)
		b.Classes.release(c)
	}
}

// CountClaim counts a claim of an ask that takes a slot, or one less.
func (b *Backlog) CountClaim(r *ledger.Request, by int) { b.ClassOf(r).Claims += by }

// AwaitAsk has slots looked at again when another ask of a class stands in an order, and EndAwait at once, if that
// was waited for.
func (b *Backlog) AwaitAsk(c *Class) { c.awaitsAsk = true }

// EndAwait is the opposite of AwaitAsk.
func (b *Backlog) EndAwait(c *Class) {
	if c.awaitsAsk {
		c.awaitsAsk = false
		b.MayHelpSlots()
	}
}

// Dequeue takes a class out of the order that is refused on all nodes with room. With an ask, its first, questions are
// to go on.
func (b *Backlog) Dequeue(c *Class, paused *ledger.Request) {
	c.Unschedulable, c.Paused = true, cmp.Or(paused, c.Paused)
	b.Learn()
	b.SettleClass(c)
}

// PutBack puts a class into the order again, to be tried on every node that its refusals do not name.
func (b *Backlog) PutBack(c *Class) {
	c.Unschedulable, c.Paused = false, nil
	b.Unpark(c)
	b.Learn()
	b.SettleClass(c)
}

// CannotRun notes why no node can hold any ask of a class; empty if one can.
func (b *Backlog) CannotRun(c *Class, why string) {
	if c.Impossible == why {
		return
	}
	c.Impossible = why
	b.Learn()
	for _, g := range c.Groups {
		g.Application.DropView()
	}
}

// SeePriorities says whether a priority is the same seen from any queue.
func (b *Backlog) SeePriorities(plain bool) { b.Plain = plain }

// Learn notes that the reasons why asks wait may have changed.
func (b *Backlog) Learn() {
	b.Rooms.Learnt = b.NextStamp()
}

// Park remembers that no open node has room for a class.
func (b *Backlog) Park(c *Class) {
	c.checked = b.Rooms.epoch
	if c.Parked {
		return
	}
	b.Learn()
	c.Parked = true
	b.MayHint()
	b.Parked.Insert(c)
	b.SettleClass(c)
}

// Unpark lets a class be tried on every node again.
func (b *Backlog) Unpark(c *Class) {
	if !c.Parked {
		return
	}
	b.Learn()
	c.Parked = false
	b.Parked.Remove(c)
	b.SettleClass(c)
}

// Fitting are the parked classes that fit on a node with new room.
func (b *Backlog) Fitting(room resources.Amounts) []*Class {
	var found []*Class
	var below func(*Class)
	below = func(top *Class) {
		if top == nil || !top.below.FitsIn(room) {
			return
		}
		below(top.links.Left)
		if b.Rooms.Fit(top) {
			found = append(found, top)
		}
		below(top.links.Right)
	}
	below(b.Parked.Root())
	return found
}

// SettleClass brings the orders up to date with what is known of a class.
func (b *Backlog) SettleClass(c *Class) {
	for _, g := range c.Groups {
		b.settleGroup(g)
		b.Changes.Application(g.Application.Application, 0)
	}
}

// settleGroup brings the place of a group in the order of its application up to date.
func (b *Backlog) settleGroup(g *AskGroup) {
	c, first := g.Class, g.First()
	wanted := first != nil && g.isTried()
	own := emptySummary
	if wanted {
		own.Top = c.Priority
		own.attempts = g.Leaf.Active && !g.Leaf.listed
		if g.Leaf.Active || !c.Parked && !c.Unschedulable {
			own.ready = c.Priority
		}
		if c.Preempts && g.Application.IsLimited() {
			own.wanted = &c.Amounts
		}
		switch {
		case c.Unschedulable:
		case c.Nominated:
			own.nominated, own.untried = &c.Amounts, !c.Parked
		case c.Parked:
			own.parked = &c.Amounts
		default:
			own.Open = &c.Amounts
		}
	}
	g.Application.Queued.Settle(g, wanted, first != g.place, own != g.own, func() { g.own, g.place = own, first })
}

// Importance is the priority of an ask as the root sees it. It orders asks of all queues.
func (b *Backlog) Importance(r *ledger.Request) int32 {
	if b.Plain {
		return r.Priority
	}
	return r.App.Queue.AsRootSees(r.Priority)
}

// Hint notes that the resource manager was told that an ask fits on no node.
func (b *Backlog) Hint(r *ledger.Request) {
	r.Hint()
	if g := b.GroupOf(r); g != nil {
		g.Hinted++
	}
}

// Separate gives an ask a class of its own if nothing is known of what asks have in
// common.
func (b *Backlog) Separate(r *ledger.Request) {
	if b.ClassOf(r).Constraints == "" {
		b.Reclass(r, b.ClassNow(r, OwnClass+string(r.Key)))
	}
}
