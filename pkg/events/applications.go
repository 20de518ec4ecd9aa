package events

import (
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
)

// An application is what the scribe knows of one.
type application struct {
	id       core.ApplicationID
	queue    core.QueuePath // empty if it was not told
	requests []*request     // in no order
}

func (s *Recorder) accepted(command core.Command, id core.ApplicationID) {
	app := s.application(id)
	if c, ok := command.(core.AddApplication); ok && c.ID == id {
		app.queue = c.Queue.Full()
	}
	s.tellApplication(id, si.EventRecord_ADD, si.EventRecord_APP_NEW, "")
	s.tellQueue(app, si.EventRecord_ADD)
}

// rejected tells of an application that there never was, or of another one with
// the ID of one that goes on.
func (s *Recorder) rejected(e *si.RejectedApplication) {
	id := core.ApplicationID(e.ApplicationID)
	s.tellApplication(id, si.EventRecord_ADD, si.EventRecord_APP_NEW, "")
	s.tellApplication(id, si.EventRecord_SET, si.EventRecord_APP_REJECT, e.Reason)
}

// states are the details of entering a state, by its name.
var states = map[string]si.EventRecord_ChangeDetail{
	core.Accepted.String():   si.EventRecord_APP_ACCEPTED,
	core.Running.String():    si.EventRecord_APP_RUNNING,
	core.Completing.String(): si.EventRecord_APP_COMPLETING,
	core.Completed.String():  si.EventRecord_APP_COMPLETED,
	core.Failing.String():    si.EventRecord_APP_FAILING,
	core.Failed.String():     si.EventRecord_APP_FAILED,
}

func (s *Recorder) entered(e *si.UpdatedApplication) {
	id := core.ApplicationID(e.ApplicationID)
	s.tellApplication(id, si.EventRecord_SET, states[e.State], e.Message)
	if e.State == core.Completed.String() {
		s.gone(id)
	}
}

// removing tells of the asks of an application that is about to be removed. Of
// its allocations tell the effects.
func (s *Recorder) removing(id core.ApplicationID) {
	app := s.applications[id]
	if app == nil {
		return
	}
	for _, r := range app.byKey(waiting) {
		s.cancelled(r, si.EventRecord_REQUEST_CANCEL)
	}
}

// gone tells that an application has left its queue. All that it had has been
// told of before.
func (s *Recorder) gone(id core.ApplicationID) {
	app := s.applications[id]
	if app == nil {
		return
	}
	delete(s.applications, id)
	s.tellApplication(id, si.EventRecord_REMOVE, si.EventRecord_DETAILS_NONE, "")
	s.tellQueue(app, si.EventRecord_REMOVE)
}

func (s *Recorder) tellApplication(id core.ApplicationID, change si.EventRecord_ChangeType, detail si.EventRecord_ChangeDetail, message string) {
	if s.quiet {
		return
	}
	s.stamp(&si.EventRecord{
		Type: si.EventRecord_APP, ObjectID: string(id), Message: message,
		EventChangeType: change, EventChangeDetail: detail,
	})
}

func (s *Recorder) tellQueue(app *application, change si.EventRecord_ChangeType) {
	if s.quiet || app.queue == "" {
		return
	}
	s.stamp(&si.EventRecord{
		Type: si.EventRecord_QUEUE, ObjectID: string(app.queue), ReferenceID: string(app.id),
		EventChangeType: change, EventChangeDetail: si.EventRecord_QUEUE_APP,
	})
}

// application is what is known of an application, from now on.
func (s *Recorder) application(id core.ApplicationID) *application {
	app := s.applications[id]
	if app == nil {
		app = &application{id: id}
		s.applications[id] = app
	}
	return app
}
