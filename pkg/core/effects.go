package core

import "github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"

// Effects are what one step caused and the outside must hear, in the order in
// which it must hear it. Each is one of
//
//	*si.Allocation            placed, or an adopted allocation echoed
//	*si.AllocationRelease     released, or to be released by the resource manager
//	*si.RejectedAllocation    refused, with the reason
//	*si.AcceptedApplication   *si.RejectedApplication   *si.UpdatedApplication
//	*si.AcceptedNode          *si.RejectedNode
//	*si.UpdateContainerSchedulingStateRequest   why an ask waits
//	Nomination                an ask has a node in view, or no more
//	Preemption                others are told to go, for no nomination
//	*si.EventRecord           something to be recorded, without answer
//
// The messages belong to the receiver, who must treat the resources in them as
// read-only: equal asks share them.
type Effects []any

// A Nomination says that room is being made for an ask on a node, where it will
// run unless a better place turns up; without a node, that this is so no more.
// It is told before those are who make the room, and not when the ask is placed.
type Nomination struct {
	Application ApplicationID
	Key         AllocationKey
	Node        NodeID
	Reason      string              // for people
	Plan        *preemptor.Decision // who makes the room; shared and never changed, nil without a node
}

// A Preemption says why allocations are told to go where no nomination says it:
// for an ask that must run on their node, or because a queue uses more than its
// max, and then it names neither ask nor node. It is told before those are who go.
type Preemption struct {
	Application ApplicationID
	Key         AllocationKey
	Queue       QueuePath // of the ask, or the one that gives back
	Node        NodeID
	Plan        *preemptor.Decision // shared and never changed
}
