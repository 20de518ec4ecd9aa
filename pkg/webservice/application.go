package webservice

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// applicationJSON is an application. What a view does not hold is left out: the
// greatest use, when it started and ended, its history and its task groups.
type applicationJSON struct {
	ApplicationID      core.ApplicationID     `json:"applicationID"`
	UsedResource       resources.Amounts      `json:"usedResource,omitempty"`
	PendingResource    resources.Amounts      `json:"pendingResource,omitempty"`
	Partition          string                 `json:"partition"`
	QueueName          core.QueuePath         `json:"queueName"`
	SubmissionTime     time.Time              `json:"submissionTime,omitempty"`
	Requests           *items[askJSON]        `json:"requests,omitempty"`
	Allocations        *items[allocationJSON] `json:"allocations,omitempty"`
	ApplicationState   string                 `json:"applicationState,omitempty"`
	User               string                 `json:"user,omitempty"`
	Groups             []string               `json:"groups,omitempty"`
	StateLog           []stateJSON            `json:"stateLog,omitempty"` // the last change only
	HasReserved        bool                   `json:"hasReserved,omitempty"`
	Reservations       []core.AllocationKey   `json:"reservations,omitempty"`
	MaxRequestPriority int32                  `json:"maxRequestPriority"`

	// What is new.
	Tags map[string]string `json:"tags,omitempty"`
}

type stateJSON struct {
	Time             time.Time `json:"time"`
	ApplicationState string    `json:"applicationState"`
}

// statuses are what the parameter status may ask for, in lower case. Nobody is
// resuming; older clients ask for it.
var statuses = []string{"new", "accepted", "running", "completing", "failing", "resuming"}

// applications answers GET /ws/v1/partition/{partition}/applications/{state}.
func (s *Service) applications(r *http.Request) (any, error) {
	at, err := s.snapshot(r)
	if err != nil {
		return nil, err
	}
	switch r.PathValue("state") {
	case "active":
		return at.list(r, slices.DeleteFunc(slices.Clone(at.Applications), ended))
	case "completed":
		return at.list(r, slices.DeleteFunc(slices.Clone(at.Applications), func(a *core.ApplicationView) bool { return a.State != core.Completed }))
	case "rejected": // is answered and not kept
		return at.list(r, nil)
	default:
		return nil, bad("Only following application states are allowed: active, rejected, completed")
	}
}

func ended(a *core.ApplicationView) bool { return a.State == core.Completed || a.State == core.Failed }

// queueApplications answers GET
// /ws/v1/partition/{partition}/queue/{queue}/applications and the same with
// /active.
func (s *Service) queueApplications(r *http.Request) (any, error) {
	at, err := s.snapshot(r)
	if err != nil {
		return nil, err
	}
	path, err := queuePath(r)
	if err != nil {
		return nil, err
	}
	if _, err := at.findQueue(path); err != nil {
		return nil, err
	}
	if state := r.PathValue("state"); state != "" && state != "active" {
		return nil, bad("Only following application states are allowed: active")
	}
	return at.list(r, slices.DeleteFunc(slices.Clone(at.Applications), func(a *core.ApplicationView) bool {
		return a.Queue != path || ended(a)
	}))
}

// list answers with the applications that the query picks.
func (at *snapshot) list(r *http.Request, all []*core.ApplicationView) (any, error) {
	if values, err := parametersOf(r); err == nil && slices.Equal(values["status"], []string{""}) {
		r = withoutStatus(r)
	}
	return list(r, all, at.fillApplication,
		filter[*core.ApplicationView]{name: "status", test: statusTest},
		texts("application", func(a *core.ApplicationView) core.ApplicationID { return a.ID }),
		texts("user", func(a *core.ApplicationView) string { return a.User }),
		filter[*core.ApplicationView]{name: "group", test: groupTest},
		filter[*core.ApplicationView]{name: "queue", test: queueTest},
		filter[*core.ApplicationView]{name: "node", test: nodeTest})
}

// withoutStatus is the request without an empty status, which means all.
func withoutStatus(r *http.Request) *http.Request {
	out := *r
	u := *r.URL
	query := u.Query()
	query.Del("status")
	u.RawQuery = query.Encode()
	out.URL = &u
	return &out
}

func statusTest(value string) (func(*core.ApplicationView) bool, error) {
	if !slices.Contains(statuses, strings.ToLower(value)) {
		return nil, bad("Only following active statuses are allowed: %s", strings.Join(statuses, ", "))
	}
	return func(a *core.ApplicationView) bool { return strings.EqualFold(a.State.String(), value) }, nil
}

func groupTest(value string) (func(*core.ApplicationView) bool, error) {
	matches := textMatch(value)
	return func(a *core.ApplicationView) bool { return slices.ContainsFunc(a.Groups, matches) }, nil
}

// queueTest picks those of a queue and of the queues below.
func queueTest(value string) (func(*core.ApplicationView) bool, error) {
	above := core.QueuePath(strings.ToLower(value))
	return func(a *core.ApplicationView) bool { return within(a.Queue, above) }, nil
}

// nodeTest picks those with an allocation on a node.
func nodeTest(value string) (func(*core.ApplicationView) bool, error) {
	matches := textMatch(value)
	return func(a *core.ApplicationView) bool {
		return slices.ContainsFunc(a.Allocations, func(one *core.Allocation) bool { return matches(string(one.Node)) })
	}, nil
}

// application answers GET
// /ws/v1/partition/{partition}/application/{application} and the same below a
// queue, in which the application must then be.
func (s *Service) application(r *http.Request) (any, error) {
	at, err := s.snapshot(r)
	if err != nil {
		return nil, err
	}
	var path core.QueuePath
	if r.PathValue("queue") != "" {
		if path, err = queuePath(r); err != nil {
			return nil, err
		}
		if _, err = at.findQueue(path); err != nil {
			return nil, err
		}
	}
	id := core.ApplicationID(r.PathValue("application"))
	i, found := slices.BinarySearchFunc(at.Applications, id, func(a *core.ApplicationView, id core.ApplicationID) int { return cmp.Compare(a.ID, id) })
	if !found || ended(at.Applications[i]) || path != "" && at.Applications[i].Queue != path {
		return nil, missing("Application")
	}
	out := new(applicationJSON)
	at.fillApplication(at.Applications[i], out)
	return object(r, out)
}

func (at *snapshot) fillApplication(a *core.ApplicationView, out *applicationJSON) {
	*out = applicationJSON{
		ApplicationID: a.ID, UsedResource: a.Used, PendingResource: a.Pending, Partition: at.name, QueueName: a.Queue,
		SubmissionTime: a.Submitted, Requests: each(a.Asks, at.fillAsk),
		ApplicationState: a.State.String(), User: a.User, Groups: a.Groups, Tags: a.Tags,
		StateLog:           []stateJSON{{a.Since, a.State.String()}},
		MaxRequestPriority: core.PriorityNone,
	}
	out.Allocations = each(a.Allocations, func(one *core.Allocation, to *allocationJSON) {
		fillAllocation(one, leaves(at.node(one.Node), one.Key), to)
	})
	for _, ask := range a.Asks {
		out.MaxRequestPriority = max(out.MaxRequestPriority, ask.Priority)
		if ask.Reserved != "" {
			out.Reservations = append(out.Reservations, ask.Key)
		}
	}
	out.HasReserved = len(out.Reservations) > 0
}
