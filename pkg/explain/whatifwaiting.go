package explain

import (
	"cmp"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// A StillWaiting is asks that wait now and would go on waiting, all for the same reason.
type StillWaiting struct {
	Reason api.Reason
	Asks   int
	First  api.AllocationKey // the one that waits longest
}

// A Staying is what would stay on a node that takes nothing new.
type Staying struct {
	Node        api.NodeID
	Allocations int
}

// stillWaiting are the asks that wait before and after, but for those that others tells of, the most first; and how many wait before.
// Asks of the question do not count.
func stillWaiting(before, after *api.View, asked []*api.Allocation, others []AskOutcome) (waited int, list []StillWaiting) {
	waits := waitingNow(before)
	for _, ask := range asked {
		delete(waits, ask.Key)
	}
	waited = len(waits)
	for i := range others {
		delete(waits, others[i].Key)
	}
	by := map[api.Reason]*StillWaiting{}
	first := map[api.Reason]*api.Allocation{}
	for _, app := range after.Applications {
		for i := range app.Asks {
			ask := &app.Asks[i]
			if !waits[ask.Key] {
				continue
			}
			one := by[ask.Reason]
			if one == nil {
				one = &StillWaiting{Reason: ask.Reason}
				by[ask.Reason] = one
			}
			one.Asks++
			if old := first[ask.Reason]; old == nil || cmp.Or(ask.Created.Compare(old.Created), strings.Compare(string(ask.Key), string(old.Key))) < 0 {
				first[ask.Reason], one.First = ask.Allocation, ask.Key
			}
		}
	}
	for _, one := range by { // sorted below
		list = append(list, *one)
	}
	slices.SortFunc(list, func(a, b StillWaiting) int {
		return cmp.Or(cmp.Compare(b.Asks, a.Asks), cmp.Compare(a.Reason, b.Reason))
	})
	return waited, list
}

// staying is what would stay on nodes that are drained, in their order.
func staying(after *api.View, drained []api.NodeID) (list []Staying) {
	for _, id := range drained {
		if n, known := find(after.Nodes, id, func(n *api.NodeView) api.NodeID { return n.ID }); known {
			list = append(list, Staying{Node: id, Allocations: len(n.Allocations)})
		}
	}
	return list
}
