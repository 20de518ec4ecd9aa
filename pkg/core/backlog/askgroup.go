package backlog

import (
	"cmp"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/order"
)

// An AskGroup is the asks of one class in one application, the oldest first. It
// stands in the order of its application while the class may be tried.
//
//	slots = the asks, and gaps where one went: a slot whose ask is not of the group
//	Live  = the slots that are no gaps
//	no slot before head is live
type AskGroup struct {
	asks        *[]waitingAsk // of the backlog
	Class       *Class
	Application *Application
	Leaf        *LeafClass
	atClass     int32 // the places in the lists of the class and of the LeafClass
	atLeaf      int32

	links order.Links[*AskGroup]
	place *ledger.Request // the first ask, by which it stands in the order
	own   Summary
	below Summary // of the subtree of the application's order

	slots  []*ledger.Request
	few    [4]*ledger.Request // the memory of the first slots
	head   int
	Live   int
	Hinted int // live asks of which the resource manager knows that no node can take them
}

// A groupSet is the groups of an application by class. Most applications have asks of one
// class at a time, which needs no map.
type groupSet struct {
	first *AskGroup // nil if there is none, or it went before the others
	more  map[*Class]*AskGroup
}

// of is the group of a class; nil if there is none.
func (s *groupSet) of(c *Class) *AskGroup {
	if s.first != nil && s.first.Class == c {
		return s.first
	}
	return s.more[c]
}

// add adds the group of a class that has none.
func (s *groupSet) add(g *AskGroup) {
	if s.first == nil {
		s.first = g
		return
	}
	if s.more == nil {
		s.more = map[*Class]*AskGroup{}
	}
	s.more[g.Class] = g
}

func (s *groupSet) remove(g *AskGroup) {
	if s.first == g {
		s.first = nil
		return
	}
	delete(s.more, g.Class)
}

// All visits the groups, in no order.
func (s *groupSet) All(yield func(*AskGroup) bool) {
	if s.first != nil && !yield(s.first) {
		return
	}
	for _, g := range s.more {
		if !yield(g) {
			return
		}
	}
}

// Before orders by priority, then by the age of the first ask.
func (g *AskGroup) Before(other *AskGroup) bool {
	if g.Class.Priority != other.Class.Priority {
		return g.Class.Priority > other.Class.Priority
	}
	return ByAge(g.place, other.place) < 0
}

// Links are the place in the order of the application.
func (g *AskGroup) Links() *order.Links[*AskGroup] { return &g.links }

// Summarise works out the summary of a subtree of the application's order.
func (g *AskGroup) Summarise() bool {
	return g.below.Become(&g.own, g.links.Left.subtree(), g.links.Right.subtree())
}

func (g *AskGroup) subtree() *Summary {
	if g == nil {
		return nil
	}
	return &g.below
}

// isLive reports whether a slot holds an ask of the group, and set whether it is to.
func (g *AskGroup) isLive(r *ledger.Request) bool { return (*g.asks)[r.Slot].group == g }

func (g *AskGroup) set(r *ledger.Request, group *AskGroup) { (*g.asks)[r.Slot].group = group }

// First is the first ask in order; nil if there is none.
func (g *AskGroup) First() *ledger.Request {
	if g.Live == 0 {
		return nil
	}
	for !g.isLive(g.slots[g.head]) {
		g.slots[g.head] = nil
		g.head++
	}
	return g.slots[g.head]
}

// add puts an ask where it belongs by age, mostly at the end, and returns how many had to
// move aside for it.
func (g *AskGroup) add(r *ledger.Request) (moved int) {
	at := len(g.slots)
	if at > g.head && ByAge(g.slots[at-1], r) >= 0 {
		found, again := slices.BinarySearchFunc(g.slots[g.head:], r, ByAge)
		at = found + g.head
		if again { // its own gap
			g.set(r, g)
			g.Live++
			return 0
		}
	}
	g.set(r, g)
	g.Live++
	if at == g.head && at > 0 {
		g.head--
		g.slots[g.head] = r
		return 0
	}
	if g.slots == nil {
		g.slots = g.few[:0]
	}
	g.slots = slices.Insert(g.slots, at, r)
	return len(g.slots) - 1 - at
}

// remove makes the slot of an ask a gap.
func (g *AskGroup) remove(r *ledger.Request) {
	g.set(r, nil)
	g.Live--
	switch {
	case g.Live == 0:
		clear(g.slots)
		g.slots, g.head = g.slots[:0], 0
	case len(g.slots) > 64 && g.Live < len(g.slots)/2:
		g.compact()
	}
}

// compact closes the gaps.
func (g *AskGroup) compact() {
	kept := g.slots[:0]
	for _, r := range g.slots[g.head:] {
		if g.isLive(r) {
			kept = append(kept, r)
		}
	}
	clear(g.slots[len(kept):])
	g.slots, g.head = kept, 0
}

// All visits the asks in order.
func (g *AskGroup) All(yield func(*ledger.Request) bool) {
	for _, r := range g.slots[g.head:] {
		if g.isLive(r) && !yield(r) {
			return
		}
	}
}

// ByAge compares asks by age, then by arrival.
func ByAge(a, b *ledger.Request) int {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Number, b.Number))
}

// isTried reports whether the asks of a group are to be tried: placed, or room made for
// them.
func (g *AskGroup) isTried() bool {
	return !g.Class.Unschedulable || g.Class.Paused == nil && g.Leaf.Active
}

// A LeafClass is a class in one leaf queue: its groups, in no order, and whether room
// may be made for its asks.
type LeafClass struct {
	Class   *Class
	Leaf    *Queue
	Groups  []*AskGroup
	Asks    int // in the groups
	atClass int // the place in the list of the class

	Active   bool                    // room may be made; otherwise that failed, or is not wanted
	listed   bool                    // active with too many groups to mark them: the leaf lists the class
	atActive int                     // the place in that list
	Last     []api.PreemptionAttempt // that failed last
}

// FirstAsk is the first ask of a class in some order that no limit holds back; nil if there is
// none.
func (c *Class) FirstAsk(compare func(a, b *ledger.Request) int) (first *ledger.Request) {
	for _, g := range c.Groups {
		if r := g.First(); r != nil && r.HeldBack() == nil && (first == nil || compare(r, first) < 0) {
			first = r
		}
	}
	return first
}

// MayPreempt reports whether room may be made for an ask now.
func (b *Backlog) MayPreempt(r *ledger.Request) bool {
	g := b.GroupOf(r)
	return g != nil && g.Leaf.Active
}
