package core

import (
	"cmp"
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/order"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// A request is what the partition knows under one allocation key: an ask that
// waits, or an allocation. Exactly one of these holds:
//
//	an ask:      node is nil, the application lists it in asks
//	placed:      node is set, node and application list it
//	foreign:     application is nil, the node lists it, or, where the node is
//	             not known, the partition does among the homeless
type request struct {
	*Allocation
	application *application
	node        *node
	number      uint64 // of arrival, the last word on order
	// at and on are the places in the lists of the application and the node.
	at, on int32

	shape *shape // while it waits
	links order.Links[*request]
	below backlog // of the subtree of the application's order
	wait  *wait   // nil for an ask that only waits for its turn
	going *going  // nil for an allocation that may stay
}

// A wait is the story of an ask that was tried and did not get a place.
type wait struct {
	reason      Reason
	detail      string
	reservation *Reservation
	since       time.Time           // of arrival
	tries       int                 // failures to bind, one after the other
	avoid       NodeID              // where binding failed last
	at          time.Time           // when it is tried again, while aside
	aside       bool                // not in the order of the application for now
	refusedAt   uint64              // the changes of nodes counted when every node refused
	nomination  *nomination         // of an ask that may run anywhere
	plan        *preemptor.Decision // the last one to make room for it
	hunts       []PreemptionAttempt // where room was looked for last, by trigger
	huntAt      time.Time           // when the delay of its queue is over
	rests       time.Time           // until when it does not hunt
	loop        string              // why not, if room was made too often
	never       map[*node]bool      // nodes that the resource manager refuses whoever goes
	planned     uint64              // the revision of the node it was made for
	plannedAt   time.Time
	reported    string // what was recorded last about plans in vain
	reportedAt  time.Time
	hinted      bool // the resource manager knows that it fits nowhere
}

// waiting is the story of the ask, begun if there is none.
func (r *request) waiting() *wait {
	if r.wait == nil {
		r.wait = &wait{}
	}
	return r.wait
}

func (r *request) reservation() *Reservation {
	if r.wait == nil {
		return nil
	}
	return r.wait.reservation
}

// nominated is the nomination of an ask, nil if it has none.
func (r *request) nominated() *nomination {
	if r.wait == nil {
		return nil
	}
	return r.wait.nomination
}

// leaves reports whether an allocation was told to go and is counted on to.
func (r *request) leaves() bool { return r.going != nil && !r.going.stuck }

// foreign reports whether the request is charged to its node only.
func (r *request) foreign() bool { return r.application == nil }

// Before orders asks by priority, then age, then arrival.
func (r *request) Before(other *request) bool {
	return cmp.Or(
		cmp.Compare(other.Priority, r.Priority),
		r.Created.Compare(other.Created),
		cmp.Compare(r.number, other.number),
	) < 0
}

// Links are the place in the order of the application.
func (r *request) Links() *order.Links[*request] { return &r.links }

// Summarise works out the backlog of a subtree of the application's order.
func (r *request) Summarise() bool {
	own := backlog{top: r.Priority}
	own.shapes.set(r.shape.slot)
	return r.below.become(own, r.links.Left.subtree(), r.links.Right.subtree())
}

func (r *request) subtree() *backlog {
	if r == nil {
		return nil
	}
	return &r.below
}

// inOrder compares asks by their order, for lists.
func inOrder(a, b *request) int {
	switch {
	case a == b:
		return 0
	case a.Before(b):
		return -1
	}
	return 1
}

// without is a list without a request, in place.
func without(list []*request, r *request) []*request {
	return slices.DeleteFunc(list, func(other *request) bool { return other == r })
}

// dropFrom takes a request off the list of a node that is not known, and the
// list off the map when it was the last.
func dropFrom(lists map[NodeID][]*request, id NodeID, r *request) {
	lists[id] = without(lists[id], r)
	if len(lists[id]) == 0 {
		delete(lists, id)
	}
}
