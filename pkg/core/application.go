package core

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/order"
	"github.com/narwhal-scheduler/narwhal/pkg/core/timers"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// An application is a group of asks and allocations that came together. It
// stands in the order of its leaf queue while it has asks that can be tried.
//
//	used    = the sum of its allocations
//	pending = the sum of its asks
type application struct {
	// What a search and the orders read comes first, so that it is close together.
	links order.Links[*application]
	place applicationPlace
	own   summary // of its groups
	below summary // of the subtree of the queue's order

	id        api.ApplicationID
	queue     *queue
	user      string
	byUser    *account // the lowest of the limits of its user; nil if there are none
	byGroup   *account
	line      *line // while it stands in the order of one
	groups    []string
	tags      map[string]string
	submitted time.Time // or when its oldest ask was created, if that is earlier

	state      api.State
	dated      bool  // submitted was stated, so it stays
	changed    bool  // recorded, and not reacted to yet
	ran        bool  // something was placed since it had nothing
	counts     bool  // for limits of applications: it ran, or quota is kept for it
	keeps      int32 // asks for which quota is kept
	since      time.Time
	completion *timers.Timer[due] // when it ends by itself; nil before that is first known
	failures   *failures          // nil before any
	gang       *gang              // nil if it has no task group

	used        resources.Sum
	pending     resources.Sum
	allocations []*request
	asks        []*request
	classes     groupSet
	queued      order.Tree[*askGroup]

	view     *api.ApplicationView
	viewedAt uint64 // the stamp when the view was made
}

// failures are what is counted of tries that led to nothing. Few applications have any.
type failures struct {
	loop    loopGuard
	backoff appBackoff
}

// failed is what is counted of an application.
func (a *application) failed() *failures {
	if a.failures == nil {
		a.failures = &failures{}
	}
	return a.failures
}

// backsOff reports whether no ask of the application is tried, as many failed.
func (a *application) backsOff() bool { return a.failures != nil && a.failures.backoff.pauses() }

// applicationPlace is what decides the order of the applications of a leaf.
type applicationPlace struct {
	priority  int32
	submitted int64 // nanoseconds
	share     resources.Share
}

// Before orders by priority first, unless the queue ignores it; then by age or
// share, as the queue is configured; then by ID.
func (a *application) Before(other *application) bool {
	priority := cmp.Compare(other.place.priority, a.place.priority)
	return a.compare(other, priority) < 0
}

// compare orders two applications of a queue that compare in a way by priority.
func (a *application) compare(other *application, priority int) int {
	first := a.compareFirst(other)
	if a.ignoresPriority() {
		priority, first = first, priority
	}
	if order := cmp.Or(priority, first, cmp.Compare(a.place.submitted, other.place.submitted)); order != 0 {
		return order
	}
	return strings.Compare(string(a.id), string(other.id))
}

// compareFirst is what decides first beside priority: share or age.
func (a *application) compareFirst(other *application) int {
	if a.queue.properties.ApplicationSort == api.Fair {
		return a.place.share.Compare(other.place.share)
	}
	return cmp.Compare(a.place.submitted, other.place.submitted)
}

func (a *application) ignoresPriority() bool { return a.queue.properties.IgnorePriority }

func (a *application) comesLater(other *application) bool { return a.compareFirst(other) > 0 }

func (a *application) placePriority() int32 { return a.place.priority }

func (a *application) summaries() (own, below *summary) { return &a.own, &a.below }

// Links are the place in the order of the queue.
func (a *application) Links() *order.Links[*application] { return &a.links }

// Summarise works out the summary of a subtree of the queue's order.
func (a *application) Summarise() bool {
	return a.below.become(&a.own, a.links.Left.subtree(), a.links.Right.subtree())
}

func (a *application) subtree() *summary {
	if a == nil {
		return nil
	}
	return &a.below
}

// summarise brings the summary of the groups up to date and reports whether it
// changed.
func (a *application) summarise() bool {
	if top := a.queued.Root(); top != nil {
		return a.own.set(top.below)
	}
	return a.own.set(emptySummary)
}

// placed is what decides the order now.
func (a *application) placed() applicationPlace {
	place := applicationPlace{priority: a.own.top, submitted: a.submitted.UnixNano()}
	if a.queue.properties.ApplicationSort == api.Fair {
		place.share = a.queue.shareOf(a.used.Amounts)
	}
	return place
}

// idle reports whether the application has nothing left.
func (a *application) idle() bool { return len(a.allocations) == 0 && len(a.asks) == 0 }

// isDone reports whether the application has nothing left to run: it is idle, or what ran has
// ended and only placeholders are left, which nothing will replace.
func (a *application) isDone() bool {
	return a.idle() || a.gang != nil && a.gang.worked && len(a.asks) == 0 && len(a.allocations) == a.gang.placeholders
}

// An askGroup is the asks of one class in one application, the oldest first. It
// stands in the order of its application while the class may be tried.
//
//	slots = the asks, and gaps where one went: a slot whose ask is not of the group
//	live  = the slots that are no gaps
//	no slot before head is live
type askGroup struct {
	class       *class
	application *application
	leaf        *leafClass
	atClass     int32 // the places in the lists of the class and of the leafClass
	atLeaf      int32

	links order.Links[*askGroup]
	place *request // the first ask, by which it stands in the order
	own   summary
	below summary // of the subtree of the application's order

	slots  []*request
	few    [4]*request // the memory of the first slots
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

// isLive reports whether a slot holds an ask of the group.
func (g *askGroup) isLive(r *request) bool { return r.group == g }

// first is the first ask in order; nil if there is none.
func (g *askGroup) first() *request {
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
func (g *askGroup) add(r *request) (moved int) {
	at := len(g.slots)
	if at > g.head && byAge(g.slots[at-1], r) >= 0 {
		found, again := slices.BinarySearchFunc(g.slots[g.head:], r, byAge)
		at = found + g.head
		if again { // its own gap
			r.group = g
			g.live++
			return 0
		}
	}
	r.group = g
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
func (g *askGroup) remove(r *request) {
	r.group = nil
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
func (g *askGroup) all(yield func(*request) bool) {
	for _, r := range g.slots[g.head:] {
		if g.isLive(r) && !yield(r) {
			return
		}
	}
}

func byAge(a, b *request) int {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.number, b.number))
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
	leaf    *queue
	groups  []*askGroup
	asks    int // in the groups
	atClass int // the place in the list of the class

	active   bool                    // room may be made; otherwise that failed, or is not wanted
	listed   bool                    // active with too many groups to mark them: the leaf lists the class
	atActive int                     // the place in that list
	queued   bool                    // in the retry queue
	last     []api.PreemptionAttempt // that failed last

	unfinished *unfinished // the attempt that goes on in a later batch
}

// firstAsk is the first ask of a class in some order that no limit holds back; nil if there is
// none.
func (c *class) firstAsk(compare func(a, b *request) int) (first *request) {
	for _, g := range c.groups {
		if r := g.first(); r != nil && r.heldBack() == nil && (first == nil || compare(r, first) < 0) {
			first = r
		}
	}
	return first
}
