package events

import (
	"slices"
	"strings"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A request is what the scribe knows of an ask or allocation.
type request struct {
	key         core.AllocationKey
	application *application
	node        core.NodeID  // empty while it waits
	resource    *si.Resource // shared, never changed
	at          int          // its place in the list of the application
}

func waiting(r *request) bool { return r.node == "" }
func running(r *request) bool { return r.node != "" }

// byKey is the requests of some sort, in an order that does not depend on history.
func (a *application) byKey(is func(*request) bool) []*request {
	var list []*request
	for _, r := range a.requests {
		if is(r) {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b *request) int { return strings.Compare(string(a.key), string(b.key)) })
	return list
}

func (s *Recorder) remember(key core.AllocationKey, app *application) *request {
	r := &request{key: key, application: app, at: len(app.requests)}
	app.requests = append(app.requests, r)
	s.requests[key] = r
	return r
}

func (s *Recorder) forget(r *request) {
	list := r.application.requests
	last := list[len(list)-1]
	list[r.at], last.at = last, r.at
	list[len(list)-1] = nil
	r.application.requests = list[:len(list)-1]
	delete(s.requests, r.key)
}

// An asked is the amounts of the latest ask, as they are and as a message:
// asks that are alike come one after the other.
type asked struct {
	amounts  resources.Amounts
	resource *si.Resource
}

func (s *Recorder) resourceOf(amounts resources.Amounts) *si.Resource {
	if s.lately.resource == nil || !s.lately.amounts.Equal(amounts) {
		s.lately = asked{amounts, core.ResourceOf(s.kinds, amounts)}
	}
	return s.lately.resource
}

// added takes in an allocation that was not refused. Those that the step placed
// are known already.
func (s *Recorder) added(a *core.Allocation) {
	if a.IsForeign() {
		return
	}
	r := s.requests[a.Key]
	if r == nil {
		r = s.remember(a.Key, s.application(a.Application))
		r.resource = s.resourceOf(a.Amounts)
		s.tellAsk(r, si.EventRecord_ADD, si.EventRecord_APP_REQUEST)
		return
	}
	if !s.same(r.resource, a.Amounts) {
		r.resource = s.resourceOf(a.Amounts)
	}
}

// same reports whether a message and amounts say the same.
func (s *Recorder) same(message *si.Resource, amounts resources.Amounts) bool {
	named := message.GetResources()
	count := 0
	for i, v := range amounts {
		if v == 0 {
			continue
		}
		count++
		if named[s.kinds.Name(resources.Kind(i))].GetValue() != v {
			return false
		}
	}
	return count == len(named)
}

// placed tells of an allocation that runs from now on.
func (s *Recorder) placed(e *si.Allocation) {
	r := s.requests[core.AllocationKey(e.AllocationKey)]
	if r == nil {
		r = s.remember(core.AllocationKey(e.AllocationKey), s.application(core.ApplicationID(e.ApplicationID)))
	}
	r.node, r.resource = core.NodeID(e.NodeID), e.ResourcePerAlloc
	s.tellAllocation(r, si.EventRecord_ADD, si.EventRecord_APP_ALLOC, "")
}

// ended tells of an allocation that runs no more.
func (s *Recorder) ended(key core.AllocationKey, detail si.EventRecord_ChangeDetail, message string) {
	r := s.requests[key]
	if r == nil || !running(r) {
		return
	}
	s.tellAllocation(r, si.EventRecord_REMOVE, detail, message)
	s.forget(r)
}

func (s *Recorder) cancelled(r *request, detail si.EventRecord_ChangeDetail) {
	s.tellAsk(r, si.EventRecord_REMOVE, detail)
	s.forget(r)
}

// released tells what a release takes away. The core takes it off its books
// before it says anything else, and is silent if that was its own wish.
func (s *Recorder) released(c core.ReleaseAllocation) {
	if c.Key != "" {
		s.releasedOne(c)
		return
	}
	app := s.applications[c.Application]
	if app == nil {
		return
	}
	for _, r := range app.byKey(running) {
		s.ended(r.key, allocationEnd(c.Termination), c.Message)
	}
	if c.Termination == si.TerminationType_TIMEOUT {
		return // of the placeholders that run, the asks stay
	}
	for _, r := range app.byKey(waiting) {
		s.cancelled(r, si.EventRecord_REQUEST_CANCEL)
	}
}

func (s *Recorder) releasedOne(c core.ReleaseAllocation) {
	r := s.requests[c.Key]
	switch {
	case r == nil || r.application.id != c.Application:
	case c.Termination == core.SchedulingFailed && waiting(r): // said twice
	case c.Termination == core.SchedulingFailed:
		s.tellAllocation(r, si.EventRecord_REMOVE, si.EventRecord_ALLOC_CANCEL, c.Message)
		r.node = ""
		s.tellAsk(r, si.EventRecord_ADD, si.EventRecord_APP_REQUEST)
	case running(r):
		s.ended(c.Key, allocationEnd(c.Termination), c.Message)
	case c.Termination == si.TerminationType_TIMEOUT:
		s.cancelled(r, si.EventRecord_REQUEST_TIMEOUT)
	default:
		s.cancelled(r, si.EventRecord_REQUEST_CANCEL)
	}
}

// allocationEnd is how a release ends an allocation. What says nothing is taken
// for the wish of the resource manager.
func allocationEnd(t si.TerminationType) si.EventRecord_ChangeDetail {
	switch t {
	case si.TerminationType_TIMEOUT:
		return si.EventRecord_ALLOC_TIMEOUT
	case si.TerminationType_PREEMPTED_BY_SCHEDULER:
		return si.EventRecord_ALLOC_PREEMPT
	case si.TerminationType_PLACEHOLDER_REPLACED:
		return si.EventRecord_ALLOC_REPLACED
	default:
		return si.EventRecord_ALLOC_CANCEL
	}
}

// waits tells why an ask waits, once the core says so.
func (s *Recorder) waits(e *si.UpdateContainerSchedulingStateRequest) {
	if s.quiet {
		return
	}
	record := &si.EventRecord{
		Type: si.EventRecord_REQUEST, ObjectID: e.AllocationKey, ReferenceID: e.ApplicationID, Message: e.Reason,
	}
	if r := s.requests[core.AllocationKey(e.AllocationKey)]; r != nil {
		record.Resource = r.resource
	}
	s.stamp(record)
}

func (s *Recorder) tellAsk(r *request, change si.EventRecord_ChangeType, detail si.EventRecord_ChangeDetail) {
	if s.quiet {
		return
	}
	s.stamp(&si.EventRecord{
		Type: si.EventRecord_APP, ObjectID: string(r.application.id), ReferenceID: string(r.key), Resource: r.resource,
		EventChangeType: change, EventChangeDetail: detail,
	})
}

// tellAllocation tells of an allocation on both sides of the books: the node,
// then the application. The two records are one piece of memory, since this is
// what happens most.
func (s *Recorder) tellAllocation(r *request, change si.EventRecord_ChangeType, detail si.EventRecord_ChangeDetail, message string) {
	if s.quiet {
		return
	}
	both := new([2]si.EventRecord)
	node, app := &both[0], &both[1]
	node.Type, node.ObjectID, node.EventChangeDetail = si.EventRecord_NODE, string(r.node), si.EventRecord_NODE_ALLOC
	app.Type, app.ObjectID, app.EventChangeDetail = si.EventRecord_APP, string(r.application.id), detail
	app.Message = message
	for _, record := range [2]*si.EventRecord{node, app} {
		record.EventChangeType, record.ReferenceID, record.Resource = change, string(r.key), r.resource
		s.stamp(record)
	}
}
