package scheduler

import (
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/messages"
	"github.com/narwhal-scheduler/narwhal/pkg/outcomes"
	"github.com/narwhal-scheduler/narwhal/pkg/reports"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A messageKind is the kind of message that tells the resource manager of an
// event. Consecutive messages of one kind may share a callback.
type messageKind uint8

// The kinds. Events of kind noMessage are for recorders and counters only.
const (
	noMessage messageKind = iota
	placedMessage
	adoptedMessage // told to a resource manager that awaits an echo
	releasedMessage
	allocationRejectedMessage
	applicationAcceptedMessage
	applicationRejectedMessage
	applicationChangedMessage
	nodeAcceptedMessage
	nodeRejectedMessage
	unschedulableMessage
	nominatedMessage
	nominationClearedMessage
	waitsMessage      // for a WaitCallback
	groupMessage      // for a GroupCallback
	unansweredMessage // an unanswered, which is logged only
	stepMessage       // a step, which is recorded only
)

// kindOf is the kind of message that an event leads to.
func kindOf(event api.Event) messageKind {
	switch e := event.(type) {
	case api.Placed:
		return placedMessage
	case api.Adopted:
		return adoptedMessage
	case *api.Ended:
		if e.Cause.IsTold() {
			return releasedMessage
		}
	case *api.EvictionRequested, *api.ReleaseRequested:
		return releasedMessage
	case *api.AllocationRejected:
		return allocationRejectedMessage
	case *api.ApplicationAccepted:
		return applicationAcceptedMessage
	case *api.ApplicationRejected:
		return applicationRejectedMessage
	case *api.ApplicationChanged:
		return applicationChangedMessage
	case *api.NodeAdded:
		return nodeAcceptedMessage
	case *api.NodeRejected:
		return nodeRejectedMessage
	case *api.Unschedulable:
		return unschedulableMessage
	case *api.Claimed:
		if e.Plan != nil {
			return nominatedMessage
		}
	case *api.ClaimEnded:
		if e.Nominated && e.Waits() {
			return nominationClearedMessage
		}
	case *reports.AskWaits:
		return waitsMessage
	case *api.GroupChanged:
		return groupMessage
	case *api.AskReport:
		if e.Why != nil {
			return waitsMessage
		}
	}
	return noMessage
}

// A messageMaker makes messages of the scheduler-interface from events. It belongs to a
// dispatcher.
//
// Messages with equal resources or policies share them, so that a placement is one piece of
// memory. Receivers must not change them.
type messageMaker struct {
	kinds    *resources.Kinds
	shared   [sharedMax]sharedResource
	policies [4]*si.PreemptionPolicy // by what they allow
}

// A sharedResource is amounts as a message. It is kept until other amounts need its
// place.
type sharedResource struct {
	amounts resources.Amounts
	message *si.Resource
}

// resource is amounts as a message.
func (m *messageMaker) resource(amounts resources.Amounts) *si.Resource {
	kept := &m.shared[placeOf(amounts)]
	if kept.message == nil || !kept.amounts.Equal(amounts) {
		*kept = sharedResource{amounts, messages.ResourceOf(m.kinds, amounts)}
	}
	return kept.message
}

// placement fills in the message that an allocation runs on its node.
func (m *messageMaker) placement(partition string, a *api.Allocation, into *si.Allocation) {
	into.PartitionName, into.ApplicationID, into.AllocationKey = partition, string(a.Application), string(a.Key)
	into.NodeID, into.ResourcePerAlloc, into.Priority = string(a.Node), m.resource(a.Amounts), a.Priority
	into.TaskGroupName, into.Placeholder, into.Originator = a.TaskGroup, a.Placeholder, a.Originator
	if a.Preemptable.Stated {
		into.PreemptionPolicy = m.policy(a.Preemptable)
	}
}

// policy is a preemption policy as a message. There are four.
func (m *messageMaker) policy(p api.Preemptable) *si.PreemptionPolicy {
	place := 0
	if p.AllowSelf {
		place |= 1
	}
	if p.AllowOthers {
		place |= 2
	}
	if m.policies[place] == nil {
		m.policies[place] = &si.PreemptionPolicy{AllowPreemptSelf: p.AllowSelf, AllowPreemptOther: p.AllowOthers}
	}
	return m.policies[place]
}

// placedOf is the allocation of an event of kind placedMessage or adoptedMessage.
func placedOf(event any) *api.Allocation {
	switch e := event.(type) {
	case api.Placed:
		return e.Allocation
	case api.Adopted:
		return e.Allocation
	default:
		return nil
	}
}

// releaseOf is the message of an event of kind releasedMessage. An allocation of
// another scheduler has no application.
func releaseOf(partition string, event any) *si.AllocationRelease {
	a, why, text := releasedOf(event)
	return &si.AllocationRelease{
		PartitionName: partition, ApplicationID: string(a.Application), AllocationKey: string(a.Key),
		TerminationType: why, Message: text,
	}
}

// releasedOf is what the message of an event of kind releasedMessage says.
func releasedOf(event any) (a *api.Allocation, why si.TerminationType, text string) {
	switch e := event.(type) {
	case *api.EvictionRequested:
		return e.Allocation, si.TerminationType_PREEMPTED_BY_SCHEDULER, e.Message
	case *api.ReleaseRequested:
		return e.Allocation, terminationOf(e.Cause), e.Message
	case *api.Ended:
		return e.Allocation, si.TerminationType_STOPPED_BY_RM, e.Text()
	default:
		return new(api.Allocation), si.TerminationType_UNKNOWN_TERMINATION_TYPE, ""
	}
}

// terminationOf is the type of a release that is requested because of a gang.
func terminationOf(cause api.EndCause) si.TerminationType {
	if cause == api.CauseReplaced {
		return si.TerminationType_PLACEHOLDER_REPLACED
	}
	return si.TerminationType_TIMEOUT
}

// askState is the message of the state of an ask. Asks that wait for room are told of
// in it, nominations too: there is no field for the node, which is in the text.
func askState(event any) *si.UpdateContainerSchedulingStateRequest {
	state := func(a *api.Allocation, s si.UpdateContainerSchedulingStateRequest_SchedulingState, reason string) *si.UpdateContainerSchedulingStateRequest {
		return &si.UpdateContainerSchedulingStateRequest{
			ApplicationID: string(a.Application), AllocationKey: string(a.Key), State: s, Reason: reason,
		}
	}
	switch e := event.(type) {
	case *api.Unschedulable:
		return state(e.Allocation, si.UpdateContainerSchedulingStateRequest_FAILED, e.Reason)
	case *api.Claimed:
		return state(e.Allocation, si.UpdateContainerSchedulingStateRequest_RESERVED, e.Reason)
	case *api.ClaimEnded:
		return state(e.Allocation, si.UpdateContainerSchedulingStateRequest_SKIPPED, e.Text())
	default:
		return nil
	}
}

// isAlwaysRecorded reports whether the resource manager gets an event record of an event
// even where there is no history. Those of asks, allocations, applications and
// configured queues come from a history only.
func isAlwaysRecorded(event api.Event) bool {
	switch event.(type) {
	case *api.NodeAdded, *api.NodeResized, *api.NodeSchedulable, *api.NodeRemoved,
		api.ForeignAdded, api.ForeignRemoved, *api.Claimed, *api.ClaimEnded, *api.EvictionRequested,
		*api.AskReport, *reports.AskWaits, *api.ApplicationReport, *api.ApplicationHeld, *api.GroupChanged, *api.QueueReport, *outcomes.VictimsWasted,
		*api.QueueAdded, *api.QueueRemoved:
		return true
	default:
		return false
	}
}
