package explain

import (
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// levels are the queues from the leaf to the root, with what the ask lacks in
// each. What is kept for other asks counts, as far as it is kept from this one.
func levels(view *api.View, ask *api.AskView, leaf api.QueuePath) []Level {
	var list []Level
	for q := view.Root; q != nil; q = q.Towards(leaf) {
		nominated := q.Nominated
		if ask.Nominated != "" {
			nominated = less(nominated, ask.Amounts)
		}
		var kept resources.Amounts
		if !nominated.IsZero() {
			kept = keptFrom(view, ask, leaf, q.Path)
		}
		l := Level{Queue: q.Path, Max: q.Max, Used: q.Used, Nominated: nominated, Guaranteed: q.Guaranteed}
		for i, asked := range ask.Amounts {
			kind := resources.Kind(i)
			most := q.Max.Of(kind)
			if over := resources.Total(q.Used.Of(kind), kept.Of(kind), asked, -most); asked > 0 && most != resources.Unlimited && over > 0 {
				l.Lacking.Set(kind, over)
			}
		}
		list = append(list, l)
	}
	slices.Reverse(list)
	return list
}

// less is what is left of some amounts without others, nothing where that is
// negative.
func less(from, taken resources.Amounts) resources.Amounts {
	left := from.Minus(taken)
	for i := range left {
		left[i] = max(left[i], 0)
	}
	return left
}
