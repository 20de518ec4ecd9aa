package events

import (
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
)

// stateDetails are the details of entering a state.
var stateDetails = [...]si.EventRecord_ChangeDetail{
	core.Accepted:   si.EventRecord_APP_ACCEPTED,
	core.Resuming:   si.EventRecord_APP_RESUMING,
	core.Running:    si.EventRecord_APP_RUNNING,
	core.Completing: si.EventRecord_APP_COMPLETING,
	core.Failing:    si.EventRecord_APP_FAILING,
	core.Completed:  si.EventRecord_APP_COMPLETED,
	core.Failed:     si.EventRecord_APP_FAILED,
}

// application records something of an application alone.
func (c *conversion) application(id core.ApplicationID, change si.EventRecord_ChangeType, detail si.EventRecord_ChangeDetail, message string) {
	c.add(&si.EventRecord{
		Type: si.EventRecord_APP, ObjectID: string(id), Message: message,
		EventChangeType: change, EventChangeDetail: detail,
	})
}

// member records that an application is in a queue, or no more.
func (c *conversion) member(id core.ApplicationID, queue core.QueuePath, change si.EventRecord_ChangeType) {
	c.add(&si.EventRecord{
		Type: si.EventRecord_QUEUE, ObjectID: string(queue), ReferenceID: string(id),
		EventChangeType: change, EventChangeDetail: si.EventRecord_QUEUE_APP,
	})
}
