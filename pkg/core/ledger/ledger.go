package ledger

import (
	"math"

	"github.com/google/btree"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/guard"
	"github.com/narwhal-scheduler/narwhal/pkg/core/tables"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A Ledger is what runs where and which queues pay for it: queues, applications, nodes
// and requests, with every allocation booked on its node and on the accounts of its
// queue. It records what changes and decides nothing. Verify checks its laws.
type Ledger struct {
	step
	Options api.Options
	Kinds   *resources.Kinds
	Name    string
	Config  api.Config
	// Preemption is that of the configuration, with what is not configured filled in.
	Preemption api.PreemptionConfig

	Root         *Queue
	Applications *btree.BTreeG[*Application]
	Nodes        *btree.BTreeG[*Node] // by ID
	nodesByID    map[api.NodeID]*Node // the same, since every placed allocation is looked up by its node
	Limits       limitAccounts
	capped       bool // the number of applications of some queue is limited
	Requests     map[api.AllocationKey]*Request
	Together     map[string]*Group // that have members
	done         map[api.AllocationKey]*doneMember
	doneOf       map[*Application][]api.AllocationKey // the same by application
	Holder       *Group                               // for which room is kept; nil if there is none
	Regrouped    uint64                               // counts changes of how many members of any group stay, or must run
	unplaced     map[api.NodeID][]*Request            // foreign allocations, by nodes that are not known
	UnplacedView []*api.Allocation                    // the same by key; nil if that is not known
	Absent       map[api.NodeID]*AskSet               // asks whose required node is not known
	Unknown      map[string]*AskSet                   // asks by the kinds that they want and no node has

	Capacity    resources.Sum // of all nodes
	Occupied    resources.Sum // by foreign allocations on nodes
	Running     tables.Counts // own allocations
	Claims      []*Request    // asks for which anything is kept, each at its place
	QuotaClaims []*Request    // those of them for which quota is kept, in order
	Idle        int           // how many of them nothing is evicted for
	Holds       uint64        // counts changes of what nodes hold when all has left that may leave
	SlotsDue    bool          // something has changed that may help a class to a slot
	Importances tables.Counts // of these
	arrivals    uint64        // requests that were ever registered
	Waiting     int           // asks
	Stamp       uint64        // counts changes that may change why asks wait
	Changes     changeSet

	// How often any node has changed, was updated by a command, or freed, when that was last reacted to.
	NodesChanged, NodesUpdated, NodesFreed uint64
	Settled                                bool // evictions may begin, see settling

	// The numbers of objects, by which others keep tables. Those of asks are above zero.
	nodeSlots, ApplicationSlots, QueueSlots, askSlots, groupSlots tables.Numbers

	// likeApplication is what look-ups compare with, kept so that a look-up allocates
	// nothing.
	likeApplication Application
}

// NewLedger makes a ledger of nothing. Its root queue comes with the first configuration.
func NewLedger(options api.Options) Ledger {
	return Ledger{
		Options:      options,
		askSlots:     tables.From(1),
		Kinds:        options.Kinds,
		Requests:     map[api.AllocationKey]*Request{},
		Together:     map[string]*Group{},
		Limits:       limitAccounts{},
		unplaced:     map[api.NodeID][]*Request{},
		Settled:      options.SettleDelay <= 0,
		Absent:       map[api.NodeID]*AskSet{},
		Unknown:      map[string]*AskSet{},
		Nodes:        btree.NewG(32, nodeOrder),
		nodesByID:    map[api.NodeID]*Node{},
		Applications: btree.NewG(32, applicationOrder),
	}
}

// FindApplication is the application of an ID; nil if none is known.
func (l *Ledger) FindApplication(id api.ApplicationID) *Application {
	l.likeApplication.ID = id
	app, _ := l.Applications.Get(&l.likeApplication)
	return app
}

// ApplicationsFrom visits the applications by ID, from one on.
func (l *Ledger) ApplicationsFrom(id api.ApplicationID, visit func(*Application) bool) {
	l.likeApplication.ID = id
	l.Applications.AscendGreaterOrEqual(&l.likeApplication, visit)
}

// FindNode is the node of an ID; nil if none is known.
func (l *Ledger) FindNode(id api.NodeID) *Node { return l.nodesByID[id] }

// AllNodes visits the nodes by ID.
func (l *Ledger) AllNodes(yield func(*Node) bool) { l.Nodes.Ascend(yield) }

// Register makes a request known that is in no list.
func (l *Ledger) Register(a *api.Allocation, app *Application) *Request {
	l.arrivals++
	if len(l.done) > 0 {
		l.EndDone(a.Key)
	}
	r := &Request{Allocation: a, App: app, Number: l.arrivals}
	l.Requests[a.Key] = r
	if app != nil && a.TaskGroup != "" {
		l.enroll(r)
	}
	if app != nil && (a.TaskGroup != "" || a.Tags[api.TagQuorum] != "") {
		l.EnterGroup(r)
	}
	return r
}

// Forget drops a request that is in no list any more.
func (l *Ledger) Forget(r *Request) {
	delete(l.Requests, r.Key)
	if r.StartsWith != nil {
		l.LeaveGroup(r)
	}
}

// Book charges an allocation to its node and to the accounts of its queue.
func (l *Ledger) Book(r *Request, n *Node) {
	app := r.App
	l.Stamp++
	l.charge(r, n)
	if !r.Eviction.isNodeOnly() {
		chargeAccounts(r, l.Stamp)
	}
	l.SetRan(app, true)
	l.Running.Add(r.Priority)
	l.SlotsDue = app.Queue.addRunning(r) || l.SlotsDue
	app.Allocations = addRequest(app.Allocations, r, &r.at)
	if r.Placeholder {
		l.seat(r, 1)
	}
	if r.StartsWith != nil {
		l.countRunning(r, 1)
	}
	l.Changes.Node(n, 0)
	l.Changes.Application(app, 0)
}

// Unbook takes an allocation off the books.
func (l *Ledger) Unbook(r *Request) {
	app, n := r.App, r.RunsOn
	l.Stamp++
	if r.Placeholder {
		l.seat(r, -1)
	}
	if r.StartsWith != nil {
		l.countRunning(r, -1)
	}
	l.discharge(r)
	if !r.Eviction.isNodeOnly() {
		dischargeAccounts(r, l.Stamp)
		l.Changes.freeLimits(app)
	}
	l.Running.Remove(r.Priority)
	app.Queue.removeRunning(r)
	l.SlotsDue = l.SlotsDue || len(app.Queue.Running) == 0
	app.Allocations = tables.SwapRemove(app.Allocations, r.at, atApplication)
	l.Changes.Node(n, NodeFreed|NodeRetry)
	l.Changes.Application(app, QuotaFreed)
}

// charge books a request on a node, and discharge takes it off again.
func (l *Ledger) charge(r *Request, n *Node) {
	if !r.leaves() {
		l.Holds, l.SlotsDue = l.Holds+1, true
	}
	n.charge(r)
	if some := l.assumed(r); some != nil {
		n.Details.change().assumed.Add(some)
	}
}

// assumed is what a request uses beside what it asks for, as the order of nodes counts.
func (l *Ledger) assumed(r *Request) (some resources.Amounts) {
	for i, least := range l.Options.Least {
		if kind := resources.Kind(i); least > 0 && r.Amounts.Of(kind) == 0 {
			some.Set(kind, least)
		}
	}
	return some
}

func (l *Ledger) discharge(r *Request) {
	if !r.leaves() {
		l.Holds, l.SlotsDue = l.Holds+1, true
	}
	if some := l.assumed(r); some != nil {
		r.RunsOn.Details.change().assumed.Sub(some)
	}
	r.RunsOn.discharge(r)
}

// AddPending books an ask, and subPending takes it off the books.
func (l *Ledger) AddPending(r *Request) {
	app := r.App
	l.Waiting++
	r.Slot = l.askSlots.Take()
	app.Asks = addRequest(app.Asks, r, &r.at)
	app.Pending.Add(r.Amounts)
	if len(r.Unknown) > 0 {
		l.awaitKinds(r)
	}
	app.Queue.addPending(r.Amounts)
	l.Changes.Application(app, 0)
}

// SubPending is the opposite of AddPending.
func (l *Ledger) SubPending(r *Request) {
	app := r.App
	l.Waiting--
	l.askSlots.GiveBack(r.Slot)
	r.Slot = 0
	app.Asks = tables.SwapRemove(app.Asks, r.at, atApplication)
	app.Pending.Sub(r.Amounts)
	if len(r.Unknown) > 0 {
		l.forgetKinds(r)
	}
	app.Queue.subPending(r.Amounts)
	l.Changes.Application(app, 0)
}

// SetEviction sets whether and how an allocation is evicted, and what is counted
// of it.
func (l *Ledger) SetEviction(r *Request, e *Eviction) {
	if r.RunsOn == nil { // on an unknown node
		r.Eviction = e
		return
	}
	r.RunsOn.countEviction(r, -1)
	if !r.Foreign() {
		for _, account := range r.App.Accounts() {
			account.subEnding(r)
		}
	}
	if !r.Foreign() && (r.Eviction == nil) != (e == nil) {
		more := 1
		if e != nil {
			more = -1
		}
		l.countStaying(r, more)
	}
	r.Eviction = e
	r.RunsOn.countEviction(r, 1)
	if e == nil && !r.Foreign() {
		r.RunsOn.Weakest.consider(r)
	} else if r.RunsOn.Weakest.Is == r {
		r.RunsOn.findWeakest()
	}
	if !r.Foreign() {
		for _, account := range r.App.Accounts() {
			account.addEnding(r)
		}
	}
	if r.Placeholder {
		l.offer(r, true)
	}
	r.RunsOn.Revision++
	l.Changes.Node(r.RunsOn, 0)
	if !r.Foreign() {
		r.App.Queue.Unview()
	}
}

// WithoutRoom is the topmost queue on the way to the root whose quota has no
// room for the ask.
func (r *Request) WithoutRoom() *Queue {
	var found *Queue
	for q := r.App.Queue; q != nil; q = q.Parent {
		if !q.hasRoomFor(r) {
			found = q
		}
	}
	return found
}

// hasRoomFor reports whether this account alone has quota for an ask. Of one for which quota is
// kept, evictions for equal asks are not waited for, but those for more important ones are.
func (a *Account) hasRoomFor(r *Request) bool {
	importance := r.Importance
	if !r.KeepsQuota() {
		return a.HasRoom(r.Amounts, importance)
	}
	return a.Max.Holds(r.Amounts, a.Used.Amounts, a.Nominated.Amounts) ||
		importance < math.MaxInt32 && a.holds(r.Amounts, importance+1, r.Amounts) || importance == math.MaxInt32 && a.Max.Room(a.Used.Amounts, r.Amounts)
}

// MayTake reports whether an ask may take the place of an allocation by their
// priorities.
func (l *Ledger) MayTake(ask, allocation int32) bool {
	return ask > allocation || ask == allocation && l.Preemption.Priority == api.EqualToo
}

// SetNodeOnly has what is overdue charged to its node only, or to the accounts of its queue again.
func (l *Ledger) SetNodeOnly(r *Request, only bool) {
	l.Stamp++
	if only {
		dischargeAccounts(r, l.Stamp)
		r.Eviction.NodeOnly = true
		l.Changes.freeLimits(r.App)
		l.Changes.Application(r.App, QuotaFreed)
	} else {
		r.Eviction.NodeOnly = false
		chargeAccounts(r, l.Stamp)
		r.App.AllowExcess()
		l.Changes.Application(r.App, QuotaBooked)
	}
	r.RunsOn.View = nil
}

// CountOn has the room counted on of an allocation whose end was far off.
func (l *Ledger) CountOn(r *Request) {
	near := *r.Eviction
	near.Late = false
	l.SetEviction(r, &near)
}

// CountOverdue has the room not counted on any more of an allocation that did not end in time. The more of them there
// are on its node, the longer they keep others from it.
func (l *Ledger) CountOverdue(r *Request) {
	late := *r.Eviction
	late.Overdue = true
	count, _ := r.RunsOn.Overdue("")
	late.Guard = guard.Guard{Times: count}
	l.SetEviction(r, &late)
}

// Settle lets evictions begin.
func (l *Ledger) Settle() { l.Settled = true }

// NextStamp counts a change that may change why asks wait.
func (l *Ledger) NextStamp() uint64 {
	l.Stamp++
	return l.Stamp
}

// MayHelpSlots notes that something has changed that may help a class to a slot.
func (l *Ledger) MayHelpSlots() { l.SlotsDue = true }

// TakeSlotsDue reports whether anything has.
func (l *Ledger) TakeSlotsDue() (due bool) {
	due, l.SlotsDue = l.SlotsDue, false
	return due
}

// KeepRoomFor says for which group room is kept; nil is none.
func (l *Ledger) KeepRoomFor(g *Group) { l.Holder = g }

// MarkPlaced notes that something was placed or evicted on a node in this batch.
func (l *Ledger) MarkPlaced(n *Node) { n.PlacedIn = l.Batch }
