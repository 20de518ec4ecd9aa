package events

import (
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// endDetails are the details of the end of an allocation, by its cause.
var endDetails = [...]si.EventRecord_ChangeDetail{
	api.CauseReleased:           si.EventRecord_ALLOC_CANCEL,
	api.CauseTimedOut:           si.EventRecord_ALLOC_TIMEOUT,
	api.CausePreempted:          si.EventRecord_ALLOC_PREEMPT,
	api.CauseReplaced:           si.EventRecord_ALLOC_REPLACED,
	api.CauseBindFailed:         si.EventRecord_ALLOC_CANCEL,
	api.CauseNodeRemoved:        si.EventRecord_ALLOC_NODEREMOVED,
	api.CauseApplicationRemoved: si.EventRecord_ALLOC_CANCEL,
}

// ask records that an ask begins or ends.
func (c *conversion) ask(a *api.Allocation, change si.EventRecord_ChangeType, detail si.EventRecord_ChangeDetail) {
	c.add(&si.EventRecord{
		Type: si.EventRecord_APP, ObjectID: string(a.Application), ReferenceID: string(a.Key), Resource: c.resource(a.Amounts),
		EventChangeType: change, EventChangeDetail: detail,
	})
}

// allocation records that an allocation begins or ends, on both sides of the
// ledger: the node, then the application. The two records are one piece of memory,
// since these events happen most.
func (c *conversion) allocation(a *api.Allocation, change si.EventRecord_ChangeType, detail si.EventRecord_ChangeDetail, message string) {
	both := new([2]si.EventRecord)
	node, app := &both[0], &both[1]
	node.Type, node.ObjectID, node.EventChangeDetail = si.EventRecord_NODE, string(a.Node), si.EventRecord_NODE_ALLOC
	app.Type, app.ObjectID, app.EventChangeDetail = si.EventRecord_APP, string(a.Application), detail
	app.Message = message
	resource := c.resource(a.Amounts)
	for _, record := range [2]*si.EventRecord{node, app} {
		record.EventChangeType, record.ReferenceID, record.Resource = change, string(a.Key), resource
		c.add(record)
	}
}

// foreign records that a foreign allocation is booked on a node, or no more.
func (c *conversion) foreign(a *api.Allocation, change si.EventRecord_ChangeType) {
	message := "foreign"
	if a.Origin == api.Static {
		message = "foreign, static"
	}
	c.add(&si.EventRecord{
		Type: si.EventRecord_NODE, ObjectID: string(a.Node), ReferenceID: string(a.Key), Message: message,
		EventChangeType: change, EventChangeDetail: si.EventRecord_NODE_ALLOC, Resource: c.resource(a.Amounts),
	})
}

// claim records that room is kept for an ask on a node, or no more: about the ask if it is nominated,
// otherwise about the node, as the reservations of other schedulers.
func (c *conversion) claim(a *api.Allocation, node api.NodeID, change si.EventRecord_ChangeType, message string, nominated bool) {
	about, object, reference := si.EventRecord_NODE, string(node), string(a.Key)
	if nominated {
		about, object, reference = si.EventRecord_REQUEST, reference, object
	}
	c.add(&si.EventRecord{
		Type: about, ObjectID: object, ReferenceID: reference, Message: message,
		EventChangeType: change, EventChangeDetail: si.EventRecord_NODE_RESERVATION, Resource: c.resource(a.Amounts),
	})
}

// node records that a node is there, has another capacity, or is gone.
func (c *conversion) node(id api.NodeID, change si.EventRecord_ChangeType, detail si.EventRecord_ChangeDetail, capacity *si.Resource) {
	c.add(&si.EventRecord{
		Type: si.EventRecord_NODE, ObjectID: string(id), Resource: capacity,
		EventChangeType: change, EventChangeDetail: detail,
	})
}

// schedulable records whether a node takes ordinary asks, when it comes and when that changes.
func (c *conversion) schedulable(id api.NodeID, is bool) {
	message := "schedulable: false"
	if is {
		message = "schedulable: true"
	}
	c.add(&si.EventRecord{
		Type: si.EventRecord_NODE, ObjectID: string(id), Message: message,
		EventChangeType: si.EventRecord_SET, EventChangeDetail: si.EventRecord_NODE_SCHEDULABLE,
	})
}
