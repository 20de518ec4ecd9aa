package core

// Effects are what one step caused and the outside must hear, in the order in
// which it must hear it. Each is one of
//
//	*si.Allocation            placed, or an adopted allocation echoed
//	*si.AllocationRelease     released, or to be released by the resource manager
//	*si.RejectedAllocation    refused, with the reason
//	*si.AcceptedApplication   *si.RejectedApplication   *si.UpdatedApplication
//	*si.AcceptedNode          *si.RejectedNode
//	*si.UpdateContainerSchedulingStateRequest   why an ask waits
//	*si.EventRecord           something to be recorded, without answer
//
// The messages belong to the receiver, who must treat the resources in them as
// read-only: equal asks share them.
type Effects []any
