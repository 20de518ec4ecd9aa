package scenario

import (
	"fmt"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/outcomes"
	"github.com/narwhal-scheduler/narwhal/pkg/reports"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// heard is what the resource manager hears of an event, in words; empty for
// nothing.
func heard(event core.Event) string {
	switch e := event.(type) {
	case core.Placed:
		return placed(e.Allocation)
	case core.Adopted:
		return placed(e.Allocation)
	case *core.Ended:
		return released(e)
	case *core.EvictionRequested:
		return fmt.Sprintf("released %s PREEMPTED_BY_SCHEDULER: %s", e.Key, e.Message)
	case *core.ReleaseRequested:
		return fmt.Sprintf("released %s %s: %s", e.Key, terminations[e.Cause], e.Message)
	case *core.AllocationRejected:
		return fmt.Sprintf("rejected %s: %s", e.Key, e.Reason)
	case *core.Claimed:
		if e.Plan == nil {
			return ""
		}
		return fmt.Sprintf("nominated %s to %s: %s", e.Key, e.Node, e.Reason)
	case *core.ClaimEnded:
		if e.Nominated && e.Waits() {
			return fmt.Sprintf("not nominated %s: %s", e.Key, e.Text())
		}
	case *core.Unschedulable:
		return fmt.Sprintf("hint %s: %s", e.Key, e.Reason)
	case *core.ApplicationAccepted:
		return fmt.Sprintf("accepted application %s", e.ID)
	case *core.ApplicationRejected:
		return fmt.Sprintf("rejected application %s: %s", e.ID, e.Reason)
	case *core.ApplicationChanged:
		return fmt.Sprintf("application %s is %s", e.ID, e.State) + unlessEmpty(": ", e.Message)
	case *core.NodeAdded:
		return fmt.Sprintf("accepted node %s", e.ID)
	case *core.NodeRejected:
		return fmt.Sprintf("rejected node %s: %s", e.ID, e.Reason)
	}
	return ""
}

// terminations are how releases are written that are requested for a gang.
var terminations = map[core.EndCause]string{core.CauseTimedOut: "TIMEOUT", core.CauseReplaced: "PLACEHOLDER_REPLACED"}

func placed(a *core.Allocation) string { return fmt.Sprintf("placed %s on %s", a.Key, a.Node) }

// released is empty for an end that the resource manager reported itself and does
// not expect an answer to.
func released(e *core.Ended) string {
	if !e.Cause.IsTold() {
		return ""
	}
	return fmt.Sprintf("released %s STOPPED_BY_RM: %s", e.Key, e.Text())
}

// record is an event as it is recorded: what, about which object, because of which
// other one, how much. It is empty for events that say no more than what the
// resource manager hears.
func (o *output) record(event core.Event) string {
	switch e := event.(type) {
	case core.ForeignAdded:
		return o.recordOf("ADD NODE_ALLOC", string(e.Node), string(e.Key), e.Amounts, originName(e.Origin))
	case core.ForeignRemoved:
		return o.recordOf("REMOVE NODE_ALLOC", string(e.Node), string(e.Key), e.Amounts, originName(e.Origin))
	case *core.Claimed:
		return o.claimOf("ADD", e.Allocation, e.Node, e.Reason, e.Plan != nil)
	case *core.ClaimEnded:
		return o.claimOf("REMOVE", e.Allocation, e.Node, e.Reason, e.Nominated)
	case *core.EvictionRequested:
		return o.recordOf("REMOVE ALLOC_PREEMPT", string(e.Key), string(e.Application), e.Amounts, e.Message)
	case *core.AskReport:
		return o.recordOf("NONE DETAILS_NONE", string(e.Key), string(e.Application), nil, e.Message)
	case *outcomes.VictimsWasted:
		return o.recordOf("NONE DETAILS_NONE", string(e.For), string(e.Application), nil, e.Message)
	case *reports.AskWaits:
		return o.recordOf("NONE DETAILS_NONE", string(e.Key), string(e.Application), nil, e.Message)
	case *core.ApplicationReport:
		return o.recordOf("NONE DETAILS_NONE", string(e.ID), string(e.Key), nil, e.Message)
	case *core.ApplicationHeld:
		return o.heldOf(e)
	case *core.QueueAdded:
		return o.recordOf("ADD QUEUE_DYNAMIC", string(e.Queue), "", nil, "")
	case *core.QueueRemoved:
		return o.recordOf("REMOVE QUEUE_DYNAMIC", string(e.Queue), "", nil, "")
	case *core.QueueReport:
		return o.recordOf("SET QUEUE_PREEMPTION", string(e.Queue), "", e.Freed, e.Message)
	case *core.NodeAdded:
		return o.recordOf("ADD DETAILS_NONE", string(e.ID), "", e.Capacity, "")
	case *core.NodeResized:
		return o.recordOf("SET NODE_CAPACITY", string(e.ID), "", e.Capacity, "")
	case *core.NodeSchedulable:
		return o.recordOf("SET NODE_SCHEDULABLE", string(e.ID), "", nil, fmt.Sprintf("schedulable: %t", e.Schedulable))
	case *core.NodeRemoved:
		return o.recordOf("REMOVE NODE_DECOMISSION", string(e.ID), "", nil, "")
	}
	return ""
}

// claimOf is a record about the ask if it is nominated, and otherwise about the node.
func (o *output) claimOf(change string, a *core.Allocation, node core.NodeID, reason string, nominated bool) string {
	object, reference := string(node), string(a.Key)
	if nominated {
		object, reference = reference, object
	}
	return o.recordOf(change+" NODE_RESERVATION", object, reference, a.Amounts, reason)
}

func (o *output) recordOf(change, object, reference string, amounts resources.Amounts, message string) string {
	words := []string{change, object}
	if reference != "" {
		words = append(words, reference)
	}
	if !amounts.IsZero() {
		words = append(words, o.amounts(amounts))
	}
	return strings.Join(words, " ") + unlessEmpty(": ", message)
}

func unlessEmpty(before, text string) string {
	if text == "" {
		return ""
	}
	return before + text
}

// heldOf is the record that a limit of applications holds an application back, or does not any more.
func (o *output) heldOf(e *core.ApplicationHeld) string {
	detail := "APP_RUNNABLE"
	if e.Held {
		detail = "APP_CANNOTRUN"
	}
	if e.Reason == core.QueueApplications {
		return o.recordOf("NONE "+detail+"_QUEUE", string(e.ID), "", nil, e.Detail)
	}
	return o.recordOf("NONE "+detail+"_QUOTA", string(e.ID), "", nil, e.Detail)
}
