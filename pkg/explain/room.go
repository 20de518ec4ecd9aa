package explain

import (
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// leftFor is what a node has free for an ask beside what is kept for others.
func leftFor(n *api.NodeView, ask *api.AskView) resources.Amounts {
	kept, _, _ := keptForOthers(n, ask)
	return n.Available.Minus(kept)
}

// capacityFor is the capacity of a node without what is kept for others than an ask: where nothing else waits,
// nothing is kept.
func capacityFor(n *api.NodeView, ask *api.AskView) resources.Amounts {
	kept, _, _ := keptForOthers(n, ask)
	return less(n.Capacity, kept)
}

// keptFor is what a node keeps for an ask that has reserved it, or for which room is made there.
func (a *Answer) keptFor(n *api.NodeView, key api.AllocationKey) resources.Amounts {
	for i := range n.Reservations {
		if n.Reservations[i].Key == key {
			return n.Reservations[i].Amounts
		}
	}
	for _, app := range a.view.Applications {
		if ask := app.Ask(key); ask != nil {
			return ask.Amounts
		}
	}
	return nil
}

// short is what has to become free of the kinds that are asked for: more than is asked for
// where more is used than there is.
func short(ask, left resources.Amounts) resources.Amounts {
	var more resources.Amounts
	for i, asked := range ask {
		if lacking := asked - left.Of(resources.Kind(i)); asked > 0 && lacking > 0 {
			more.Set(resources.Kind(i), lacking)
		}
	}
	return more
}

// sumWith is amounts with those of asks that come before.
func sumWith(amounts resources.Amounts, before []earlier) resources.Amounts {
	sum := amounts.Clone()
	for _, one := range before {
		sum.Add(one.ask.Amounts)
	}
	return sum
}
