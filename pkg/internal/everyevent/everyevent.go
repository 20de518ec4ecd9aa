// Package everyevent has one event of each type, for tests of packages that must know all
// of them.
package everyevent

import (
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/outcomes"
	"github.com/narwhal-scheduler/narwhal/pkg/reports"
)

// Events is one event of each type that a partition can have, or a reader of its events. Those about an allocation have
// one without anything in it.
func Events() []api.Event {
	a := new(api.Allocation)
	return []api.Event{
		api.AskAdded{Allocation: a},
		api.AskResized{Allocation: a},
		&api.AskEnded{Allocation: a},
		api.Placed{Allocation: a},
		api.Adopted{Allocation: a},
		&api.Resized{Allocation: a}, &api.Ended{Allocation: a},
		&api.EvictionRequested{Allocation: a}, &api.ReleaseRequested{Allocation: a}, &api.AllocationRejected{},
		api.ForeignAdded{Allocation: a},
		api.ForeignRemoved{Allocation: a},
		&api.Claimed{Allocation: a, Plan: new(preemptor.Decision)}, &api.ClaimEnded{Allocation: a, Nominated: true, End: api.EndOfRoom}, &api.PreemptionPlanned{},
		&api.Unschedulable{Allocation: a}, &api.AskReport{Allocation: a}, &reports.AskWaits{Allocation: a},
		&api.ApplicationReport{}, &api.QueueReport{}, &api.EvictionOverdue{Allocation: a}, &outcomes.VictimsWasted{},
		&api.ApplicationAccepted{}, &api.ApplicationRejected{}, &api.ApplicationChanged{}, &api.ApplicationGone{},
		&api.ApplicationGroup{}, &api.ApplicationHeld{}, &api.GroupChanged{},
		&api.NodeAdded{}, &api.NodeRejected{}, &api.NodeResized{}, &api.NodeAttributes{}, &api.NodeSchedulable{}, &api.NodeRemoved{},
		&api.QueueAdded{}, &api.QueueRemoved{}, &api.Reconfigured{},
	}
}
