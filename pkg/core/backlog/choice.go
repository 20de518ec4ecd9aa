package backlog

import (
	"cmp"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
	"github.com/narwhal-scheduler/narwhal/pkg/core/order"
)

// A choice is the best ask that a search has found so far below the items of one order:
// the queues of a parent, or the applications of a leaf. The items stand in the order of
// the highest ask that waits, and are compared by the highest that can be tried: an ask
// that waits for room lifts nothing beside it.
type choice[T any] struct {
	ask      *ledger.Request
	item     T
	priority int32 // of the ask, as the order sees it
	// run is the priority by which the items stand in the order that were looked at last
	// and come later: what follows among these comes later too.
	run  int32
	over bool // nothing that follows can be better
}

// A ranked item stands in an order of priority first, or of what else there is first.
type ranked[T any] interface {
	comparable
	Links() *order.Links[T]
	ignoresPriority() bool
	// placePriority is the priority by which it stands in the order.
	placePriority() int32
	// compare orders items that compare in a way by priority.
	compare(other T, priority int) int
	// comesLater reports whether what is compared before priorities where those are
	// ignored is more than that of another item.
	comesLater(other T) bool
	summaries() (own, below *Summary)
	// count counts that a search looked at it.
	count(*api.Work)
	// search is the best ask of the item and its priority as the order sees it.
	search(s *search, left *headroom) (*ledger.Request, int32)
}

// findBest looks for the best ask below a subtree of an order.
func findBest[T ranked[T]](s *search, top T, left *headroom, best *choice[T]) {
	var none T
	if top == none || best.over {
		return
	}
	top.count(s.Work)
	if _, below := top.summaries(); !s.mayHold(below, left) || !mayBeat(s, top, best) {
		return
	}
	findBest(s, top.Links().Left, left, best)
	if !best.over {
		visit(s, top, left, best)
	}
	findBest(s, top.Links().Right, left, best)
}

// mayBeat reports whether anything in a subtree may come before the best.
func mayBeat[T ranked[T]](s *search, top T, best *choice[T]) bool {
	if best.ask == nil {
		return true
	}
	_, below := top.summaries()
	switch most := s.potential(below); {
	case most != best.priority:
		return most > best.priority
	case top.ignoresPriority() || below.Top < best.run:
		return true
	}
	var none T
	for top.Links().Right != none {
		top = top.Links().Right
	}
	return top.placePriority() < best.run
}

// visit looks for an ask of one item that comes before the best.
func visit[T ranked[T]](s *search, item T, left *headroom, best *choice[T]) {
	own, _ := item.summaries()
	if best.ask != nil {
		if item.ignoresPriority() && item.comesLater(best.item) {
			best.over = true
			return
		}
		switch most := s.potential(own); {
		case most < best.priority:
			return
		case most == best.priority && item.compare(best.item, 0) > 0:
			best.run = item.placePriority()
			return
		}
	}
	if !s.mayHold(own, left) {
		return
	}
	r, priority := item.search(s, left)
	if r == nil {
		return
	}
	if best.ask == nil || item.compare(best.item, cmp.Compare(best.priority, priority)) < 0 {
		*best = choice[T]{r, item, priority, item.placePriority(), false}
	}
}

// potential is the highest priority that an ask of a part of the backlog can have that
// may be tried.
func (s *search) potential(part *Summary) int32 {
	if s.isRoom {
		return part.Top
	}
	return part.ready
}
