package events

import (
	"fmt"
	"strings"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/messages"
	"github.com/narwhal-scheduler/narwhal/pkg/outcomes"
	"github.com/narwhal-scheduler/narwhal/pkg/reports"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// Records are the records of one event; none if nothing is recorded of it. What a
// node changes of a root queue without a max of its own is not among them: that is
// known to a Recorder only.
func Records(kinds *resources.Kinds, now time.Time, event api.Event) []*si.EventRecord {
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
func (c *conversion) convert(event api.Event) {
	switch e := event.(type) {
	case api.Placed:
		c.allocation(e.Allocation, si.EventRecord_ADD, si.EventRecord_APP_ALLOC, "")
	case api.Adopted:
		c.allocation(e.Allocation, si.EventRecord_ADD, si.EventRecord_APP_ALLOC, "")
	case *api.Ended:
		c.allocation(e.Allocation, si.EventRecord_REMOVE, endDetails[e.Cause], e.Message)
	case api.AskAdded:
		c.ask(e.Allocation, si.EventRecord_ADD, si.EventRecord_APP_REQUEST)
	case *api.AskEnded:
		detail := si.EventRecord_REQUEST_CANCEL
		if e.Cause == api.CauseTimedOut {
			detail = si.EventRecord_REQUEST_TIMEOUT
		}
		c.ask(e.Allocation, si.EventRecord_REMOVE, detail)
	case *api.Unschedulable:
		c.add(&si.EventRecord{
			Type: si.EventRecord_REQUEST, ObjectID: string(e.Key), ReferenceID: string(e.Application), Message: e.Reason,
			Resource: c.resource(e.Amounts),
		})
	case *api.ApplicationAccepted:
		c.application(e.ID, si.EventRecord_ADD, si.EventRecord_APP_NEW, "")
		c.member(e.ID, e.Queue, si.EventRecord_ADD)
	case *api.ApplicationRejected:
		c.application(e.ID, si.EventRecord_ADD, si.EventRecord_APP_NEW, "")
		c.application(e.ID, si.EventRecord_SET, si.EventRecord_APP_REJECT, e.Reason)
	case *api.ApplicationChanged:
		c.application(e.ID, si.EventRecord_SET, stateDetails[e.State], e.Message)
	case *api.ApplicationGone:
		c.application(e.ID, si.EventRecord_REMOVE, si.EventRecord_DETAILS_NONE, "")
		c.member(e.ID, e.Queue, si.EventRecord_REMOVE)
	case *api.Reconfigured:
		c.reconfigured(e)
	default:
		c.notice(event)
	}
}

// notice makes the record of an event about which there is no message but a record.
func (c *conversion) notice(event api.Event) {
	switch e := event.(type) {
	case api.ForeignAdded:
		c.foreign(e.Allocation, si.EventRecord_ADD)
	case api.ForeignRemoved:
		c.foreign(e.Allocation, si.EventRecord_REMOVE)
	case *api.Claimed:
		c.claim(e.Allocation, e.Node, si.EventRecord_ADD, e.Reason, e.Plan != nil)
	case *api.ClaimEnded:
		c.claim(e.Allocation, e.Node, si.EventRecord_REMOVE, e.Reason, e.Nominated)
	case *api.EvictionRequested:
		c.add(&si.EventRecord{
			Type: si.EventRecord_REQUEST, ObjectID: string(e.Key), ReferenceID: string(e.Application), Message: e.Message + c.cost(e),
			EventChangeType: si.EventRecord_REMOVE, EventChangeDetail: si.EventRecord_ALLOC_PREEMPT, Resource: c.resource(e.Amounts),
		})
	case *api.ReleaseRequested:
		c.add(&si.EventRecord{
			Type: si.EventRecord_REQUEST, ObjectID: string(e.Key), ReferenceID: string(e.Application), Message: e.Message,
			EventChangeType: si.EventRecord_REMOVE, EventChangeDetail: endDetails[e.Cause], Resource: c.resource(e.Amounts),
		})
	case *api.NodeAdded:
		c.node(e.ID, si.EventRecord_ADD, si.EventRecord_DETAILS_NONE, messages.ResourceOf(c.kinds, e.Capacity))
		c.schedulable(e.ID, e.Schedulable)
	case *api.NodeResized:
		c.node(e.ID, si.EventRecord_SET, si.EventRecord_NODE_CAPACITY, messages.ResourceOf(c.kinds, e.Capacity))
	case *api.NodeRemoved:
		c.node(e.ID, si.EventRecord_REMOVE, si.EventRecord_NODE_DECOMISSION, nil)
	case *api.NodeSchedulable:
		c.schedulable(e.ID, e.Schedulable)
	case *api.AskReport:
		c.add(&si.EventRecord{Type: si.EventRecord_REQUEST, ObjectID: string(e.Key), ReferenceID: string(e.Application), Message: e.Message})
	case *outcomes.VictimsWasted:
		c.add(&si.EventRecord{Type: si.EventRecord_REQUEST, ObjectID: string(e.For), ReferenceID: string(e.Application), Message: e.Message})
	case *reports.AskWaits:
		c.add(&si.EventRecord{
			Type: si.EventRecord_REQUEST, ObjectID: string(e.Key), ReferenceID: string(e.Application), Message: e.Message,
			Resource: c.resource(e.Amounts),
		})
	case *api.ApplicationGroup:
		c.group(e)
	case *api.ApplicationHeld:
		c.held(e)
	case *api.ApplicationReport:
		c.add(&si.EventRecord{Type: si.EventRecord_APP, ObjectID: string(e.ID), ReferenceID: string(e.Key), Message: e.Message})
	case *api.GroupChanged:
		c.add(&si.EventRecord{Type: si.EventRecord_APP, ObjectID: string(e.Application), ReferenceID: e.Name, Message: e.Text()})
	case *api.QueueAdded:
		c.dynamicQueue(e.Queue, si.EventRecord_ADD)
	case *api.QueueRemoved:
		c.dynamicQueue(e.Queue, si.EventRecord_REMOVE)
	case *api.QueueReport:
		c.queueChanged(string(e.Queue), si.EventRecord_QUEUE_PREEMPTION, messages.ResourceOf(c.kinds, e.Freed), e.Message)
	}
}

// cost says what an eviction costs: how long the victim ran, and its own priority beside that of the ask, which
// the message has already if they decided.
func (c *conversion) cost(e *api.EvictionRequested) string {
	var said []string
	began := e.Placed
	if e.IsForeign() {
		began = e.Created // another scheduler placed it
	}
	if !began.IsZero() {
		said = append(said, fmt.Sprintf("it ran %s", time.Unix(0, c.now).Sub(began).Round(time.Second)))
	}
	switch {
	case e.Trigger == preemptor.Priority:
	case e.Ask != nil:
		said = append(said, fmt.Sprintf("its priority is %d, that of the ask %d", e.Priority, e.Ask.Priority))
	default:
		said = append(said, fmt.Sprintf("its priority is %d", e.Priority))
	}
	if len(said) == 0 {
		return ""
	}
	return "; " + strings.Join(said, ", ")
}

// add adds a record of this step.
func (c *conversion) add(record *si.EventRecord) {
	record.TimestampNano = c.now
	c.records = append(c.records, record)
}
