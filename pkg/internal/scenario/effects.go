package scenario

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/outcomes"
	"github.com/narwhal-scheduler/narwhal/pkg/reports"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// heard is what the resource manager hears of an event, in words; empty for
// nothing.
func heard(event api.Event) string {
	switch e := event.(type) {
	case api.Placed:
		return placed(e.Allocation)
	case api.Adopted:
		return placed(e.Allocation)
	case *api.Ended:
		return released(e)
	case *api.EvictionRequested:
		return fmt.Sprintf("released %s PREEMPTED_BY_SCHEDULER: %s", e.Key, e.Message)
	case *api.ReleaseRequested:
		return fmt.Sprintf("released %s %s: %s", e.Key, terminations[e.Cause], e.Message)
	case *api.AllocationRejected:
		return fmt.Sprintf("rejected %s: %s", e.Key, e.Reason)
	case *api.Claimed:
		if e.Plan == nil {
			return ""
		}
		return fmt.Sprintf("nominated %s to %s: %s", e.Key, e.Node, e.Reason)
	case *api.ClaimEnded:
		if e.Nominated && e.Waits() {
			return fmt.Sprintf("not nominated %s: %s", e.Key, e.Text())
		}
	case *api.Unschedulable:
		return fmt.Sprintf("hint %s: %s", e.Key, e.Reason)
	case *api.ApplicationAccepted:
		return fmt.Sprintf("accepted application %s", e.ID)
	case *api.ApplicationRejected:
		return fmt.Sprintf("rejected application %s: %s", e.ID, e.Reason)
	case *api.ApplicationChanged:
		return fmt.Sprintf("application %s is %s", e.ID, e.State) + unlessEmpty(": ", e.Message)
	case *api.GroupChanged:
		if e.Since.IsZero() {
			return "" // placements and asks say it
		}
		return e.Text()
	case *api.NodeAdded:
		return fmt.Sprintf("accepted node %s", e.ID)
	case *api.NodeRejected:
		return fmt.Sprintf("rejected node %s: %s", e.ID, e.Reason)
	}
	return ""
}

// terminations are how releases are written that are requested for a gang.
var terminations = map[api.EndCause]string{api.CauseTimedOut: "TIMEOUT", api.CauseReplaced: "PLACEHOLDER_REPLACED"}

func placed(a *api.Allocation) string {
	text := fmt.Sprintf("placed %s on %s", a.Key, a.Node)
	if kept := a.Kept; kept != nil {
		text += fmt.Sprintf(", %s is for %d %% of asks", cmp.Or(kept.Selector, "other room"), kept.Percent)
	}
	return text
}

// released is empty for an end that the resource manager reported itself and does
// not expect an answer to.
func released(e *api.Ended) string {
	if !e.Cause.IsTold() {
		return ""
	}
	return fmt.Sprintf("released %s STOPPED_BY_RM: %s", e.Key, e.Text())
}

// record is an event as it is recorded: what, about which object, because of which
// other one, how much. It is empty for events that say no more than what the
// resource manager hears.
func (o *output) record(event api.Event) string {
	switch e := event.(type) {
	case api.ForeignAdded:
		return o.recordOf("ADD NODE_ALLOC", string(e.Node), string(e.Key), e.Amounts, originName(e.Origin))
	case api.ForeignRemoved:
		return o.recordOf("REMOVE NODE_ALLOC", string(e.Node), string(e.Key), e.Amounts, originName(e.Origin))
	case *api.Claimed:
		return o.claimOf("ADD", e.Allocation, e.Node, e.Reason, e.Plan != nil)
	case *api.ClaimEnded:
		return o.claimOf("REMOVE", e.Allocation, e.Node, e.Reason, e.Nominated)
	case *api.EvictionRequested:
		return o.recordOf("REMOVE ALLOC_PREEMPT", string(e.Key), string(e.Application), e.Amounts, e.Message)
	case *api.AskReport:
		return o.recordOf("NONE DETAILS_NONE", string(e.Key), string(e.Application), nil, e.Message)
	case *outcomes.VictimsWasted:
		return o.recordOf("NONE DETAILS_NONE", string(e.For), string(e.Application), nil, e.Message)
	case *reports.AskWaits:
		return o.recordOf("NONE DETAILS_NONE", string(e.Key), string(e.Application), nil, e.Message)
	case *api.ApplicationReport:
		return o.recordOf("NONE DETAILS_NONE", string(e.ID), string(e.Key), nil, e.Message)
	case *api.ApplicationHeld:
		return o.heldOf(e)
	case *api.QueueAdded:
		return o.recordOf("ADD QUEUE_DYNAMIC", string(e.Queue), "", nil, "")
	case *api.QueueRemoved:
		return o.recordOf("REMOVE QUEUE_DYNAMIC", string(e.Queue), "", nil, "")
	case *api.GroupChanged:
		return o.recordOf("NONE DETAILS_NONE", string(e.Application), e.Name, nil, e.Text())
	case *api.QueueReport:
		return o.recordOf("SET QUEUE_PREEMPTION", string(e.Queue), "", e.Freed, e.Message)
	case *api.NodeAdded:
		return o.recordOf("ADD DETAILS_NONE", string(e.ID), "", e.Capacity, "")
	case *api.NodeResized:
		return o.recordOf("SET NODE_CAPACITY", string(e.ID), "", e.Capacity, "")
	case *api.NodeSchedulable:
		return o.recordOf("SET NODE_SCHEDULABLE", string(e.ID), "", nil, fmt.Sprintf("schedulable: %t", e.Schedulable))
	case *api.NodeRemoved:
		return o.recordOf("REMOVE NODE_DECOMISSION", string(e.ID), "", nil, "")
	}
	return ""
}

// claimOf is a record about the ask if it is nominated, and otherwise about the node.
func (o *output) claimOf(change string, a *api.Allocation, node api.NodeID, reason string, nominated bool) string {
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
func (o *output) heldOf(e *api.ApplicationHeld) string {
	detail := "APP_RUNNABLE"
	if e.Held {
		detail = "APP_CANNOTRUN"
	}
	if e.Reason == api.QueueApplications {
		return o.recordOf("NONE "+detail+"_QUEUE", string(e.ID), "", nil, e.Detail)
	}
	return o.recordOf("NONE "+detail+"_QUOTA", string(e.ID), "", nil, e.Detail)
}
