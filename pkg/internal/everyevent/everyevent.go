// Package everyevent has one event of each type, for tests of packages that must know all
// of them.
package everyevent

import (
	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/outcomes"
	"github.com/narwhal-scheduler/narwhal/pkg/reports"
)

// Events is one event of each type that a partition can have, or a reader of its events. Those about an allocation have
// one without anything in it.
func Events() []core.Event {
	a := new(core.Allocation)
	return []core.Event{
		core.AskAdded{Allocation: a},
		core.AskResized{Allocation: a},
		&core.AskEnded{Allocation: a},
		core.Placed{Allocation: a},
		core.Adopted{Allocation: a},
		&core.Resized{Allocation: a}, &core.Ended{Allocation: a},
		&core.EvictionRequested{Allocation: a}, &core.ReleaseRequested{Allocation: a}, &core.AllocationRejected{},
		core.ForeignAdded{Allocation: a},
		core.ForeignRemoved{Allocation: a},
		&core.Claimed{Allocation: a, Plan: new(preemptor.Decision)}, &core.ClaimEnded{Allocation: a, Nominated: true, End: core.EndOfRoom}, &core.PreemptionPlanned{},
		&core.Unschedulable{Allocation: a}, &core.AskReport{Allocation: a}, &reports.AskWaits{Allocation: a},
		&core.ApplicationReport{}, &core.QueueReport{}, &core.EvictionOverdue{Allocation: a}, &outcomes.VictimsWasted{},
		&core.ApplicationAccepted{}, &core.ApplicationRejected{}, &core.ApplicationChanged{}, &core.ApplicationGone{},
		&core.ApplicationGroup{}, &core.ApplicationHeld{},
		&core.NodeAdded{}, &core.NodeRejected{}, &core.NodeResized{}, &core.NodeAttributes{}, &core.NodeSchedulable{}, &core.NodeRemoved{},
		&core.QueueAdded{}, &core.QueueRemoved{}, &core.Reconfigured{},
	}
}
