package core

// A draft is what is left to do for a view: the lists of the objects that are new in it
// are not in order.
type draft struct {
	nodes        []*NodeView
	applications []*ApplicationView
}

// Complete puts the lists of a view from Draft in order. It needs the partition no
// more, so it may be called from any goroutine, but views share objects: one after
// the other, in the order in which they were drafted.
func (v *View) Complete() {
	for _, n := range v.draft.nodes {
		sortByKey(n.Allocations, (*Allocation).key)
		sortByKey(n.ForeignAllocations, (*Allocation).key)
	}
	for _, a := range v.draft.applications {
		sortByKey(a.Allocations, (*Allocation).key)
		sortByKey(a.Asks, func(ask AskView) AllocationKey { return ask.Key })
	}
	v.draft = draft{}
}

func (a *Allocation) key() AllocationKey { return a.Key }
