package ledger

import (
	"math"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/guard"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/core/tables"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A Node is where allocations run.
//
//	allocated       = the sum of own
//	occupied        = the sum of foreign
//	Free            = Capacity - allocated - occupied
//	Free is negative only if overcommitted is set
//	Releasing       = the sum of those of own and foreign that are being evicted
//	claimed         = the sum of claims
//	Room            = Free - claimed
//	stays           = the sum of those of own and foreign that leave only with the node
type Node struct {
	ID   api.NodeID
	Room resources.Amounts // free itself while nothing is kept

	Slot        int32 // a small number that no other node has
	Schedulable bool
	// overcommitted says that free may be negative: capacity was lost, or something came that no node refuses.
	overcommitted bool
	Gone          bool       // from the partition
	change        nodeChange // recorded, and not reacted to yet

	// What else a placement reads and writes comes next.
	Claims    []*Request // the asks for which room is kept, in order
	PlacedIn  uint64     // the batch that last placed or evicted something here
	Revision  uint64     // counts changes of what is on the node
	ChangedAt uint64     // the count of changed nodes when this one was changed last
	View      *api.NodeView
	Own       []*Request
	Capacity  resources.Amounts
	Free      resources.Amounts
	allocated resources.Sum
	occupied  resources.Sum
	Weakest   weakest

	Required   AskSet // that may run here only
	Foreign    []*Request
	Releasing  resources.Sum
	largest    resources.Amounts // the most of each kind that one of own holds
	largestAt  uint64            // the revision of which that is true
	FreedAt    uint64            // the count of freed nodes when this one was freed last
	UpdatedAt  uint64            // the count of nodes updated by a command when this one was last
	Attributes map[string]string
	Details    nodeDetails
}

// charge books a request on the node, discharge takes it off again. The
// order of nodes does not change.
func (n *Node) charge(r *Request) {
	amounts := r.Amounts
	if r.Foreign() {
		n.Foreign = addRequest(n.Foreign, r, &r.on)
		n.occupied.Add(amounts)
	} else {
		n.Own = addRequest(n.Own, r, &r.on)
		n.allocated.Add(amounts)
		n.Weakest.consider(r)
	}
	if !r.leaves() {
		n.Details.change().stays.Add(amounts)
	}
	n.countEviction(r, 1)
	r.RunsOn = n
	n.Recount()
}

func (n *Node) discharge(r *Request) {
	if r.Foreign() {
		n.Foreign = tables.SwapRemove(n.Foreign, r.on, onNode)
		n.occupied.Sub(r.Amounts)
	} else {
		n.Own = tables.SwapRemove(n.Own, r.on, onNode)
		n.allocated.Sub(r.Amounts)
		if n.Weakest.Is == r {
			n.findWeakest()
		}
	}
	if !r.leaves() {
		n.Details.change().stays.Sub(r.Amounts)
	}
	n.countEviction(r, -1)
	r.RunsOn = nil
	n.Recount()
}

// countEviction counts an allocation here if it is evicted, or no more.
func (n *Node) countEviction(r *Request, by int) {
	switch {
	case r.Eviction == nil:
		return
	case !r.Releasing():
	case by > 0:
		n.Releasing.Add(r.Amounts)
	default:
		n.Releasing.Sub(r.Amounts)
	}
	n.Details.change().Evicted += by
}

// A weakest is the allocation of the lowest priority on a node, of those the
// youngest, if there is any. It bounds what making room there costs: those that
// are being evicted do not count, since they are no victims any more.
type weakest struct {
	Is       *Request
	Priority int32
	Created  time.Time
}

// consider takes an allocation that came into account.
func (w *weakest) consider(r *Request) {
	if r.Eviction != nil {
		return
	}
	if w.Is == nil || r.Priority < w.Priority || r.Priority == w.Priority && r.Created.After(w.Created) {
		*w = weakest{r, r.Priority, r.Created}
	}
}

func (n *Node) findWeakest() {
	n.Weakest = weakest{}
	for _, r := range n.Own {
		n.Weakest.consider(r)
	}
}

// Recount works out what is free.
func (n *Node) Recount() {
	n.Revision++
	width := max(len(n.Free), len(n.Capacity), len(n.allocated.Amounts), len(n.occupied.Amounts))
	for i := range width {
		kind := resources.Kind(i)
		n.Free.Set(kind, n.left(kind))
	}
	n.overcommitted = n.overcommitted && n.negative()
	n.View = nil
	n.recountRoom()
}

// left is what is free of a kind, saturating. It is exact where it is above zero: then
// neither sum is beyond int64, as the capacity is not.
func (n *Node) left(kind resources.Kind) int64 {
	return resources.Total(n.Capacity.Of(kind), -n.allocated.Of(kind), -n.occupied.Of(kind))
}

// Assumed is what is used of a kind by what asks for nothing of it, as the order of nodes counts.
func (n *Node) Assumed(kind resources.Kind) int64 { return n.Details.Read().assumed.Of(kind) }

// recountRoom works out the room beside what is kept for asks.
func (n *Node) recountRoom() {
	switch {
	case len(n.Claims) > 0:
		n.Room = n.Free.Minus(n.Details.Read().claimed.Amounts)
	case len(n.Room) != len(n.Free) || len(n.Free) > 0 && &n.Room[0] != &n.Free[0]:
		n.Room = n.Free
	}
}

// Yields reports whether anything is kept here for an ask of less than an importance.
func (n *Node) Yields(importance int32) bool {
	return len(n.Claims) > 0 && n.Claims[len(n.Claims)-1].Importance < importance
}

// RoomFor is what is free for asks of an importance: what is kept for asks of this importance
// and above is not. The result may be memory of the node and must not be changed.
func (n *Node) RoomFor(importance int32) resources.Amounts {
	if !n.Yields(importance) {
		return n.Room
	}
	room := n.Free.Clone()
	for _, r := range n.Claims {
		if r.Importance >= importance {
			room.Sub(r.Amounts)
		}
	}
	return room
}

// RoomToMake is what is free on a node where room is made for asks of an importance. The claims of
// others that may run anywhere give way, if nothing is evicted for these: those of equal asks, and
// all of them to a guarantee.
func (n *Node) RoomToMake(importance int32, trigger preemptor.Trigger) resources.Amounts {
	if len(n.Claims) == 0 {
		return n.Free
	}
	room := n.Free.Clone()
	for _, r := range n.Claims {
		if r.Importance >= importance && !(r.Reserved() && (r.Importance == importance || trigger == preemptor.Guarantee)) {
			room.Sub(r.Amounts)
		}
	}
	return room
}

// FreeFor is what is free for an ask beside the claims that are kept from it.
func (n *Node) FreeFor(r *Request) resources.Amounts {
	if before := n.claimsBefore(r); len(before) > 0 {
		return n.Free.Minus(before)
	}
	return n.Free
}

// HasRoom reports whether an ask of these amounts and this importance fits.
func (n *Node) HasRoom(amounts resources.Amounts, importance int32) bool {
	return amounts.FitsIn(n.Room) || n.Yields(importance) && amounts.FitsIn(n.RoomFor(importance))
}

// OwnKeys are the keys of those own allocations for which a condition holds, in order.
func (n *Node) OwnKeys(holds func(*Request) bool) []string {
	keys := make([]string, 0, len(n.Own))
	for _, r := range ByKey(n.Own) {
		if holds(r) {
			keys = append(keys, string(r.Key))
		}
	}
	return keys
}

// Overdue is how many evictions here did not end in time, of those for an ask or, if that is empty, of
// all; and the guard of the one that keeps others from the node longest.
func (n *Node) Overdue(ask api.AllocationKey) (count int, longest *guard.Guard) {
	longest = &guard.None
	if n.Details.Read().Evicted == 0 {
		return 0, longest
	}
	for r := range n.AllOn {
		if e := r.Eviction; e != nil && e.Overdue && (ask == "" || e.Ask == ask) {
			count++
			if e.Guard.Until.After(longest.Until) {
				longest = &e.Guard
			}
		}
	}
	return count, longest
}

// IsBlocked reports whether an overdue eviction blocks attempts here, or amounts are
// counted that are too large for them.
func (n *Node) IsBlocked() bool {
	_, guard := n.Overdue("")
	return guard.Pauses() || n.IsBeyondPlans()
}

// IsBeyondPlans reports whether amounts are counted here that are too large to make
// room beside them.
func (n *Node) IsBeyondPlans() bool {
	return n.Capacity.Above(api.PlanMax) || n.allocated.Above(api.PlanMax) || n.occupied.Above(api.PlanMax) || n.Details.Read().claimed.Above(api.PlanMax)
}

// AllOn visits what runs on the node: own allocations, then foreign ones.
func (n *Node) AllOn(yield func(*Request) bool) {
	for _, list := range [2][]*Request{n.Own, n.Foreign} {
		for _, r := range list {
			if !yield(r) {
				return
			}
		}
	}
}

// negative reports whether more of any kind is on a node than it holds.
func (n *Node) negative() bool {
	_, found := n.Free.Negative()
	return found
}

// AllowExcess accepts that more is used than the node has, after a booking that no
// node refuses.
func (n *Node) AllowExcess() { n.overcommitted = n.negative() }

// AttributeReady is the attribute with which a resource manager says, with "false", that a node
// is not ready: what runs there does not end.
const attributeReady = "ready"

// IsReady reports whether a node is ready as far as the resource manager says.
func (n *Node) IsReady() bool { return n.Attributes[attributeReady] != "false" }

// LargestHeld is the most of each kind that one own allocation holds.
func (n *Node) LargestHeld() resources.Amounts {
	if n.largestAt != n.Revision {
		n.largestAt = n.Revision
		n.largest = n.largest[:0]
		for _, r := range n.Own {
			n.largest.Raise(r.Amounts)
		}
	}
	return n.largest
}

// Leaving are the placeholders on a node whose places asks take.
func (n *Node) Leaving() (list []*Request) {
	for _, r := range n.Own {
		if r.IsReplaced() {
			list = append(list, r)
		}
	}
	return list
}

// LowestPriority is the lowest priority of an allocation on a node, or PriorityNone if
// a change there may help any ask.
func (n *Node) LowestPriority() int32 {
	if !n.Releasing.IsZero() || len(n.Own) == 0 {
		return api.PriorityNone
	}
	lowest := int32(math.MaxInt32)
	for _, r := range n.Own { // evictions that are overdue count too
		lowest = min(lowest, r.Priority)
	}
	return lowest
}

// nodeDetails are what few nodes have. They are apart from the node, as the garbage collector
// treats objects of more than 512 bytes one by one. The zero value is that of a node without any.
type nodeDetails struct{ own *details }

// details are the values of nodeDetails.
type details struct {
	claimed resources.Sum
	stays   resources.Sum // what leaves only with the node
	assumed resources.Sum // of what runs there and asks for nothing of a kind
	Evicted int           // how many of own and foreign are evicted, overdue ones too
}

// NoDetails are those of all nodes that have none of their own. They are never changed.
var noDetails details

// Read is for reading only: nodes share what is empty.
func (d nodeDetails) Read() *details {
	if d.own == nil {
		return &noDetails
	}
	return d.own
}

// change is for changes.
func (d *nodeDetails) change() *details {
	if d.own == nil {
		d.own = new(details)
	}
	return d.own
}
