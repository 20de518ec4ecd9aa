package core

import (
	"cmp"
	"math/bits"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/order"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A node is where allocations run. It stands in the order of the partition
// while it is open: schedulable, and reserved for nobody.
//
//	allocated = the sum of own
//	occupied  = the sum of foreign
//	free      = capacity - allocated - occupied
//	free is negative only if overcommitted is set
//	leaving   = the sum of those of own and foreign that were told to go and may
//	promised  = the sum of nominated
//	room      = free - promised
type node struct {
	id          NodeID
	slot        int32 // a small number, of no other node
	attributes  map[string]string
	schedulable bool
	capacity    resources.Amounts
	allocated   resources.Amounts
	occupied    resources.Amounts
	free        resources.Amounts
	leaving     resources.Amounts
	promised    resources.Amounts
	room        resources.Amounts // free itself while nothing is promised
	// overcommitted says that free may be negative: capacity was lost, or
	// something was adopted or resized, which no node refuses.
	overcommitted bool
	own, foreign  []*request
	weakest       weakest

	// wanted are the asks that may run here only, reserved is the ordinary ask
	// that holds a reservation, nominated are those for which room is made.
	wanted    []*request
	reserved  *request
	nominated []*request

	links   order.Links[*node]
	score   int64
	most    resources.Amounts // room on any node of the subtree
	touched uint64            // the batch that last placed something here
	dirty   bool              // waits for its bound asks to be tried
	lighter bool              // waits to be relieved of all that went at once

	gone     bool   // from the partition
	revision uint64 // counts changes of what is on the node
	changed  uint64 // the changes of nodes counted when it was relieved last
	fresh    bool   // relieved since refused asks were last tried

	view *NodeView
}

// Before orders by score, lowest first, then by ID.
func (n *node) Before(other *node) bool {
	return cmp.Or(cmp.Compare(n.score, other.score), strings.Compare(string(n.id), string(other.id))) < 0
}

// Links are the place in the order of the partition.
func (n *node) Links() *order.Links[*node] { return &n.links }

// Summarise works out the most room in a subtree of the order.
func (n *node) Summarise() bool {
	changed := false
	left, right := n.links.Left, n.links.Right
	n.widenMost(left, right)
	for i := range n.most {
		most := n.room.Of(resources.Kind(i))
		if left != nil {
			most = max(most, left.most.Of(resources.Kind(i)))
		}
		if right != nil {
			most = max(most, right.most.Of(resources.Kind(i)))
		}
		changed = changed || n.most[i] != most
		n.most[i] = most
	}
	return changed
}

// widenMost makes room for kinds that were not known before.
func (n *node) widenMost(left, right *node) {
	width := len(n.room)
	if left != nil {
		width = max(width, len(left.most))
	}
	if right != nil {
		width = max(width, len(right.most))
	}
	for len(n.most) < width {
		n.most = append(n.most, 0)
	}
}

// charge books a request on the node, discharge takes it off again. The
// order of nodes is left alone.
func (n *node) charge(r *request) {
	amounts := r.Amounts
	if r.foreign() {
		n.foreign = enlist(n.foreign, r, &r.on)
		n.occupied.Add(amounts)
	} else {
		n.own = enlist(n.own, r, &r.on)
		n.allocated.Add(amounts)
		n.weakest.meet(r)
	}
	if r.leaves() {
		n.leaving.Add(amounts)
	}
	r.node = n
	n.recount()
}

func (n *node) discharge(r *request) {
	if r.foreign() {
		n.foreign = delist(n.foreign, r.on, onNode)
		n.occupied.Sub(r.Amounts)
	} else {
		n.own = delist(n.own, r.on, onNode)
		n.allocated.Sub(r.Amounts)
		if n.weakest.is == r {
			n.findWeakest()
		}
	}
	if r.leaves() {
		n.leaving.Sub(r.Amounts)
	}
	r.node = nil
	n.recount()
}

// A weakest is the allocation of the lowest priority on a node, of those the
// youngest, if there is any. Nothing less may go from there.
type weakest struct {
	is       *request
	priority int32
	created  time.Time
}

func (w *weakest) meet(r *request) {
	if w.is == nil || r.Priority < w.priority || r.Priority == w.priority && r.Created.After(w.created) {
		*w = weakest{r, r.Priority, r.Created}
	}
}

func (n *node) findWeakest() {
	n.weakest = weakest{}
	for _, r := range n.own {
		n.weakest.meet(r)
	}
}

// recount works out what is free.
func (n *node) recount() {
	n.revision++
	for i := range max(len(n.free), len(n.capacity), len(n.allocated), len(n.occupied)) {
		kind := resources.Kind(i)
		n.free.Set(kind, n.capacity.Of(kind)-n.allocated.Of(kind)-n.occupied.Of(kind))
	}
	n.overcommitted = n.overcommitted && n.negative()
	n.view = nil
	n.keepPromises()
}

// keepPromises works out the room beside what is promised.
func (n *node) keepPromises() {
	switch {
	case len(n.nominated) > 0:
		n.room = n.free.Minus(n.promised)
	case len(n.room) != len(n.free) || len(n.free) > 0 && &n.room[0] != &n.free[0]:
		n.room = n.free
	}
}

// roomFor is what is free for asks of a standing: what is promised to those of
// this standing and above is not. It belongs to the node where nothing is
// promised to lower ones.
func (n *node) roomFor(standing int32) resources.Amounts {
	if len(n.nominated) == 0 || n.nominated[len(n.nominated)-1].holds() >= standing {
		return n.room
	}
	room := n.free.Clone()
	for _, r := range n.nominated {
		if r.holds() >= standing {
			room.Sub(r.Amounts)
		}
	}
	return room
}

// promisedAbove is what is promised to nominated asks above a priority. An ask
// that may run here only gives way to those.
func (n *node) promisedAbove(priority int32) resources.Amounts {
	var sum resources.Amounts
	for _, r := range n.nominated {
		if r.Priority > priority {
			sum.Add(r.Amounts)
		}
	}
	return sum
}

// hasRoom reports whether an ask of these amounts and standing fits.
func (n *node) hasRoom(amounts resources.Amounts, standing int32) bool {
	return amounts.FitsIn(n.room) || amounts.FitsIn(n.roomFor(standing))
}

func (n *node) negative() bool {
	_, found := n.free.Negative()
	return found
}

// tolerate accepts that more is used than the node has, after a booking that no
// node refuses.
func (n *node) tolerate() { n.overcommitted = n.negative() }

// open reports whether ordinary asks may use the node.
func (n *node) open() bool {
	return n.schedulable && n.reserved == nil && !n.claimed()
}

// openTo reports whether ordinary asks of a standing may use the node: a
// reservation keeps it from those of its standing and below only.
func (n *node) openTo(standing int32) bool {
	return n.schedulable && !n.claimed() && (n.reserved == nil || n.reserved.standing() < standing)
}

// claimed reports whether an ask that may run here only holds a reservation.
func (n *node) claimed() bool {
	for _, r := range n.wanted {
		if r.reservation() != nil {
			return true
		}
	}
	return false
}

// scoreMax is the score of a node that is used up in the kinds that count.
const scoreMax = 1 << 28

// weight is how much one kind counts in the score of a node, at most weightMax.
type weight struct {
	kind   resources.Kind
	weight uint64
}

const weightMax = 1_000_000

// scored is the weighted mean of the used part of each kind the node has, from
// zero to scoreMax, turned round for packing. Integers keep the order total; with
// KindsMax kinds of weightMax the sum stays below 2^56.
func (n *node) scored(weights []weight, packing bool) int64 {
	var sum, total uint64
	for _, w := range weights {
		capacity := n.capacity.Of(w.kind)
		if capacity <= 0 {
			continue
		}
		used := min(max(capacity-n.free.Of(w.kind), 0), capacity)
		hi, lo := bits.Mul64(uint64(used), scoreMax)
		part, _ := bits.Div64(hi, lo, uint64(capacity))
		sum += part * w.weight
		total += w.weight
	}
	if total == 0 {
		return 0
	}
	score := int64(sum / total)
	if packing {
		return scoreMax - score
	}
	return score
}

// enlist appends a request to a list and notes its place. Lists start with room
// for what a node usually runs, so that they seldom grow.
func enlist(list []*request, r *request, place *int32) []*request {
	if list == nil {
		list = make([]*request, 0, 16)
	}
	*place = int32(len(list))
	return append(list, r)
}

// delist removes the request at a place by putting the last one there.
func delist(list []*request, place int32, placeOf func(*request) *int32) []*request {
	last := len(list) - 1
	moved := list[last]
	list[place], list[last] = moved, nil
	*placeOf(moved) = place
	return list[:last]
}

func onNode(r *request) *int32        { return &r.on }
func atApplication(r *request) *int32 { return &r.at }
