package object

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/encoder"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/failure"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/query"
)

// applicationJSON is an application. Its past is left out where it is not known.
// Nothing is known of waits between tries, which have their empty form.
type applicationJSON struct {
	ApplicationID      api.ApplicationID              `json:"applicationID"`
	UsedResource       resources.Amounts              `json:"usedResource,omitempty"` // without placeholders
	MaxUsedResource    resources.Amounts              `json:"maxUsedResource,omitempty"`
	PendingResource    resources.Amounts              `json:"pendingResource,omitempty"`
	Partition          string                         `json:"partition"`
	QueueName          api.QueuePath                  `json:"queueName"`
	SubmissionTime     time.Time                      `json:"submissionTime,omitempty"`
	FinishedTime       time.Time                      `json:"finishedTime,omitempty"`
	Requests           *encoder.Items[askJSON]        `json:"requests,omitempty"`
	Allocations        *encoder.Items[allocationJSON] `json:"allocations,omitempty"`
	ApplicationState   string                         `json:"applicationState,omitempty"`
	User               string                         `json:"user,omitempty"`
	Groups             []string                       `json:"groups,omitempty"`
	RejectedMessage    string                         `json:"rejectedMessage,omitempty"`
	StateLog           []stateJSON                    `json:"stateLog,omitempty"`
	PlaceholderData    []placeholderJSON              `json:"placeholderData,omitempty"`
	HasReserved        bool                           `json:"hasReserved,omitempty"`
	Reservations       []api.AllocationKey            `json:"reservations,omitempty"`
	MaxRequestPriority int32                          `json:"maxRequestPriority"`
	StartTime          int64                          `json:"startTime"` // milliseconds
	ResourceHistory    *usedJSON                      `json:"resourceHistory,omitempty"`
	BackoffDeadline    string                         `json:"backoffDeadline,omitempty"`

	// What is new: what its allocations and placeholders hold, how many asks wait, and since when the oldest of them does.
	HeldResource      resources.Amounts   `json:"heldResource,omitempty"`
	Tags              map[string]string   `json:"tags,omitempty"`
	PendingAsks       int                 `json:"pendingAsks,omitempty"`
	OldestRequestTime encoder.Nanoseconds `json:"oldestRequestTime,omitempty"`
}

func (a *applicationJSON) Encode(e *encoder.Encoder) {
	e.Open('{')
	e.Text("applicationID", string(a.ApplicationID))
	e.Amounts("usedResource", a.UsedResource)
	e.Amounts("maxUsedResource", a.MaxUsedResource)
	e.Amounts("pendingResource", a.PendingResource)
	e.Text("partition", a.Partition)
	e.Text("queueName", string(a.QueueName))
	e.TimeIf("submissionTime", a.SubmissionTime)
	e.TimeIf("finishedTime", a.FinishedTime)
	e.List("requests", a.Requests)
	e.List("allocations", a.Allocations)
	e.TextIf("applicationState", a.ApplicationState)
	e.TextIf("user", a.User)
	encoder.Names(e, "groups", a.Groups)
	e.TextIf("rejectedMessage", a.RejectedMessage)
	encoder.Objects(e, "stateLog", a.StateLog)
	if len(a.PlaceholderData) > 0 {
		e.Other("placeholderData", a.PlaceholderData)
	}
	e.TruthIf("hasReserved", a.HasReserved)
	encoder.Names(e, "reservations", a.Reservations)
	e.Integer("maxRequestPriority", int64(a.MaxRequestPriority))
	e.Integer("startTime", a.StartTime)
	if a.ResourceHistory != nil {
		e.Other("resourceHistory", a.ResourceHistory)
	}
	e.TextIf("backoffDeadline", a.BackoffDeadline)
	e.Amounts("heldResource", a.HeldResource)
	e.Texts("tags", a.Tags)
	e.IntegerIf("pendingAsks", int64(a.PendingAsks))
	e.IntegerIf("oldestRequestTime", int64(a.OldestRequestTime))
	e.Close('}')
}

type stateJSON struct {
	Time             time.Time `json:"time"`
	ApplicationState string    `json:"applicationState"`

	// What is new.
	Reason string `json:"reason,omitempty"`
}

func (s *stateJSON) Encode(e *encoder.Encoder) {
	e.Open('{')
	e.Time("time", s.Time)
	e.Text("applicationState", s.ApplicationState)
	e.TextIf("reason", s.Reason)
	e.Close('}')
}

// placeholderJSON is a task group.
type placeholderJSON struct {
	TaskGroupName string             `json:"taskGroupName"`
	Count         int64              `json:"count"`
	MinResource   encoder.Quantities `json:"minResource"`
	Replaced      int64              `json:"replaced"`
	TimedOut      int64              `json:"timedout"`
}

// usedJSON is amounts times seconds by type of instance, of allocations that have
// ended.
type usedJSON struct {
	ResourceUsage       map[string]encoder.Quantities `json:"resourceUsage,omitempty"`
	PreemptedResource   map[string]encoder.Quantities `json:"preemptedResource,omitempty"`
	PlaceholderResource map[string]encoder.Quantities `json:"placeholderResource,omitempty"`
}

// statuses are what the parameter status may ask for, in lower case. No application
// is resuming; older clients ask for it.
var statuses = []string{"new", "accepted", "running", "completing", "failing", "resuming"}

// Applications answers GET /ws/v1/partition/{partition}/applications/{state}.
func Applications(at *Snapshot, r *http.Request) (any, error) {
	switch r.PathValue("state") {
	case "active":
		return at.list(r, at.active(at.Applications))
	case "completed":
		return at.list(r, endedOf(at.ended()))
	case "rejected":
		return at.list(r, endedOf(at.rejected()))
	default:
		return nil, failure.Bad("Only following application states are allowed: active, rejected, completed")
	}
}

// QueueApplications answers GET
// /ws/v1/partition/{partition}/queue/{queue}/applications and the same with
// /active.
func QueueApplications(at *Snapshot, r *http.Request) (any, error) {
	way, err := at.wayTo(r)
	if err != nil {
		return nil, err
	}
	path := way[len(way)-1].Path
	if state := r.PathValue("state"); state != "" && state != "active" {
		return nil, failure.Bad("Only following application states are allowed: active")
	}
	return at.list(r, at.active(slices.DeleteFunc(slices.Clone(at.Applications), func(a *api.ApplicationView) bool { return a.Queue != path })))
}

// list answers with the applications that the query picks.
func (at *Snapshot) list(r *http.Request, all []applicationEntry) (any, error) {
	if values, err := query.Read(r); err == nil && slices.Equal(values["status"], []string{""}) {
		r = withoutStatus(r)
	}
	return query.List(r, at.kinds, all, at.fillApplication,
		query.By("status", statusTest),
		query.Texts("application", func(a applicationEntry) api.ApplicationID { return a.ID }),
		query.Texts("user", func(a applicationEntry) string { return a.User }),
		query.By("group", groupTest),
		InQueue(func(a applicationEntry) api.QueuePath { return a.Queue }),
		query.By("node", nodeTest))
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

func statusTest(value string) (func(applicationEntry) bool, error) {
	if !slices.Contains(statuses, strings.ToLower(value)) {
		return nil, failure.Bad("Only following active statuses are allowed: %s", strings.Join(statuses, ", "))
	}
	return func(a applicationEntry) bool { return strings.EqualFold(a.state(), value) }, nil
}

func groupTest(value string) (func(applicationEntry) bool, error) {
	matches := query.TextMatch(value)
	return func(a applicationEntry) bool { return slices.ContainsFunc(a.Groups, matches) }, nil
}

// InQueue is the filter for what is of a queue or of one below.
func InQueue[S any](of func(S) api.QueuePath) query.Filter[S] {
	return query.By("queue", func(value string) (func(S) bool, error) {
		above := api.QueuePath(strings.ToLower(value))
		return func(one S) bool { return of(one).IsWithin(above) }, nil
	})
}

// nodeTest picks those with an allocation on a node.
func nodeTest(value string) (func(applicationEntry) bool, error) {
	matches := query.TextMatch(value)
	return func(a applicationEntry) bool {
		return slices.ContainsFunc(a.Allocations, func(one *api.Allocation) bool { return matches(string(one.Node)) })
	}, nil
}

// Application answers GET
// /ws/v1/partition/{partition}/application/{application} and the same below a
// queue, in which the application must then be.
func Application(at *Snapshot, r *http.Request) (any, error) {
	var path api.QueuePath
	if r.PathValue("queue") != "" {
		way, err := at.wayTo(r)
		if err != nil {
			return nil, err
		}
		path = way[len(way)-1].Path
	}
	app := at.Application(api.ApplicationID(r.PathValue("application")))
	if app == nil || over(app) || path != "" && app.Queue != path {
		return nil, failure.Missing("Application")
	}
	out := new(applicationJSON)
	at.fillApplication(applicationEntry{ApplicationView: app}, out)
	return query.One(r, out)
}

func (at *Snapshot) fillApplication(a applicationEntry, out *applicationJSON) {
	*out = applicationJSON{
		ApplicationID: a.ID, UsedResource: realUse(a.ApplicationView), HeldResource: a.Used, PendingResource: a.Pending, Partition: at.name, QueueName: a.Queue,
		SubmissionTime: a.Submitted, Requests: encoder.EachByKey(a.Asks, keyOfAsk, at.fillAsk),
		ApplicationState: a.state(), User: a.User, Groups: a.Groups, Tags: a.Tags,
		MaxRequestPriority: api.PriorityNone, PendingAsks: len(a.Asks), OldestRequestTime: oldestOf(a.Asks),
	}
	if !a.BackoffUntil.IsZero() {
		out.BackoffDeadline = a.BackoffUntil.UTC().Format(time.RFC3339Nano)
	}
	evicted := at.evicted()
	out.Allocations = encoder.EachByKey(a.Allocations, keyOf, func(one *api.Allocation, to *allocationJSON) {
		fillAllocation(one, evicted[one.Key], to)
	})
	for _, ask := range a.Asks {
		out.MaxRequestPriority = max(out.MaxRequestPriority, ask.Priority)
		if ask.Reserved != "" {
			out.Reservations = append(out.Reservations, ask.Key)
		}
	}
	if a.Gang != nil {
		for _, g := range a.Gang.Groups {
			if g.Made > 0 {
				out.PlaceholderData = append(out.PlaceholderData, placeholderJSON{g.Name, g.Made, at.Amounts(g.Least), g.Replaced, g.TimedOut})
			}
		}
	}
	out.HasReserved = len(out.Reservations) > 0
	at.fillPast(a, out)
}

// oldestOf is since when the oldest of some asks waits; zero if there is none.
func oldestOf(asks []api.AskView) (oldest encoder.Nanoseconds) {
	for i := range asks {
		if at := encoder.NanosecondsOf(asks[i].Created); oldest == 0 || at < oldest {
			oldest = at
		}
	}
	return oldest
}

// realUse is what an application uses without placeholders.
func realUse(a *api.ApplicationView) resources.Amounts {
	var held resources.Amounts
	for _, one := range a.Allocations {
		if one.Placeholder {
			held.Add(one.Amounts)
		}
	}
	if held == nil {
		return a.Used
	}
	used := a.Used.Clone()
	used.Sub(held)
	return used
}
