package events

import (
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// stateDetails are the details of entering a state.
var stateDetails = [...]si.EventRecord_ChangeDetail{
	api.Accepted:   si.EventRecord_APP_ACCEPTED,
	api.Resuming:   si.EventRecord_APP_RESUMING,
	api.Running:    si.EventRecord_APP_RUNNING,
	api.Completing: si.EventRecord_APP_COMPLETING,
	api.Failing:    si.EventRecord_APP_FAILING,
	api.Completed:  si.EventRecord_APP_COMPLETED,
	api.Failed:     si.EventRecord_APP_FAILED,
}

// application records something of an application alone.
func (c *conversion) application(id api.ApplicationID, change si.EventRecord_ChangeType, detail si.EventRecord_ChangeDetail, message string) {
	c.add(&si.EventRecord{
		Type: si.EventRecord_APP, ObjectID: string(id), Message: message,
		EventChangeType: change, EventChangeDetail: detail,
	})
}

// member records that an application is in a queue, or no more.
func (c *conversion) member(id api.ApplicationID, queue api.QueuePath, change si.EventRecord_ChangeType) {
	c.add(&si.EventRecord{
		Type: si.EventRecord_QUEUE, ObjectID: string(queue), ReferenceID: string(id),
		EventChangeType: change, EventChangeDetail: si.EventRecord_QUEUE_APP,
	})
}
