package core

import (
	"cmp"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/order"
)

// An askGroup is the asks of one class in one application, the oldest first. It
// stands in the order of its application while the class may be tried.
//
//	slots = the asks, and gaps where one went: a slot whose ask is not of the group
//	live  = the slots that are no gaps
//	no slot before head is live
type askGroup struct {
	asks        *[]waitingAsk // of the backlog
	class       *class
	application *waitingApplication
	leaf        *leafClass
	atClass     int32 // the places in the lists of the class and of the leafClass
	atLeaf      int32

	links order.Links[*askGroup]
	place *ledger.Request // the first ask, by which it stands in the order
	own   summary
	below summary // of the subtree of the application's order

	slots  []*ledger.Request
	few    [4]*ledger.Request // the memory of the first slots
	head   int
	live   int
	hinted int // live asks of which the resource manager knows that no node can take them
}

// A groupSet is the groups of an application by class. Most applications have asks of one
// class at a time, which needs no map.
type groupSet struct {
	first *askGroup // nil if there is none, or it went before the others
	more  map[*class]*askGroup
}

func (s *groupSet) of(c *class) *askGroup {
	if s.first != nil && s.first.class == c {
		return s.first
	}
	return s.more[c]
}

// add adds the group of a class that has none.
func (s *groupSet) add(g *askGroup) {
	if s.first == nil {
		s.first = g
		return
	}
	if s.more == nil {
		s.more = map[*class]*askGroup{}
	}
	s.more[g.class] = g
}

func (s *groupSet) remove(g *askGroup) {
	if s.first == g {
		s.first = nil
		return
	}
	delete(s.more, g.class)
}

// all visits the groups, in no order.
func (s *groupSet) all(yield func(*askGroup) bool) {
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
func (g *askGroup) Before(other *askGroup) bool {
	if g.class.priority != other.class.priority {
		return g.class.priority > other.class.priority
	}
	return byAge(g.place, other.place) < 0
}

// Links are the place in the order of the application.
func (g *askGroup) Links() *order.Links[*askGroup] { return &g.links }

// Summarise works out the summary of a subtree of the application's order.
func (g *askGroup) Summarise() bool {
	return g.below.become(&g.own, g.links.Left.subtree(), g.links.Right.subtree())
}

func (g *askGroup) subtree() *summary {
	if g == nil {
		return nil
	}
	return &g.below
}

// isLive reports whether a slot holds an ask of the group, and set whether it is to.
func (g *askGroup) isLive(r *ledger.Request) bool { return (*g.asks)[r.Slot].group == g }

func (g *askGroup) set(r *ledger.Request, group *askGroup) { (*g.asks)[r.Slot].group = group }

// first is the first ask in order; nil if there is none.
func (g *askGroup) first() *ledger.Request {
	if g.live == 0 {
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
func (g *askGroup) add(r *ledger.Request) (moved int) {
	at := len(g.slots)
	if at > g.head && byAge(g.slots[at-1], r) >= 0 {
		found, again := slices.BinarySearchFunc(g.slots[g.head:], r, byAge)
		at = found + g.head
		if again { // its own gap
			g.set(r, g)
			g.live++
			return 0
		}
	}
	g.set(r, g)
	g.live++
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
func (g *askGroup) remove(r *ledger.Request) {
	g.set(r, nil)
	g.live--
	switch {
	case g.live == 0:
		clear(g.slots)
		g.slots, g.head = g.slots[:0], 0
	case len(g.slots) > 64 && g.live < len(g.slots)/2:
		g.compact()
	}
}

// compact closes the gaps.
func (g *askGroup) compact() {
	kept := g.slots[:0]
	for _, r := range g.slots[g.head:] {
		if g.isLive(r) {
			kept = append(kept, r)
		}
	}
	clear(g.slots[len(kept):])
	g.slots, g.head = kept, 0
}

// all visits the asks in order.
func (g *askGroup) all(yield func(*ledger.Request) bool) {
	for _, r := range g.slots[g.head:] {
		if g.isLive(r) && !yield(r) {
			return
		}
	}
}

func byAge(a, b *ledger.Request) int {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Number, b.Number))
}

// isTried reports whether the asks of a group are to be tried: placed, or room made for
// them.
func (g *askGroup) isTried() bool {
	return !g.class.unschedulable || g.class.paused == nil && g.leaf.active
}

// A leafClass is a class in one leaf queue: its groups, in no order, and whether room
// may be made for its asks.
type leafClass struct {
	class   *class
	leaf    *waitingQueue
	groups  []*askGroup
	asks    int // in the groups
	atClass int // the place in the list of the class

	active   bool                    // room may be made; otherwise that failed, or is not wanted
	listed   bool                    // active with too many groups to mark them: the leaf lists the class
	atActive int                     // the place in that list
	queued   bool                    // in the retry queue
	last     []api.PreemptionAttempt // that failed last
}

// firstAsk is the first ask of a class in some order that no limit holds back; nil if there is
// none.
func (c *class) firstAsk(compare func(a, b *ledger.Request) int) (first *ledger.Request) {
	for _, g := range c.groups {
		if r := g.first(); r != nil && r.HeldBack() == nil && (first == nil || compare(r, first) < 0) {
			first = r
		}
	}
	return first
}

// mayPreempt reports whether room may be made for an ask now.
func (b *backlog) mayPreempt(r *ledger.Request) bool {
	g := b.groupOf(r)
	return g != nil && g.leaf.active
}
