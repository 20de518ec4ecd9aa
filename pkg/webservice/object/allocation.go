package object

import (
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/encoder"
)

// allocationJSON is an allocation of this scheduler. RequestTime is when it was
// created, AllocationTime when it was bound, AllocationDelay what is between.
type allocationJSON struct {
	AllocationKey   api.AllocationKey `json:"allocationKey"`
	AllocationTags  map[string]string `json:"allocationTags,omitempty"`
	RequestTime     time.Time         `json:"requestTime,omitempty"`
	AllocationTime  time.Time         `json:"allocationTime,omitempty"`
	AllocationDelay time.Duration     `json:"allocationDelay,omitempty"` // ns
	Resource        resources.Amounts `json:"resource,omitempty"`
	Priority        int32             `json:"priority,string"`
	NodeID          api.NodeID        `json:"nodeId,omitempty"`
	ApplicationID   api.ApplicationID `json:"applicationId,omitempty"`
	Placeholder     bool              `json:"placeholder,omitempty"`
	PlaceholderUsed bool              `json:"placeholderUsed,omitempty"`
	TaskGroupName   string            `json:"taskGroupName,omitempty"`
	Preempted       bool              `json:"preempted,omitempty"`
	Originator      bool              `json:"originator,omitempty"`
}

func (a *allocationJSON) Encode(e *encoder.Encoder) {
	e.Open('{')
	e.Text("allocationKey", string(a.AllocationKey))
	e.Texts("allocationTags", a.AllocationTags)
	e.TimeIf("requestTime", a.RequestTime)
	e.TimeIf("allocationTime", a.AllocationTime)
	e.IntegerIf("allocationDelay", int64(a.AllocationDelay))
	e.Amounts("resource", a.Resource)
	e.Quoted("priority", int64(a.Priority))
	e.TextIf("nodeId", string(a.NodeID))
	e.TextIf("applicationId", string(a.ApplicationID))
	e.TruthIf("placeholder", a.Placeholder)
	e.TruthIf("placeholderUsed", a.PlaceholderUsed)
	e.TextIf("taskGroupName", a.TaskGroupName)
	e.TruthIf("preempted", a.Preempted)
	e.TruthIf("originator", a.Originator)
	e.Close('}')
}

func fillAllocation(a *api.Allocation, preempted bool, out *allocationJSON) {
	*out = allocationJSON{
		AllocationKey: a.Key, AllocationTags: a.Tags,
		RequestTime: a.Created, AllocationTime: a.Placed,
		Resource: a.Amounts, Priority: a.Priority,
		NodeID: a.Node, ApplicationID: a.Application,
		Placeholder: a.Placeholder, PlaceholderUsed: a.Replaced, TaskGroupName: a.TaskGroup,
		Preempted: preempted, Originator: a.Originator,
	}
	if !a.Placed.IsZero() && a.Placed.After(a.Created) {
		out.AllocationDelay = a.Placed.Sub(a.Created)
	}
}

func keyOf(a *api.Allocation) api.AllocationKey { return a.Key }

// foreignJSON is an allocation of another scheduler. The time at which it was bound
// is not known: both times are that of creation.
type foreignJSON struct {
	AllocationKey  api.AllocationKey `json:"allocationKey"`
	AllocationTags map[string]string `json:"allocationTags,omitempty"`
	RequestTime    time.Time         `json:"requestTime,omitempty"`
	AllocationTime time.Time         `json:"allocationTime,omitempty"`
	Resource       resources.Amounts `json:"resource,omitempty"`
	Priority       int32             `json:"priority,string"`
	NodeID         api.NodeID        `json:"nodeId,omitempty"`
	Preemptable    bool              `json:"preemptable,omitempty"`
}

func (a *foreignJSON) Encode(e *encoder.Encoder) {
	e.Open('{')
	e.Text("allocationKey", string(a.AllocationKey))
	e.Texts("allocationTags", a.AllocationTags)
	e.TimeIf("requestTime", a.RequestTime)
	e.TimeIf("allocationTime", a.AllocationTime)
	e.Amounts("resource", a.Resource)
	e.Quoted("priority", int64(a.Priority))
	e.TextIf("nodeId", string(a.NodeID))
	e.TruthIf("preemptable", a.Preemptable)
	e.Close('}')
}

func fillForeign(a *api.Allocation, out *foreignJSON) {
	*out = foreignJSON{
		AllocationKey: a.Key, AllocationTags: a.Tags, RequestTime: a.Created, AllocationTime: a.Created,
		Resource: a.Amounts, Priority: a.Priority, NodeID: a.Node, Preemptable: a.Origin != api.Static,
	}
}
