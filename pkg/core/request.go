package core

import (
	"cmp"
	"slices"
	"time"

	"github.com/google/btree"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/core/timers"
)

// A request is what the partition knows under one allocation key: an ask that
// waits, or an allocation. Exactly one of these holds:
//
//	an ask:      node is nil, the application lists it in asks
//	placed:      node is set, node and application list it
//	foreign:     application is nil, the node lists it, or, where the node is
//	             not known, the ledger does
type request struct {
	*api.Allocation
	application *application
	node        *node
	number      uint64 // of arrival; it orders requests of equal priority and age
	// at and on are the places in the lists of the application and of the node.
	at, on int32
	// importance is the priority of an ask as the root sees it, while it waits.
	importance int32
	slot       int32 // a number that no other ask has; zero if it does not wait
	madeRoom   bool  // victims were told to end for it, and this was not in vain

	wait     *wait     // nil for an ask that only waits for its turn
	eviction *eviction // nil for an allocation that may stay
	// startsWith is the group without which it does not start; nil if it starts by itself.
	startsWith *group
}

// A wait is what is known of an ask that was tried and not placed.
type wait struct {
	reason    api.Reason
	detail    string
	claim     *claim       // nil if nothing is kept for it
	since     time.Time    // when an ask first had no room on its required node
	tookEqual bool         // a victim that was told to end for it has its priority
	ran       bool         // it ran after that, and its binding failed
	guard     *guard       // against making room for it; nil before the first pause
	delayed   bool         // it is in no order until the time of its retry
	held      bool         // it is in no order because of its gang or group
	larger    bool         // than the placeholders of its task group: it waits for none
	pair      *replacement // the one that it waits for; a placeholder that is to end for an ask has it too
	bindings  int          // that failed, one after the other
	avoid     api.NodeID   // where binding failed last
	former    api.NodeID   // where it was nominated before a restart, until that is looked at
	heldBy    *account     // that it waits for while it is bound to a node
	hinted    bool         // the resource manager was told that it fits on no node

	attempts  []api.PreemptionAttempt // the last ones, by trigger
	decided   *preemptor.Decision     // what was found out last on its required node, where no detail says that
	plan      *preemptor.Decision     // the last one to make room for it
	planned   uint64                  // the revision of the node it was made for
	plannedAt time.Time

	due   waitTimes
	timer timers.Timer[due]
}

// waiting is what is known of the ask; it is made if there is nothing yet.
func (r *request) waiting() *wait {
	if r.wait == nil {
		r.wait = &wait{}
	}
	return r.wait
}

// paused reports whether no room is made for the ask for a while.
func (w *wait) paused() bool { return w != nil && w.guard != nil && w.guard.pauses() }

// guarded is the guard of the ask; it is made if there is none yet.
func (w *wait) guarded() *guard {
	if w.guard == nil {
		w.guard = &guard{}
	}
	return w.guard
}

// releasing reports whether an allocation is being evicted and its room is counted
// on.
func (r *request) releasing() bool {
	return r.eviction != nil && !r.eviction.overdue && !r.eviction.late
}

// victim reports whether an allocation was chosen to be evicted, and has not ended yet.
func (r *request) victim() bool { return r.eviction != nil && !r.eviction.reported }

// foreign reports whether the request is charged to its node only.
func (r *request) foreign() bool { return r.application == nil }

// inOrder compares asks by priority, then age, then arrival.
func inOrder(a, b *request) int {
	return cmp.Or(
		cmp.Compare(b.Priority, a.Priority),
		a.Created.Compare(b.Created),
		cmp.Compare(a.number, b.number),
	)
}

// An askRank is what asks of all queues are compared by.
type askRank struct {
	importance, priority int32
	created              time.Time
	number               uint64
}

func (r *request) rank() askRank {
	return askRank{r.importance, r.Priority, r.Created, r.number}
}

func (a askRank) compare(b askRank) int {
	return cmp.Or(
		cmp.Compare(b.importance, a.importance), cmp.Compare(b.priority, a.priority),
		a.created.Compare(b.created), cmp.Compare(a.number, b.number),
	)
}

// An eviction tracks an allocation from the release message until the resource
// manager confirms that it has ended. An allocation of which the resource manager says
// that it is terminating has one without a release message.
type eviction struct {
	ask      api.AllocationKey // that gets the room; empty if its queue is over its max
	trigger  preemptor.Trigger
	class    preemptor.Class // of the victim when it was chosen
	reported bool            // by the resource manager: it has no ask, trigger or class
	since    time.Time
	overdue  bool  // it did not end in time: its room is not counted on
	guard    guard // against others on its node while it is overdue
	late     bool  // reported, and its end is far off: its room is not counted on yet
	nodeOnly bool  // it is overdue on a node that is not ready: no queue is charged for it
	// dismissed says that it ends with its gang. The resource manager was told.
	dismissed bool
	timer     timers.Timer[due]
}

// isNodeOnly reports whether an allocation that is evicted, or not, is charged to its node only.
func (e *eviction) isNodeOnly() bool { return e != nil && e.nodeOnly }

// addRequest appends a request to a list and notes its place. Lists start with room
// for what a node usually runs, so that they seldom grow.
func addRequest(list []*request, r *request, place *int32) []*request {
	if list == nil {
		list = make([]*request, 0, 16)
	}
	*place = int32(len(list))
	return append(list, r)
}

func onNode(r *request) *int32        { return &r.on }
func atApplication(r *request) *int32 { return &r.at }

// without removes a request from a list, in place.
func without(list []*request, r *request) []*request {
	return slices.DeleteFunc(list, func(other *request) bool { return other == r })
}

// An askSet is a set of asks in order. The zero value is empty; it allocates nothing
// before there is an ask.
type askSet struct{ tree *btree.BTreeG[*request] }

func (s *askSet) add(r *request) {
	if s.tree == nil {
		s.tree = btree.NewG(8, func(a, b *request) bool { return inOrder(a, b) < 0 })
	}
	s.tree.ReplaceOrInsert(r)
}

// remove takes an ask out and reports whether the set is empty then.
func (s *askSet) remove(r *request) (empty bool) {
	if s.tree != nil {
		s.tree.Delete(r)
	}
	return s.len() == 0
}

func (s *askSet) len() int {
	if s.tree == nil {
		return 0
	}
	return s.tree.Len()
}

func (s *askSet) has(r *request) bool {
	return s.tree != nil && s.tree.Has(r)
}

// all visits the asks in order. The set must not change meanwhile.
func (s *askSet) all(yield func(*request) bool) {
	if s.tree != nil {
		s.tree.Ascend(yield)
	}
}

// after visits the asks that come after one, which may be in the set or not; all of them after nil.
// The set must not change meanwhile.
func (s *askSet) after(r *request) func(yield func(*request) bool) {
	return func(yield func(*request) bool) {
		if s.tree == nil || r == nil {
			s.all(yield)
			return
		}
		s.tree.AscendGreaterOrEqual(r, func(other *request) bool { return other == r || yield(other) })
	}
}

// head is the first ask in order; there must be one.
func (s *askSet) head() *request {
	head, _ := s.tree.Min()
	return head
}

// last is the last ask in order; there must be one.
func (s *askSet) last() *request {
	last, _ := s.tree.Max()
	return last
}

// list is the asks in order, for a walk that changes the set.
func (s *askSet) list() []*request {
	if s.len() == 0 {
		return nil
	}
	list := make([]*request, 0, s.len())
	for r := range s.all {
		list = append(list, r)
	}
	return list
}

// isToEnd reports whether the resource manager was told to end an allocation for its gang: it
// is no ask again when it cannot be bound.
func (r *request) isToEnd() bool {
	return r.eviction != nil && r.eviction.dismissed || r.makesWay()
}
