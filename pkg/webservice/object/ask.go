package object

import (
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/explain"
	"github.com/narwhal-scheduler/narwhal/pkg/explain/planned"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/encoder"
)

// askJSON is a pending ask and why it waits.
type askJSON struct {
	AllocationKey       api.AllocationKey `json:"allocationKey"`
	AllocationTags      map[string]string `json:"allocationTags,omitempty"`
	RequestTime         time.Time         `json:"requestTime,omitempty"`
	Resource            resources.Amounts `json:"resource,omitempty"`
	Priority            int32             `json:"priority,string"`
	RequiredNodeID      api.NodeID        `json:"requiredNodeId,omitempty"`
	ApplicationID       api.ApplicationID `json:"applicationId,omitempty"`
	Placeholder         bool              `json:"placeholder,omitempty"`
	TaskGroupName       string            `json:"taskGroupName,omitempty"`
	AllocationLog       []waitJSON        `json:"allocationLog,omitempty"` // the oldest first
	TriggeredPreemption bool              `json:"triggeredPreemption,omitempty"`
	Originator          bool              `json:"originator,omitempty"`
	SchedulingAttempted bool              `json:"schedulingAttempted,omitempty"`
	TriggeredScaleUp    bool              `json:"triggeredScaleUp,omitempty"`

	// What is new: what it is, why it waits and what that is about, the node that is reserved
	// for it or to which it is nominated, the last preemption attempts and the last
	// plan, in words.
	Class              string        `json:"class"`
	Why                string        `json:"why"`
	Detail             string        `json:"detail,omitempty"`
	ReservedNode       api.NodeID    `json:"reservedNode,omitempty"`
	NominatedNode      api.NodeID    `json:"nominatedNode,omitempty"`
	PreemptionAttempts []attemptJSON `json:"preemptionAttempts,omitempty"`
	Plan               string        `json:"plan,omitempty"`
	Planned            time.Time     `json:"planned,omitempty"`

	// In a list of asks of several applications, the queue and user of its own.
	QueueName api.QueuePath `json:"queueName,omitempty"`
	User      string        `json:"user,omitempty"`
}

func (a *askJSON) Encode(e *encoder.Encoder) {
	e.Open('{')
	e.Text("allocationKey", string(a.AllocationKey))
	e.Texts("allocationTags", a.AllocationTags)
	e.TimeIf("requestTime", a.RequestTime)
	e.Amounts("resource", a.Resource)
	e.Quoted("priority", int64(a.Priority))
	e.TextIf("requiredNodeId", string(a.RequiredNodeID))
	e.TextIf("applicationId", string(a.ApplicationID))
	e.TruthIf("placeholder", a.Placeholder)
	e.TextIf("taskGroupName", a.TaskGroupName)
	encoder.Objects(e, "allocationLog", a.AllocationLog)
	e.TruthIf("triggeredPreemption", a.TriggeredPreemption)
	e.TruthIf("originator", a.Originator)
	e.TruthIf("schedulingAttempted", a.SchedulingAttempted)
	e.TruthIf("triggeredScaleUp", a.TriggeredScaleUp)
	e.Text("class", a.Class)
	e.Text("why", a.Why)
	e.TextIf("detail", a.Detail)
	e.TextIf("reservedNode", string(a.ReservedNode))
	e.TextIf("nominatedNode", string(a.NominatedNode))
	encoder.Objects(e, "preemptionAttempts", a.PreemptionAttempts)
	e.TextIf("plan", a.Plan)
	e.TimeIf("planned", a.Planned)
	e.TextIf("queueName", string(a.QueueName))
	e.TextIf("user", a.User)
	e.Close('}')
}

// waitJSON is one reason why an ask waited, and how often that was said.
type waitJSON struct {
	Message        string    `json:"message"`
	LastOccurrence time.Time `json:"lastOccurrence"`
	Count          int64     `json:"count"`
}

func (w *waitJSON) Encode(e *encoder.Encoder) {
	e.Open('{')
	e.Text("message", w.Message)
	e.Time("lastOccurrence", w.LastOccurrence)
	e.Integer("count", w.Count)
	e.Close('}')
}

// attemptJSON is one search for a node where evictions would make room.
type attemptJSON struct {
	Time       time.Time  `json:"time"`
	Trigger    string     `json:"trigger"`
	Nodes      int        `json:"nodes"`
	Sufficient int        `json:"sufficient"` // nodes where room could be made
	Node       api.NodeID `json:"node,omitempty"`
	Summary    string     `json:"summary"`
}

func (a *attemptJSON) Encode(e *encoder.Encoder) {
	e.Open('{')
	e.Time("time", a.Time)
	e.Text("trigger", a.Trigger)
	e.Integer("nodes", int64(a.Nodes))
	e.Integer("sufficient", int64(a.Sufficient))
	e.TextIf("node", string(a.Node))
	e.Text("summary", a.Summary)
	e.Close('}')
}

func keyOfAsk(a api.AskView) api.AllocationKey { return a.Key }

// toldAsks are the fields that fillAskLean leaves out.
var toldAsks = []string{"allocationLog", "triggeredScaleUp", "preemptionAttempts", "plan", "planned"}

// fillAskLean is an ask without what is said of it in words, which takes time where there
// are very many.
func fillAskLean(a api.AskView, kinds *resources.Kinds, out *askJSON) {
	*out = askJSON{
		AllocationKey: a.Key, AllocationTags: a.Tags, RequestTime: a.Created, Resource: a.Amounts, Priority: a.Priority,
		RequiredNodeID: a.Required, ApplicationID: a.Application, Placeholder: a.Placeholder, TaskGroupName: a.TaskGroup,
		TriggeredPreemption: a.Nominated != "" || a.Plan != nil && len(a.Plan.Victims) > 0,
		Originator:          a.Originator, SchedulingAttempted: a.Reason != api.NotTried,
		Class: classOf(a.Allocation), Why: a.Reason.String(), Detail: explain.Detail(a.Waiting, kinds), ReservedNode: a.Reserved, NominatedNode: a.Nominated,
	}
}

func (at *Snapshot) fillAsk(a api.AskView, out *askJSON) {
	fillAskLean(a, at.kinds, out)
	waits := at.past.PendingReasons(a.Application, a.Key)
	out.TriggeredScaleUp = waits.ScaleUp
	for _, w := range waits.Reasons {
		out.AllocationLog = append(out.AllocationLog, waitJSON{w.Message, w.Last, w.Count})
	}
	for _, p := range a.Attempts {
		out.PreemptionAttempts = append(out.PreemptionAttempts, attemptJSON{
			Time: p.At, Trigger: p.Trigger.String(), Nodes: p.Nodes, Sufficient: p.Sufficient, Node: p.Node, Summary: at.summary(p, a.Nominated),
		})
	}
	if a.Plan != nil {
		out.Plan, out.Planned = planned.Summary(a.Plan, at.kinds), a.Planned
	}
}

// summary is an attempt in words. Room is made only as long as the ask is nominated.
func (at *Snapshot) summary(p api.PreemptionAttempt, nominated api.NodeID) string {
	switch {
	case !p.Succeeded():
		return explain.Attempt(&p, at.kinds)
	case p.Node == nominated:
		return "room is made on " + string(p.Node) + ": " + planned.Summary(p.Plan, at.kinds)
	}
	return "room was made " + explain.Attempt(&p, at.kinds) + "; the nomination has ended"
}
