package core

import (
	"math"
	"slices"
	"time"

	"github.com/google/btree"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/tables"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A ledger is what runs where and which queues pay for it: queues, applications, nodes
// and requests, with every allocation booked on its node and on the accounts of its
// queue. It records what changes and decides nothing. Verify checks its laws.
type ledger struct {
	step
	options api.Options
	kinds   *resources.Kinds
	name    string
	config  api.Config
	// preemption is that of the configuration, with what is not configured filled in.
	preemption api.PreemptionConfig

	root         *queue
	applications *btree.BTreeG[*application]
	nodes        *btree.BTreeG[*node] // by ID
	nodesByID    map[api.NodeID]*node // the same, since every placed allocation is looked up by its node
	limits       limitAccounts
	capped       bool // the number of applications of some queue is limited
	requests     map[api.AllocationKey]*request
	together     map[string]*group         // that have members
	holder       *group                    // for which room is kept; nil if there is none
	regrouped    uint64                    // counts changes of how many members of any group stay, or must run
	unplaced     map[api.NodeID][]*request // foreign allocations, by nodes that are not known
	unplacedView []*api.Allocation         // the same by key; nil if that is not known
	absent       map[api.NodeID]*askSet    // asks whose required node is not known
	unknown      map[string]*askSet        // asks by the kinds that they want and no node has

	capacity    resources.Sum     // of all nodes
	largest     resources.Amounts // the most of each kind that any node ever had
	occupied    resources.Sum     // by foreign allocations on nodes
	running     tables.Counts     // own allocations
	claims      []*request        // asks for which anything is kept, each at its place
	quotaClaims []*request        // those of them for which quota is kept, in order
	idle        int               // how many of them nothing is evicted for
	holds       uint64            // counts changes of what nodes hold when all has left that may leave
	slotsDue    bool              // something has changed that may help a class to a slot
	slotRound   int               // counts claims that lasted for ReserveMax
	slotsGiven  int               // claims of asks that may run anywhere for which nothing is evicted, but for those of groups
	importances tables.Counts     // of these
	arrivals    uint64            // requests that were ever registered
	waiting     int               // asks
	stamp       uint64            // counts changes that may change why asks wait
	changes     changeSet
	settled     bool // evictions may begin, see settling

	// The numbers of objects, by which others keep tables. Those of asks are above zero.
	nodeSlots, applicationSlots, queueSlots, askSlots tables.Numbers

	// likeApplication is what look-ups compare with, kept so that a look-up allocates
	// nothing.
	likeApplication application
}

func newLedger(options api.Options) ledger {
	return ledger{
		options:  options,
		askSlots: tables.From(1),
		kinds:    options.Kinds,
		requests: map[api.AllocationKey]*request{},
		together: map[string]*group{},
		limits:   limitAccounts{},
		unplaced: map[api.NodeID][]*request{},
		settled:  options.SettleDelay <= 0,
		absent:   map[api.NodeID]*askSet{},
		unknown:  map[string]*askSet{},
		nodes: btree.NewG(32, func(a, b *node) bool {
			return a.id < b.id
		}),
		nodesByID: map[api.NodeID]*node{},
		applications: btree.NewG(32, func(a, b *application) bool {
			return a.id < b.id
		}),
	}
}

func (l *ledger) findApplication(id api.ApplicationID) *application {
	l.likeApplication.id = id
	app, _ := l.applications.Get(&l.likeApplication)
	return app
}

func (l *ledger) findNode(id api.NodeID) *node { return l.nodesByID[id] }

// allNodes visits the nodes by ID.
func (l *ledger) allNodes(yield func(*node) bool) { l.nodes.Ascend(yield) }

// register makes a request known that is in no list.
func (l *ledger) register(a *api.Allocation, app *application) *request {
	l.arrivals++
	r := &request{Allocation: a, application: app, number: l.arrivals}
	l.requests[a.Key] = r
	if app != nil && a.TaskGroup != "" {
		l.enroll(r)
	}
	if app != nil && (a.TaskGroup != "" || a.Tags[api.TagQuorum] != "") {
		l.enterGroup(r)
	}
	return r
}

// forget drops a request that is in no list any more.
func (l *ledger) forget(r *request) {
	delete(l.requests, r.Key)
	if r.startsWith != nil {
		l.leaveGroup(r)
	}
}

// book charges an allocation to its node and to the accounts of its queue.
func (l *ledger) book(r *request, n *node) {
	app := r.application
	l.stamp++
	l.charge(r, n)
	if !r.eviction.isNodeOnly() {
		chargeAccounts(r, l.stamp)
	}
	l.setRan(app, true)
	l.running.Add(r.Priority)
	l.slotsDue = app.queue.addRunning(r) || l.slotsDue
	app.allocations = addRequest(app.allocations, r, &r.at)
	if r.Placeholder {
		l.seat(r, 1)
	}
	if r.startsWith != nil {
		l.countRunning(r, 1)
	}
	l.changes.node(n, 0)
	l.changes.application(app, 0)
}

// unbook takes an allocation off the books.
func (l *ledger) unbook(r *request) {
	app, n := r.application, r.node
	l.stamp++
	if r.Placeholder {
		l.seat(r, -1)
	}
	if r.startsWith != nil {
		l.countRunning(r, -1)
	}
	l.discharge(r)
	if !r.eviction.isNodeOnly() {
		dischargeAccounts(r, l.stamp)
		l.changes.freeLimits(app)
	}
	l.running.Remove(r.Priority)
	app.queue.removeRunning(r)
	l.slotsDue = l.slotsDue || len(app.queue.running) == 0
	app.allocations = tables.SwapRemove(app.allocations, r.at, atApplication)
	l.changes.node(n, nodeFreed|nodeRetry)
	l.changes.application(app, quotaFreed)
}

// charge books a request on a node, and discharge takes it off again.
func (l *ledger) charge(r *request, n *node) {
	if !r.leaves() {
		l.holds, l.slotsDue = l.holds+1, true
	}
	n.charge(r)
}

func (l *ledger) discharge(r *request) {
	if !r.leaves() {
		l.holds, l.slotsDue = l.holds+1, true
	}
	r.node.discharge(r)
}

// addPending books an ask, and subPending takes it off the books.
func (l *ledger) addPending(r *request) {
	app := r.application
	l.waiting++
	r.slot = l.askSlots.Take()
	app.asks = addRequest(app.asks, r, &r.at)
	app.pending.Add(r.Amounts)
	if len(r.Unknown) > 0 {
		l.awaitKinds(r)
	}
	app.queue.addPending(r.Amounts)
	l.changes.application(app, 0)
}

func (l *ledger) subPending(r *request) {
	app := r.application
	l.waiting--
	l.askSlots.GiveBack(r.slot)
	r.slot = 0
	app.asks = tables.SwapRemove(app.asks, r.at, atApplication)
	app.pending.Sub(r.Amounts)
	if len(r.Unknown) > 0 {
		l.forgetKinds(r)
	}
	app.queue.subPending(r.Amounts)
	l.changes.application(app, 0)
}

// setEviction sets whether and how an allocation is evicted, and what is counted
// of it.
func (l *ledger) setEviction(r *request, e *eviction) {
	r.node.countEviction(r, -1)
	if !r.foreign() {
		for _, account := range r.application.accounts() {
			account.subEnding(r)
		}
	}
	if !r.foreign() && (r.eviction == nil) != (e == nil) {
		more := 1
		if e != nil {
			more = -1
		}
		l.countStaying(r, more)
	}
	r.eviction = e
	r.node.countEviction(r, 1)
	if e == nil && !r.foreign() {
		r.node.weakest.consider(r)
	} else if r.node.weakest.is == r {
		r.node.findWeakest()
	}
	if !r.foreign() {
		for _, account := range r.application.accounts() {
			account.addEnding(r)
		}
	}
	if r.Placeholder {
		l.offer(r, true)
	}
	r.node.view = nil
	r.node.revision++
	l.changes.node(r.node, 0)
	if !r.foreign() {
		l.unview(r.application.queue)
	}
}

// unview drops the views of a queue and of those above it.
func (l *ledger) unview(q *queue) {
	for ; q != nil; q = q.parent {
		q.view = nil
	}
}

// withoutRoom is the topmost queue on the way to the root whose quota has no
// room for the ask.
func (r *request) withoutRoom() *queue {
	var found *queue
	for q := r.application.queue; q != nil; q = q.parent {
		if !q.hasRoomFor(r) {
			found = q
		}
	}
	return found
}

// hasRoomFor reports whether this account alone has quota for an ask. Of one for which quota is
// kept, evictions for equal asks are not waited for, but those for more important ones are.
func (a *account) hasRoomFor(r *request) bool {
	importance := r.importance
	if !r.keepsQuota() {
		return a.hasRoom(r.Amounts, importance)
	}
	return a.max.Holds(r.Amounts, a.used.Amounts, a.nominated.Amounts) ||
		importance < math.MaxInt32 && a.holds(r.Amounts, importance+1, r.Amounts) || importance == math.MaxInt32 && a.max.Room(a.used.Amounts, r.Amounts)
}

// mayTake reports whether an ask may take the place of an allocation by their
// priorities.
func (l *ledger) mayTake(ask, allocation int32) bool {
	return ask > allocation || ask == allocation && l.preemption.Priority == api.EqualToo
}

// A step is one call of Apply or Schedule: its time, its limits, and its effects.
type step struct {
	now      time.Time
	batch    uint64 // number of the Schedule call
	left     int    // placements that it may still make
	expected int    // events that are likely to be told
	effects  api.Effects
	spare    api.Effects // memory for the effects of this step and of the next ones
}

// effectsAtOnce is for how many events memory is made at once: most commands have one.
const effectsAtOnce = 64

// tell adds an event to the effects of this step. Those of one batch take one slice, and
// those of many commands share one.
func (s *step) tell(e api.Event) {
	if s.effects == nil {
		if cap(s.spare) < max(1, s.expected) {
			s.spare = make(api.Effects, 0, max(effectsAtOnce, s.expected))
		}
		s.effects = s.spare
	}
	s.effects = append(s.effects, e)
}

// takeEffects gives the effects of this step away, with the memory that they take.
func (s *step) takeEffects() api.Effects {
	effects := slices.Clip(s.effects)
	s.effects = nil
	s.spare = s.spare[min(len(effects), cap(s.spare)):cap(s.spare)][:0]
	return effects
}

// setNodeOnly has what is overdue charged to its node only, or to the accounts of its queue again.
func (l *ledger) setNodeOnly(r *request, only bool) {
	l.stamp++
	if only {
		dischargeAccounts(r, l.stamp)
		r.eviction.nodeOnly = true
		l.changes.freeLimits(r.application)
		l.changes.application(r.application, quotaFreed)
	} else {
		r.eviction.nodeOnly = false
		chargeAccounts(r, l.stamp)
		r.application.allowExcess()
		l.changes.application(r.application, quotaBooked)
	}
	r.node.view = nil
}
