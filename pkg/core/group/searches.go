package group

import (
	"maps"

	"github.com/narwhal-scheduler/narwhal/pkg/core/ledger"
)

// searches are how far the asks of a task group were compared with its placeholders.
type searches struct {
	ready bool // a placeholder may be replaced
	waits bool // an ask took the place of none, and is tried again later

	byClass map[string]*search
	freed   uint64 // how many nodes were freed, and placeholders offered, when they began
	offered uint64
	again   bool // those that are over are to begin anew
	goesOn  bool // one is not over, and goes on in a later batch
}

// A search is how far the asks of a class were compared. It goes on in the next batch.
type search struct {
	fits *ledger.Request // the first placeholder that they fit in; nil if none was found so far
	last *ledger.Request // the first one of the node that was looked at last; nil if none was
	over bool            // they are refused everywhere
}

// of are the searches of a task group.
func (s *Groups) of(g *ledger.TaskGroup) *searches {
	work := s.replacing[g]
	if work == nil {
		if s.replacing == nil {
			s.replacing = map[*ledger.TaskGroup]*searches{}
		}
		work = &searches{}
		s.replacing[g] = work
	}
	return work
}

// begin has those begin anew that are over if anything may help them, and drops those of classes without asks.
func (w *searches) begin(g *ledger.TaskGroup, freed uint64, hasAsks func(class string) bool) {
	if w.again || w.freed != freed || w.offered != g.Offered {
		maps.DeleteFunc(w.byClass, func(class string, at *search) bool { return at.over || !hasAsks(class) })
	}
	w.again, w.freed, w.offered, w.goesOn = false, freed, g.Offered, false
}

// search is that for the asks of a class, or a new one.
func (w *searches) search(g *ledger.TaskGroup, class string) *search {
	at := w.byClass[class]
	if at == nil || at.fits != nil && !g.Free.Has(at.fits) {
		at = &search{}
		if w.byClass == nil {
			w.byClass = map[string]*search{}
		}
		w.byClass[class] = at
	}
	return at
}
