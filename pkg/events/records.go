package events

import (
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/messages"
	"github.com/narwhal-scheduler/narwhal/pkg/outcomes"
	"github.com/narwhal-scheduler/narwhal/pkg/reports"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// Records are the records of one event; none if nothing is recorded of it. What a
// node changes of a root queue without a max of its own is not among them: that is
// known to a Recorder only.
func Records(kinds *resources.Kinds, now time.Time, event core.Event) []*si.EventRecord {
	c := conversion{kinds: kinds, now: now.UnixNano()}
	c.convert(event)
	return c.records
}

// A conversion makes records of events. Apart from resources that records share it
// keeps nothing between two events.
type conversion struct {
	kinds   *resources.Kinds
	shared  shared
	now     int64 // nanoseconds
	records []*si.EventRecord
}

// convert makes all records of an event.
func (c *conversion) convert(event core.Event) {
	switch e := event.(type) {
	case core.Placed:
		c.allocation(e.Allocation, si.EventRecord_ADD, si.EventRecord_APP_ALLOC, "")
	case core.Adopted:
		c.allocation(e.Allocation, si.EventRecord_ADD, si.EventRecord_APP_ALLOC, "")
	case *core.Ended:
		c.allocation(e.Allocation, si.EventRecord_REMOVE, endDetails[e.Cause], e.Message)
	case core.AskAdded:
		c.ask(e.Allocation, si.EventRecord_ADD, si.EventRecord_APP_REQUEST)
	case *core.AskEnded:
		detail := si.EventRecord_REQUEST_CANCEL
		if e.Cause == core.CauseTimedOut {
			detail = si.EventRecord_REQUEST_TIMEOUT
		}
		c.ask(e.Allocation, si.EventRecord_REMOVE, detail)
	case *core.Unschedulable:
		c.add(&si.EventRecord{
			Type: si.EventRecord_REQUEST, ObjectID: string(e.Key), ReferenceID: string(e.Application), Message: e.Reason,
			Resource: c.resource(e.Amounts),
		})
	case *core.ApplicationAccepted:
		c.application(e.ID, si.EventRecord_ADD, si.EventRecord_APP_NEW, "")
		c.member(e.ID, e.Queue, si.EventRecord_ADD)
	case *core.ApplicationRejected:
		c.application(e.ID, si.EventRecord_ADD, si.EventRecord_APP_NEW, "")
		c.application(e.ID, si.EventRecord_SET, si.EventRecord_APP_REJECT, e.Reason)
	case *core.ApplicationChanged:
		c.application(e.ID, si.EventRecord_SET, stateDetails[e.State], e.Message)
	case *core.ApplicationGone:
		c.application(e.ID, si.EventRecord_REMOVE, si.EventRecord_DETAILS_NONE, "")
		c.member(e.ID, e.Queue, si.EventRecord_REMOVE)
	case *core.Reconfigured:
		c.reconfigured(e)
	default:
		c.notice(event)
	}
}

// notice makes the record of an event about which there is no message but a record.
func (c *conversion) notice(event core.Event) {
	switch e := event.(type) {
	case core.ForeignAdded:
		c.foreign(e.Allocation, si.EventRecord_ADD)
	case core.ForeignRemoved:
		c.foreign(e.Allocation, si.EventRecord_REMOVE)
	case *core.Claimed:
		c.claim(e.Allocation, e.Node, si.EventRecord_ADD, e.Reason, e.Plan != nil)
	case *core.ClaimEnded:
		c.claim(e.Allocation, e.Node, si.EventRecord_REMOVE, e.Reason, e.Nominated)
	case *core.EvictionRequested:
		c.add(&si.EventRecord{
			Type: si.EventRecord_REQUEST, ObjectID: string(e.Key), ReferenceID: string(e.Application), Message: e.Message,
			EventChangeType: si.EventRecord_REMOVE, EventChangeDetail: si.EventRecord_ALLOC_PREEMPT, Resource: c.resource(e.Amounts),
		})
	case *core.ReleaseRequested:
		c.add(&si.EventRecord{
			Type: si.EventRecord_REQUEST, ObjectID: string(e.Key), ReferenceID: string(e.Application), Message: e.Message,
			EventChangeType: si.EventRecord_REMOVE, EventChangeDetail: endDetails[e.Cause], Resource: c.resource(e.Amounts),
		})
	case *core.NodeAdded:
		c.node(e.ID, si.EventRecord_ADD, si.EventRecord_DETAILS_NONE, messages.ResourceOf(c.kinds, e.Capacity))
		c.schedulable(e.ID, e.Schedulable)
	case *core.NodeResized:
		c.node(e.ID, si.EventRecord_SET, si.EventRecord_NODE_CAPACITY, messages.ResourceOf(c.kinds, e.Capacity))
	case *core.NodeRemoved:
		c.node(e.ID, si.EventRecord_REMOVE, si.EventRecord_NODE_DECOMISSION, nil)
	case *core.NodeSchedulable:
		c.schedulable(e.ID, e.Schedulable)
	case *core.AskReport:
		c.add(&si.EventRecord{Type: si.EventRecord_REQUEST, ObjectID: string(e.Key), ReferenceID: string(e.Application), Message: e.Message})
	case *outcomes.VictimsWasted:
		c.add(&si.EventRecord{Type: si.EventRecord_REQUEST, ObjectID: string(e.For), ReferenceID: string(e.Application), Message: e.Message})
	case *reports.AskWaits:
		c.add(&si.EventRecord{
			Type: si.EventRecord_REQUEST, ObjectID: string(e.Key), ReferenceID: string(e.Application), Message: e.Message,
			Resource: c.resource(e.Amounts),
		})
	case *core.ApplicationGroup:
		c.group(e)
	case *core.ApplicationHeld:
		c.held(e)
	case *core.ApplicationReport:
		c.add(&si.EventRecord{Type: si.EventRecord_APP, ObjectID: string(e.ID), ReferenceID: string(e.Key), Message: e.Message})
	case *core.QueueAdded:
		c.dynamicQueue(e.Queue, si.EventRecord_ADD)
	case *core.QueueRemoved:
		c.dynamicQueue(e.Queue, si.EventRecord_REMOVE)
	case *core.QueueReport:
		c.queueChanged(string(e.Queue), si.EventRecord_QUEUE_PREEMPTION, messages.ResourceOf(c.kinds, e.Freed), e.Message)
	}
}

// add adds a record of this step.
func (c *conversion) add(record *si.EventRecord) {
	record.TimestampNano = c.now
	c.records = append(c.records, record)
}
