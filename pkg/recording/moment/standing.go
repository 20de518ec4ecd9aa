package moment

import "github.com/narwhal-scheduler/narwhal/pkg/core/api"

// standing is what a view shows as the events that lead there, for readers that know nothing of the time before.
func standing(v *api.View) (fx api.Effects) {
	fx = append(fx, &api.Reconfigured{After: v.Config.Root, Total: v.Capacity})
	for _, n := range v.Nodes {
		fx = append(fx, &api.NodeAdded{ID: n.ID, Capacity: n.Capacity, Attributes: n.Attributes, Schedulable: n.Schedulable, Total: v.Capacity})
		for _, a := range n.ForeignAllocations {
			fx = append(fx, api.ForeignAdded{Allocation: a})
		}
	}
	for _, app := range v.Applications {
		fx = append(fx, &api.ApplicationAccepted{ID: app.ID, Queue: app.Queue, User: app.User, Groups: app.Groups, Tags: app.Tags})
		if app.State != api.New {
			fx = append(fx, &api.ApplicationChanged{ID: app.ID, Queue: app.Queue, From: api.New, State: app.State})
		}
		for _, a := range app.Allocations {
			fx = append(fx, api.Adopted{Allocation: a})
		}
		for _, a := range app.Asks {
			fx = append(fx, api.AskAdded{Allocation: a.Allocation})
		}
	}
	return fx
}
