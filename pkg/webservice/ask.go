package webservice

import (
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// askJSON is a pending ask and why it waits.
type askJSON struct {
	AllocationKey       core.AllocationKey `json:"allocationKey"`
	AllocationTags      map[string]string  `json:"allocationTags,omitempty"`
	RequestTime         time.Time          `json:"requestTime,omitempty"`
	Resource            resources.Amounts  `json:"resource,omitempty"`
	Priority            int32              `json:"priority,string"`
	RequiredNodeID      core.NodeID        `json:"requiredNodeId,omitempty"`
	ApplicationID       core.ApplicationID `json:"applicationId,omitempty"`
	Placeholder         bool               `json:"placeholder,omitempty"`
	TaskGroupName       string             `json:"taskGroupName,omitempty"`
	AllocationLog       []waitJSON         `json:"allocationLog,omitempty"` // the oldest first
	TriggeredPreemption bool               `json:"triggeredPreemption,omitempty"`
	Originator          bool               `json:"originator,omitempty"`
	SchedulingAttempted bool               `json:"schedulingAttempted,omitempty"`
	TriggeredScaleUp    bool               `json:"triggeredScaleUp,omitempty"`

	// What is new: why it waits and what that is about, the node that is reserved
	// for it or on which room is made, the last searches for room and the last
	// plan, in words.
	Why           string      `json:"why"`
	Detail        string      `json:"detail,omitempty"`
	ReservedNode  core.NodeID `json:"reservedNode,omitempty"`
	NominatedNode core.NodeID `json:"nominatedNode,omitempty"`
	Hunts         []huntJSON  `json:"hunts,omitempty"`
	Plan          string      `json:"plan,omitempty"`
	Planned       time.Time   `json:"planned,omitempty"`

	// In a list of asks of several applications, where it waits and for whom.
	QueueName core.QueuePath `json:"queueName,omitempty"`
	User      string         `json:"user,omitempty"`
}

// waitJSON is one reason why an ask waited, and how often that was said.
type waitJSON struct {
	Message        string    `json:"message"`
	LastOccurrence time.Time `json:"lastOccurrence"`
	Count          int64     `json:"count"`
}

// huntJSON is one search for a node where others would make room.
type huntJSON struct {
	Time    time.Time   `json:"time"`
	Trigger string      `json:"trigger"`
	Nodes   int         `json:"nodes"`
	Enough  int         `json:"enough"` // nodes where room could be made
	Node    core.NodeID `json:"node,omitempty"`
	Verdict string      `json:"verdict"`
}

func (at *snapshot) fillAsk(a core.AskView, out *askJSON) {
	*out = askJSON{
		AllocationKey: a.Key, AllocationTags: a.Tags, RequestTime: a.Created, Resource: a.Amounts, Priority: a.Priority,
		RequiredNodeID: a.Required, ApplicationID: a.Application, Placeholder: a.Placeholder, TaskGroupName: a.TaskGroup,
		TriggeredPreemption: a.Nominated != "" || a.Plan != nil && len(a.Plan.Victims) > 0,
		Originator:          a.Originator, SchedulingAttempted: a.Reason != core.NotTried,
		Why: a.Reason.String(), Detail: a.Detail, ReservedNode: a.Reserved, NominatedNode: a.Nominated,
	}
	waits := at.past.PendingReasons(a.Application, a.Key)
	out.TriggeredScaleUp = waits.ScaleUp
	for _, w := range waits.Reasons {
		out.AllocationLog = append(out.AllocationLog, waitJSON{w.Message, w.Last, w.Count})
	}
	for _, h := range a.Attempts {
		out.Hunts = append(out.Hunts, huntJSON{
			Time: h.At, Trigger: h.Trigger.String(), Nodes: h.Nodes, Enough: h.Sufficient, Node: h.Node, Verdict: at.verdict(h),
		})
	}
	if a.Plan != nil {
		out.Plan, out.Planned = a.Plan.Summary(at.kinds), a.Planned
	}
}

// verdict is a hunt in words. One that found a node is told by its plan.
func (at *snapshot) verdict(h core.PreemptionAttempt) string {
	if h.Sufficient > 0 && h.Node != "" && h.Plan != nil && h.Plan.Cost.Feasible() {
		return "room is made on " + string(h.Node) + ": " + h.Plan.Summary(at.kinds)
	}
	return h.Summary(at.kinds)
}
