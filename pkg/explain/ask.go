package explain

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// Ask explains an ask or an allocation of an application. It takes time linear in
// the size of the application, for an ask also in the nodes, and for an evicted
// allocation in all asks. It returns an error that wraps ErrUnknown if there is no
// such application or key. Kinds must be those of the view. What would make an ask fit Try finds out.
func Ask(view *api.View, kinds *resources.Kinds, application api.ApplicationID, key api.AllocationKey) (*Answer, error) {
	app, ask := view.Ask(application, key)
	if app == nil {
		return nil, fmt.Errorf("application %s %w", application, ErrUnknown)
	}
	a := &Answer{Queue: app.Queue, Kinds: kinds}
	for _, placed := range app.Allocations {
		if placed.Key == key {
			a.Allocation = placed
			a.Eviction = evictionOf(view, kinds, placed)
			return a, nil
		}
	}
	if ask == nil {
		return nil, fmt.Errorf("allocation %s of application %s %w", key, application, ErrUnknown)
	}
	a.Allocation, a.Reason, a.Detail, a.Nominated, a.Attempts = ask.Allocation, ask.Reason, Detail(ask.Waiting, kinds), ask.Nominated, ask.Attempts
	if ask.Plan != nil {
		a.Plan = NewPlan(ask.Planned, ask.Plan, kinds)
	}
	a.Reserved, a.SettlesAt = ask.Reserved, view.SettlesAt
	a.view, a.ask, a.bounds = view, ask, boundsOf(view, ask)
	a.Nodes = a.groups(nil)
	asked := a.startsWith()
	a.Quota, a.Limits = levels(view, ask, app, asked), limits(view, ask, app, asked)
	a.Lack = lackOf(view, kinds, ask, app.Queue, asked)
	a.Before = before(app, ask)
	return a, nil
}

// find looks an item up in a list that is sorted by a name.
func find[T any, N cmp.Ordered](list []T, name N, of func(T) N) (T, bool) {
	i, ok := slices.BinarySearchFunc(list, name, func(item T, name N) int { return cmp.Compare(of(item), name) })
	if !ok {
		var none T
		return none, false
	}
	return list[i], true
}

// before counts the asks of the same application that are tried first.
func before(app *api.ApplicationView, ask *api.AskView) int {
	count := 0
	for i := range app.Asks {
		if app.Asks[i].InOrder(ask) < 0 {
			count++
		}
	}
	return count
}

// evictionOf says why an allocation is evicted; nil if it is not.
func evictionOf(view *api.View, kinds *resources.Kinds, placed *api.Allocation) *Eviction {
	n, ok := find(view.Nodes, placed.Node, func(n *api.NodeView) api.NodeID { return n.ID })
	if !ok {
		return nil
	}
	i := slices.IndexFunc(n.Evictions, func(e api.Eviction) bool { return e.Key == placed.Key })
	if i < 0 {
		return nil
	}
	is := &n.Evictions[i]
	e := &Eviction{For: is.For, Trigger: is.By(), Since: is.Since, Overdue: is.Overdue}
	if is.Reported || is.Trigger == preemptor.Quota {
		return e
	}
	for _, app := range view.Applications {
		if ask := app.Ask(is.For); ask != nil && ask.Plan != nil {
			e.Plan = NewPlan(ask.Planned, ask.Plan, kinds)
		}
	}
	return e
}
