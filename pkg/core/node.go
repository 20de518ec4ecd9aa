package core

import (
	"math"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/core/tables"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A node is where allocations run.
//
//	allocated       = the sum of own
//	occupied        = the sum of foreign
//	free            = capacity - allocated - occupied
//	free is negative only if overcommitted is set
//	releasing       = the sum of those of own and foreign that are being evicted
//	claimed         = the sum of claims
//	room            = free - claimed
//	stays           = the sum of those of own and foreign that leave only with the node
type node struct {
	id   api.NodeID
	room resources.Amounts // free itself while nothing is kept

	slot        int32 // a small number that no other node has
	schedulable bool
	// overcommitted says that free may be negative: capacity was lost, or something came that no node refuses.
	overcommitted bool
	held          bool       // what runs here may not be known: required asks wait
	gone          bool       // from the partition
	retry         bool       // its bound asks are to be tried
	regained      bool       // freed since refused classes were last tried again
	change        nodeChange // recorded, and not reacted to yet

	// What else a placement reads and writes comes next.
	claims    []*request // the asks for which room is kept, in order
	placedIn  uint64     // the batch that last placed or evicted something here
	revision  uint64     // counts changes of what is on the node
	changedAt uint64     // the count of changed nodes when this one was changed last
	view      *api.NodeView
	own       []*request
	capacity  resources.Amounts
	free      resources.Amounts
	allocated resources.Sum
	occupied  resources.Sum
	weakest   weakest

	required   askSet // that may run here only
	foreign    []*request
	releasing  resources.Sum
	largest    resources.Amounts // the most of each kind that one of own holds
	largestAt  uint64            // the revision of which that is true
	freedAt    uint64            // the count of freed nodes when this one was freed last
	updatedAt  uint64            // the count of nodes updated by a command when this one was last
	attributes map[string]string
	details    nodeDetails
}

// charge books a request on the node, discharge takes it off again. The
// order of nodes does not change.
func (n *node) charge(r *request) {
	amounts := r.Amounts
	if r.foreign() {
		n.foreign = addRequest(n.foreign, r, &r.on)
		n.occupied.Add(amounts)
	} else {
		n.own = addRequest(n.own, r, &r.on)
		n.allocated.Add(amounts)
		n.weakest.consider(r)
	}
	if !r.leaves() {
		n.details.change().stays.Add(amounts)
	}
	n.countEviction(r, 1)
	r.node = n
	n.recount()
}

func (n *node) discharge(r *request) {
	if r.foreign() {
		n.foreign = tables.SwapRemove(n.foreign, r.on, onNode)
		n.occupied.Sub(r.Amounts)
	} else {
		n.own = tables.SwapRemove(n.own, r.on, onNode)
		n.allocated.Sub(r.Amounts)
		if n.weakest.is == r {
			n.findWeakest()
		}
	}
	if !r.leaves() {
		n.details.change().stays.Sub(r.Amounts)
	}
	n.countEviction(r, -1)
	r.node = nil
	n.recount()
}

// countEviction counts an allocation here if it is evicted, or no more.
func (n *node) countEviction(r *request, by int) {
	switch {
	case r.eviction == nil:
		return
	case !r.releasing():
	case by > 0:
		n.releasing.Add(r.Amounts)
	default:
		n.releasing.Sub(r.Amounts)
	}
	n.details.change().evicted += by
}

// A weakest is the allocation of the lowest priority on a node, of those the
// youngest, if there is any. It bounds what making room there costs: those that
// are being evicted do not count, since they are no victims any more.
type weakest struct {
	is       *request
	priority int32
	created  time.Time
}

func (w *weakest) consider(r *request) {
	if r.eviction != nil {
		return
	}
	if w.is == nil || r.Priority < w.priority || r.Priority == w.priority && r.Created.After(w.created) {
		*w = weakest{r, r.Priority, r.Created}
	}
}

func (n *node) findWeakest() {
	n.weakest = weakest{}
	for _, r := range n.own {
		n.weakest.consider(r)
	}
}

// recount works out what is free.
func (n *node) recount() {
	n.revision++
	width := max(len(n.free), len(n.capacity), len(n.allocated.Amounts), len(n.occupied.Amounts))
	for i := range width {
		kind := resources.Kind(i)
		n.free.Set(kind, n.left(kind))
	}
	n.overcommitted = n.overcommitted && n.negative()
	n.view = nil
	n.recountRoom()
}

// left is what is free of a kind, saturating. It is exact where it is above zero: then
// neither sum is beyond int64, as the capacity is not.
func (n *node) left(kind resources.Kind) int64 {
	return resources.Total(n.capacity.Of(kind), -n.allocated.Of(kind), -n.occupied.Of(kind))
}

// recountRoom works out the room beside what is kept for asks.
func (n *node) recountRoom() {
	switch {
	case len(n.claims) > 0:
		n.room = n.free.Minus(n.details.read().claimed.Amounts)
	case len(n.room) != len(n.free) || len(n.free) > 0 && &n.room[0] != &n.free[0]:
		n.room = n.free
	}
}

// yields reports whether anything is kept here for an ask of less than an importance.
func (n *node) yields(importance int32) bool {
	return len(n.claims) > 0 && n.claims[len(n.claims)-1].importance < importance
}

// roomFor is what is free for asks of an importance: what is kept for asks of this importance
// and above is not. The result may be memory of the node and must not be changed.
func (n *node) roomFor(importance int32) resources.Amounts {
	if !n.yields(importance) {
		return n.room
	}
	room := n.free.Clone()
	for _, r := range n.claims {
		if r.importance >= importance {
			room.Sub(r.Amounts)
		}
	}
	return room
}

// roomToMake is what is free on a node where room is made for asks of an importance. The claims of
// others that may run anywhere give way, if nothing is evicted for these: those of equal asks, and
// all of them to a guarantee.
func (n *node) roomToMake(importance int32, trigger preemptor.Trigger) resources.Amounts {
	if len(n.claims) == 0 {
		return n.free
	}
	room := n.free.Clone()
	for _, r := range n.claims {
		if r.importance >= importance && !(r.reserved() && (r.importance == importance || trigger == preemptor.Guarantee)) {
			room.Sub(r.Amounts)
		}
	}
	return room
}

// freeFor is what is free for an ask beside the claims that are kept from it.
func (n *node) freeFor(r *request) resources.Amounts {
	if before := n.claimsBefore(r); len(before) > 0 {
		return n.free.Minus(before)
	}
	return n.free
}

// hasRoom reports whether an ask of these amounts and this importance fits.
func (n *node) hasRoom(amounts resources.Amounts, importance int32) bool {
	return amounts.FitsIn(n.room) || n.yields(importance) && amounts.FitsIn(n.roomFor(importance))
}

// ownKeys are the keys of those own allocations for which a condition holds, in order.
func (n *node) ownKeys(holds func(*request) bool) []string {
	keys := make([]string, 0, len(n.own))
	for _, r := range byKey(n.own) {
		if holds(r) {
			keys = append(keys, string(r.Key))
		}
	}
	return keys
}

// overdue is how many evictions here did not end in time, of those for an ask or, if that is empty, of
// all; and the guard of the one that keeps others from the node longest.
func (n *node) overdue(ask api.AllocationKey) (count int, longest *guard) {
	longest = &noGuard
	if n.details.read().evicted == 0 {
		return 0, longest
	}
	for r := range n.allOn {
		if e := r.eviction; e != nil && e.overdue && (ask == "" || e.ask == ask) {
			count++
			if e.guard.until.After(longest.until) {
				longest = &e.guard
			}
		}
	}
	return count, longest
}

// isBlocked reports whether an overdue eviction blocks attempts here, or amounts are
// counted that are too large for them.
func (n *node) isBlocked() bool {
	_, guard := n.overdue("")
	return guard.pauses() || n.isBeyondPlans()
}

// isBeyondPlans reports whether amounts are counted here that are too large to make
// room beside them.
func (n *node) isBeyondPlans() bool {
	return n.capacity.Above(api.PlanMax) || n.allocated.Above(api.PlanMax) || n.occupied.Above(api.PlanMax) || n.details.read().claimed.Above(api.PlanMax)
}

// allOn visits what runs on the node: own allocations, then foreign ones.
func (n *node) allOn(yield func(*request) bool) {
	for _, list := range [2][]*request{n.own, n.foreign} {
		for _, r := range list {
			if !yield(r) {
				return
			}
		}
	}
}

func (n *node) negative() bool {
	_, found := n.free.Negative()
	return found
}

// allowExcess accepts that more is used than the node has, after a booking that no
// node refuses.
func (n *node) allowExcess() { n.overcommitted = n.negative() }

// AttributeReady is the attribute with which a resource manager says, with "false", that a node
// is not ready: what runs there does not end.
const AttributeReady = "ready"

func (n *node) isReady() bool { return n.attributes[AttributeReady] != "false" }

// largestHeld is the most of each kind that one own allocation holds.
func (n *node) largestHeld() resources.Amounts {
	if n.largestAt != n.revision {
		n.largestAt = n.revision
		n.largest = n.largest[:0]
		for _, r := range n.own {
			n.largest.Raise(r.Amounts)
		}
	}
	return n.largest
}

// leaving are the placeholders on a node whose places asks take.
func (n *node) leaving() (list []*request) {
	for _, r := range n.own {
		if r.replaced() {
			list = append(list, r)
		}
	}
	return list
}

// lowestPriority is the lowest priority of an allocation on a node, or PriorityNone if
// a change there may help any ask.
func (n *node) lowestPriority() int32 {
	if !n.releasing.IsZero() || len(n.own) == 0 {
		return api.PriorityNone
	}
	lowest := int32(math.MaxInt32)
	for _, r := range n.own { // evictions that are overdue count too
		lowest = min(lowest, r.Priority)
	}
	return lowest
}
