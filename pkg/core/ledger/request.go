package ledger

import (
	"cmp"
	"slices"
	"time"

	"github.com/google/btree"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/guard"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/core/timers"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A Request is what the partition knows under one allocation key: an ask that
// waits, or an allocation. Exactly one of these holds:
//
//	an ask:      RunsOn is nil, the application lists it in Asks
//	placed:      RunsOn is set, node and application list it
//	foreign:     App is nil, the node lists it, or, where the node is
//	             not known, the ledger does
type Request struct {
	*api.Allocation
	App    *Application
	RunsOn *Node
	Number uint64 // of arrival; it orders requests of equal priority and age
	// at, on and within are the places in the lists of the application, of the node and of the group.
	at, on, within int32
	// Importance is the priority of an ask as the root sees it, while it waits.
	Importance int32
	Slot       int32 // a number that no other ask has; zero if it does not wait
	MadeRoom   bool  // victims were told to end for it, and this was not in vain

	Wait     *Wait     // nil for an ask that only waits for its turn
	Eviction *Eviction // nil for an allocation that may stay
	// StartsWith is the group without which it does not start; nil if it starts by itself.
	StartsWith *Group
}

// Becomes says what a request asks for, or runs as, from now on: an allocation is never changed. It is on no
// books meanwhile.
func (r *Request) Becomes(a *api.Allocation) { r.Allocation = a }

// Retag gives a request other tags, wherever it is.
func (l *Ledger) Retag(r *Request, tags map[string]string) {
	g, moves := r.StartsWith, indexIn(r.Tags) != indexIn(tags) // what stays in its subgroup leaves what was said of that
	if g != nil && moves {
		l.countIndex(g, indexIn(r.Tags), -1, 0)
		l.countMember(r, -1)
	}
	updated := *r.Allocation
	updated.Tags = tags
	r.Allocation = &updated
	r.App.View = nil
	if g != nil && moves {
		l.countMember(r, 1)
		l.countIndex(g, indexIn(r.Tags), 1, 0)
	}
}

// Releasing reports whether an allocation is being evicted and its room is counted
// on.
func (r *Request) Releasing() bool {
	return r.Eviction != nil && !r.Eviction.Overdue && !r.Eviction.Late
}

// Victim reports whether an allocation was chosen to be evicted, and has not ended yet.
func (r *Request) Victim() bool { return r.Eviction != nil && !r.Eviction.Reported }

// Foreign reports whether the request is charged to its node only.
func (r *Request) Foreign() bool { return r.App == nil }

// InOrder compares asks by priority, then age, then arrival.
func (r *Request) InOrder(other *Request) int {
	return cmp.Or(
		cmp.Compare(other.Priority, r.Priority),
		r.Created.Compare(other.Created),
		cmp.Compare(r.Number, other.Number),
	)
}

// An AskRank is what asks of all queues are compared by.
type AskRank struct {
	importance, priority int32
	created              time.Time
	number               uint64
}

// Rank is what an ask is compared with asks of other queues by.
func (r *Request) Rank() AskRank {
	return AskRank{r.Importance, r.Priority, r.Created, r.Number}
}

// Compare is below zero if the first comes before the second.
func (a AskRank) Compare(b AskRank) int {
	return cmp.Or(
		cmp.Compare(b.importance, a.importance), cmp.Compare(b.priority, a.priority),
		a.created.Compare(b.created), cmp.Compare(a.number, b.number),
	)
}

// An Eviction tracks an allocation from the release message until the resource
// manager confirms that it has ended. An allocation of which the resource manager says
// that it is terminating has one without a release message.
type Eviction struct {
	Ask      api.AllocationKey // that gets the room; empty if its queue is over its max
	Trigger  preemptor.Trigger
	Class    preemptor.Class // of the victim when it was chosen
	Reported bool            // by the resource manager: it has no ask, trigger or class
	Since    time.Time
	Overdue  bool        // it did not end in time: its room is not counted on
	Guard    guard.Guard // against others on its node while it is overdue
	Late     bool        // reported, and its end is far off: its room is not counted on yet
	NodeOnly bool        // it is overdue on a node that is not ready: no queue is charged for it
	// Dismissed says that it ends with its gang. The resource manager was told.
	Dismissed bool
	Timer     timers.Timer
}

// isNodeOnly reports whether an allocation that is evicted, or not, is charged to its node only.
func (e *Eviction) isNodeOnly() bool { return e != nil && e.NodeOnly }

// addRequest appends a request to a list and notes its place. Lists start with room
// for what a node usually runs, so that they seldom grow.
func addRequest(list []*Request, r *Request, place *int32) []*Request {
	if list == nil {
		list = make([]*Request, 0, 16)
	}
	*place = int32(len(list))
	return append(list, r)
}

func onNode(r *Request) *int32        { return &r.on }
func atApplication(r *Request) *int32 { return &r.at }
func inGroup(r *Request) *int32       { return &r.within }

// without removes a request from a list, in place.
func without(list []*Request, r *Request) []*Request {
	return slices.DeleteFunc(list, func(other *Request) bool { return other == r })
}

// An AskSet is a set of asks in order. The zero value is empty; it allocates nothing
// before there is an ask.
type AskSet struct{ tree *btree.BTreeG[*Request] }

// Add puts an ask into the set.
func (s *AskSet) Add(r *Request) {
	if s.tree == nil {
		s.tree = btree.NewG(8, askOrder)
	}
	s.tree.ReplaceOrInsert(r)
}

// Remove takes an ask out and reports whether the set is empty then.
func (s *AskSet) Remove(r *Request) (empty bool) {
	if s.tree != nil {
		s.tree.Delete(r)
	}
	return s.Len() == 0
}

// Len is how many asks are in the set.
func (s *AskSet) Len() int {
	if s.tree == nil {
		return 0
	}
	return s.tree.Len()
}

// Has reports whether an ask is in the set.
func (s *AskSet) Has(r *Request) bool {
	return s.tree != nil && s.tree.Has(r)
}

// All visits the asks in order. The set must not change meanwhile.
func (s *AskSet) All(yield func(*Request) bool) {
	if s.tree != nil {
		s.tree.Ascend(yield)
	}
}

// After visits the asks that come after one, which may be in the set or not; all of them after nil.
// The set must not change meanwhile.
func (s *AskSet) After(r *Request) func(yield func(*Request) bool) {
	return func(yield func(*Request) bool) {
		if s.tree == nil || r == nil {
			s.All(yield)
			return
		}
		s.tree.AscendGreaterOrEqual(r, func(other *Request) bool { return other == r || yield(other) })
	}
}

// Head is the first ask in order; there must be one.
func (s *AskSet) Head() *Request {
	head, _ := s.tree.Min()
	return head
}

// Last is the last ask in order; there must be one.
func (s *AskSet) Last() *Request {
	last, _ := s.tree.Max()
	return last
}

// List is the asks in order, for a walk that changes the set.
func (s *AskSet) List() []*Request {
	if s.Len() == 0 {
		return nil
	}
	list := make([]*Request, 0, s.Len())
	for r := range s.All {
		list = append(list, r)
	}
	return list
}

// IsToEnd reports whether the resource manager was told to end an allocation for its gang: it
// is no ask again when it cannot be bound.
func (r *Request) IsToEnd() bool {
	return r.Eviction != nil && r.Eviction.Dismissed || r.MakesWay()
}

// The orders of trees have names, so that a copy of a partition can have them too.

func nodeOrder(a, b *Node) bool               { return a.ID < b.ID }
func applicationOrder(a, b *Application) bool { return a.ID < b.ID }
func askOrder(a, b *Request) bool             { return a.InOrder(b) < 0 }

// memberOrder has the members of a group stand by their own priorities first.
func memberOrder(a, b *Request) bool {
	return cmp.Or(cmp.Compare(b.Within(), a.Within()), a.InOrder(b)) < 0
}

// A sizeOrder has the largest first.
type sizeOrder struct{ kinds *resources.Kinds }

func (o sizeOrder) less(a, b *Request) bool {
	return cmp.Or(o.kinds.Compare(b.Amounts, a.Amounts), a.InOrder(b)) < 0
}

// Orders are the functions that sort the trees of a ledger.
func (l *Ledger) Orders() []any {
	return []any{nodeOrder, applicationOrder, askOrder, memberOrder, sizeOrder{l.Kinds}.less}
}
