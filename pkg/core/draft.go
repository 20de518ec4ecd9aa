package core

import (
	"sync"
	"sync/atomic"
)

// A draft is what is left to do for a view: the lists of the objects that changed are
// not in order. Whoever gets the view does that, so that the partition can go on.
type draft struct {
	once         sync.Once
	done         atomic.Bool
	before       *draft // of the view before, whose objects this one shares
	nodes        []*NodeView
	applications []*ApplicationView
}

// Complete puts the lists of a view from Draft in order. It may be called from any
// goroutine and more than once, and returns when that is done.
func (v *View) Complete() { v.draft.complete() }

func (d *draft) complete() {
	if d == nil {
		return
	}
	d.once.Do(func() {
		d.before.complete()
		for _, n := range d.nodes {
			sortByKey(n.Allocations, (*Allocation).key)
			sortByKey(n.ForeignAllocations, (*Allocation).key)
		}
		for _, a := range d.applications {
			sortByKey(a.Allocations, (*Allocation).key)
			sortByKey(a.Asks, func(ask AskView) AllocationKey { return ask.Key })
		}
		d.before, d.nodes, d.applications = nil, nil, nil
		d.done.Store(true)
	})
}

func (a *Allocation) key() AllocationKey { return a.Key }

// begin is the draft of a view after this one. Nil is that of the first.
func (d *draft) begin() *draft {
	if d == nil || d.done.Load() {
		return new(draft)
	}
	return &draft{before: d}
}
