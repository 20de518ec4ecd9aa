package core

import (
	"cmp"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/order"
	"github.com/narwhal-scheduler/narwhal/pkg/core/timers"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A backlog is what waits: asks by class, in the orders in which they are tried. It
// reads the ledger and decides which ask is next, not where it is placed.
//
//	classes.asks = asks of all applications
//	parked holds the classes that are parked, and only those with asks
type backlog struct {
	ledger.Ledger
	timers  timers.Queue
	classes classTable
	parked  order.Tree[*class]
	rooms   rooms
	// cluster is the capacity of all nodes when everything was put in order last.
	cluster resources.Amounts
	// plain says that a priority is the same seen from any queue.
	plain bool
	work  api.Work
	// boundless is what is left of quotas above the root.
	boundless     headroom
	asks          []waitingAsk                // by the slots of asks
	waitingApps   []*waitingApplication       // by the slots of applications
	waitingQueues []*waitingQueue             // by those of queues
	searching     search                      // memory
	blocked       map[*ledger.Account][]*line // lines that an account holds back
	stale         []*line                     // in which a search found that limits hold everything back
}

func newBacklog(options api.Options) backlog {
	return backlog{Ledger: ledger.NewLedger(options), classes: classTable{known: map[string]*class{}}, asks: make([]waitingAsk, 1), blocked: map[*ledger.Account][]*line{}}
}

// classOf finds the class of an ask, as it is now. Constraints are those of its
// class before, or of a new ask.
func (b *backlog) classNow(r *ledger.Request, constraints string) *class {
	return b.classes.of(classTraits{
		amounts: r.Amounts, priority: r.Priority, importance: b.importance(r),
		preempts: b.Settled && b.wantsRoom(r), nominated: r.Nominated() != nil, constraints: constraints,
		whole: r.StartsWith != nil && r.StartsTogether(),
	})
}

// wantsRoom reports whether evictions may make room for an ask that may run
// anywhere.
func (b *backlog) wantsRoom(r *ledger.Request) bool {
	return !b.Preemption.Disabled && r.Required == "" && !r.NeverPreempts() && r.Nominated() == nil &&
		!r.Wait.Paused()
}

// reclassify gives an ask the class that it has now.
func (b *backlog) reclassify(r *ledger.Request) {
	b.reclass(r, b.classNow(r, b.classOf(r).constraints))
}

// enqueue books an ask of a class and puts it into the order of its application,
// unless it is delayed or bound to one node.
func (b *backlog) enqueue(r *ledger.Request, c *class) {
	b.AddPending(r)
	b.setClass(r, c)
	r.Allocation.Amounts = c.amounts // equal, and shared by all of the class
	if r.Required == "" && (r.Wait == nil || !r.Wait.Delayed && !r.Wait.Held) {
		b.insert(r)
	}
}

// orderAgain puts an ask in order that was held back, unless its binding failed just now.
func (b *backlog) orderAgain(r *ledger.Request) {
	if !r.IsHeld() {
		return
	}
	w := r.Wait
	if w.Held = false; !w.Delayed {
		w.Reason, w.Detail = api.NotTried, ""
		b.insert(r)
	}
}

// withdraw takes an ask off the books and out of the order.
func (b *backlog) withdraw(r *ledger.Request) {
	if r.Wait != nil && r.Wait.Hinted {
		b.unhint(r)
	}
	if b.groupOf(r) != nil {
		b.extract(r)
	}
	c := b.classOf(r)
	b.asks[r.Slot] = waitingAsk{}
	b.SubPending(r)
	b.release(c)
}

// reclass gives an ask another class.
func (b *backlog) reclass(r *ledger.Request, c *class) {
	before := b.classOf(r)
	if before == c {
		return
	}
	ordered := b.groupOf(r) != nil
	if ordered {
		b.extract(r)
	}
	b.setClass(r, c)
	if r.Reserved() {
		if before.preempts != c.preempts {
			b.Changes.Node(r.Claim().Node, ledger.NodeYields) // it gives way to asks of its importance if room may be made for it
		}
		if !r.Wait.Claim.Whole {
			before.slots.held--
			c.slots.held++
			b.SlotsDue = true
		}
	}
	if before.asLike(c) {
		c.refused, c.simulations = cmp.Or(c.refused, before.refused), cmp.Or(c.simulations, before.simulations)
	}
	b.release(before)
	if ordered {
		b.insert(r)
	}
	b.Changes.Application(r.App, 0)
}

// release counts one ask less of a class.
func (b *backlog) release(c *class) {
	c.asks--
	if c.asks == 0 {
		b.unpark(c)
		c.since, c.slots.tried = time.Time{}, nil
		b.classes.release(c)
	}
}

// learn notes that the reasons why asks wait may have changed.
func (b *backlog) learn() {
	b.Stamp++
	b.rooms.learnt = b.Stamp
}

// park remembers that no open node has room for a class.
func (b *backlog) park(c *class) {
	c.checked = b.rooms.epoch
	if c.parked {
		return
	}
	b.learn()
	c.parked = true
	b.parked.Insert(c)
	b.settleClass(c)
}

// unpark lets a class be tried on every node again.
func (b *backlog) unpark(c *class) {
	if !c.parked {
		return
	}
	b.learn()
	c.parked = false
	b.parked.Remove(c)
	b.settleClass(c)
}

// fitting are the parked classes that fit on a node with new room.
func (b *backlog) fitting(room resources.Amounts) []*class {
	var found []*class
	var below func(*class)
	below = func(top *class) {
		if top == nil || !top.below.FitsIn(room) {
			return
		}
		below(top.links.Left)
		if b.rooms.fit(top) {
			found = append(found, top)
		}
		below(top.links.Right)
	}
	below(b.parked.Root())
	return found
}

// settleClass brings the orders up to date with what is known of a class.
func (b *backlog) settleClass(c *class) {
	for _, g := range c.groups {
		b.settleGroup(g)
		b.Changes.Application(g.application.Application, 0)
	}
}

// settleGroup brings the place of a group in the order of its application up to date.
func (b *backlog) settleGroup(g *askGroup) {
	c, first := g.class, g.first()
	wanted := first != nil && g.isTried()
	own := emptySummary
	if wanted {
		own.top = c.priority
		own.attempts = g.leaf.active && !g.leaf.listed
		if g.leaf.active || !c.parked && !c.unschedulable {
			own.ready = c.priority
		}
		if c.preempts && g.application.IsLimited() {
			own.wanted = &c.amounts
		}
		switch {
		case c.unschedulable:
		case c.nominated:
			own.nominated, own.untried = &c.amounts, !c.parked
		case c.parked:
			own.parked = &c.amounts
		default:
			own.open = &c.amounts
		}
	}
	g.application.queued.Settle(g, wanted, first != g.place, own != g.own, func() { g.own, g.place = own, first })
}

// importance is the priority of an ask as the root sees it. It orders asks of all queues.
func (b *backlog) importance(r *ledger.Request) int32 {
	if b.plain {
		return r.Priority
	}
	return r.App.Queue.AsRootSees(r.Priority)
}

// dueAsk is what the timer of an ask says: one of its moments has come.
const dueAsk uint8 = 0

// setTimer has an ask looked at when the first of its times has come.
func (b *backlog) setTimer(r *ledger.Request) {
	w := r.Waiting()
	first := w.Due.First()
	if first.IsZero() {
		b.timers.Cancel(&w.Timer)
		return
	}
	b.timers.Set(&w.Timer, first, timers.Due{What: dueAsk, Of: r})
}

// unhint takes an ask that no longer waits off the amounts that were told of. The
// resource manager was told of it.
func (b *backlog) unhint(r *ledger.Request) {
	for _, account := range r.App.Accounts() {
		account.Unhint(r.Amounts)
	}
}

// separate gives an ask a class of its own if nothing is known of what asks have in
// common.
func (b *backlog) separate(r *ledger.Request) {
	if b.classOf(r).constraints == "" {
		b.reclass(r, b.classNow(r, ownClass+string(r.Key)))
	}
}
