package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// Ask explains an ask or an allocation of an application. It takes time linear
// in the nodes for an ask, logarithmic for an allocation, and returns an error
// that wraps ErrUnknown if there is no such application or key. Kinds must be
// those of the view.
func Ask(view *core.View, kinds *resources.Kinds, application core.ApplicationID, key core.AllocationKey) (*Answer, error) {
	app, ok := find(view.Applications, application, func(a *core.ApplicationView) core.ApplicationID { return a.ID })
	if !ok {
		return nil, fmt.Errorf("application %s %w", application, ErrUnknown)
	}
	a := &Answer{Queue: app.Queue, Kinds: kinds}
	if placed, ok := find(app.Allocations, key, keyOf); ok {
		a.Allocation = placed
		a.Leaving = leaving(view, kinds, placed)
		return a, nil
	}
	i, ok := slices.BinarySearchFunc(app.Asks, key, func(ask core.AskView, key core.AllocationKey) int {
		return cmp.Compare(ask.Key, key)
	})
	if !ok {
		return nil, fmt.Errorf("allocation %s of application %s %w", key, application, ErrUnknown)
	}
	ask := &app.Asks[i]
	a.Allocation, a.Reason, a.Detail, a.Nominated, a.Hunts = ask.Allocation, ask.Reason, ask.Detail, ask.Nominated, ask.Attempts
	if ask.Plan != nil {
		a.Plan = planOf(ask, kinds)
	}
	a.Nodes = groups(view, ask)
	a.Quota = levels(view, ask, app.Queue)
	a.Before = before(app, ask)
	return a, nil
}

func keyOf(a *core.Allocation) core.AllocationKey { return a.Key }

// find looks an item up in a list that is sorted by a name.
func find[T any, N cmp.Ordered](list []T, name N, of func(T) N) (T, bool) {
	i, ok := slices.BinarySearchFunc(list, name, func(item T, name N) int { return cmp.Compare(of(item), name) })
	if !ok {
		var none T
		return none, false
	}
	return list[i], true
}

func planOf(ask *core.AskView, kinds *resources.Kinds) *Plan {
	return &Plan{At: ask.Planned, Verdict: ask.Plan.Summary(kinds), Lines: strings.Split(ask.Plan.Explain(kinds), "\n")}
}

// before counts the asks of the same application that are tried first.
func before(app *core.ApplicationView, ask *core.AskView) int {
	count := 0
	for i := range app.Asks {
		other := &app.Asks[i]
		if other.Priority > ask.Priority || other.Priority == ask.Priority && other.Created.Before(ask.Created) {
			count++
		}
	}
	return count
}

// leaving says why an allocation was told to go; nil if it was not.
func leaving(view *core.View, kinds *resources.Kinds, placed *core.Allocation) *Eviction {
	n, ok := find(view.Nodes, placed.Node, func(n *core.NodeView) core.NodeID { return n.ID })
	if !ok {
		return nil
	}
	told, ok := find(n.Evictions, placed.Key, func(l core.Eviction) core.AllocationKey { return l.Key })
	if !ok {
		return nil
	}
	l := &Eviction{For: told.For, Trigger: told.Trigger.String(), Since: told.Since, Stuck: told.Overdue}
	if told.Trigger == preemptor.Quota {
		return l
	}
	for _, app := range view.Applications {
		i, ok := slices.BinarySearchFunc(app.Asks, told.For, func(ask core.AskView, key core.AllocationKey) int {
			return cmp.Compare(ask.Key, key)
		})
		if ok && app.Asks[i].Plan != nil {
			l.Plan = planOf(&app.Asks[i], kinds)
		}
	}
	return l
}
