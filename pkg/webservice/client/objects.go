package client

import "time"

// Amounts are quantities by kind, as the scheduler has them: CPU in thousandths.
type Amounts map[string]int64

// A Queue is a queue with all below it.
type Queue struct {
	Name       string   `json:"queuename"`
	Status     string   `json:"status"`
	IsLeaf     bool     `json:"isLeaf"`
	Children   []*Queue `json:"children"`
	Used       Amounts  `json:"allocatedResource"`
	Guaranteed Amounts  `json:"guaranteedResource"`
	Max        Amounts  `json:"maxResource"`
	Pending    Amounts  `json:"pendingResource"`
	Apps       int      `json:"applications"`
}

// A Node is a node and what is on it.
type Node struct {
	Name        string  `json:"nodeID"`
	Schedulable bool    `json:"schedulable"`
	Capacity    Amounts `json:"capacity"`
	Allocated   Amounts `json:"allocated"`
	Occupied    Amounts `json:"occupied"`
	Available   Amounts `json:"available"`
	Allocations int     `json:"allocationCount"`
	Foreign     []struct {
		Key string `json:"allocationKey"`
	} `json:"foreignAllocations"`
	Evictions []struct {
		Key     string `json:"allocationKey"`
		Overdue bool   `json:"overdue"`
	} `json:"evictions"`
}

// An Ask is an ask that waits.
type Ask struct {
	Key         string  `json:"allocationKey"`
	Application string  `json:"applicationId"`
	Queue       string  `json:"queueName"`
	Requested   int64   `json:"requestTime"` // nanoseconds since 1970
	Resource    Amounts `json:"resource"`
	Priority    string  `json:"priority"`
	Why         string  `json:"why"`
	Detail      string  `json:"detail"`

	Tags map[string]string `json:"allocationTags"`
}

// Name is that of the pod, with its namespace, if the resource manager says it, and else
// the allocation key.
func (a *Ask) Name() string {
	pod, ok := a.Tags["kubernetes.io/meta/podName"]
	if !ok {
		return a.Key
	}
	if namespace := a.Tags["kubernetes.io/meta/namespace"]; namespace != "" {
		return namespace + "/" + pod
	}
	return pod
}

// A Preemption is a plan to make room and what came of it.
type Preemption struct {
	Time        int64  `json:"time"` // nanoseconds since 1970
	Trigger     string `json:"trigger"`
	Key         string `json:"allocationKey"`
	Application string `json:"applicationId"`
	Queue       string `json:"queueName"`
	Node        string `json:"nodeId"`
	Victims     []struct {
		Key         string `json:"allocationKey"`
		Application string `json:"applicationId"`
		State       string `json:"state"`
		Wasted      string `json:"wasted"`
	} `json:"victims"`
	Outcome string `json:"outcome"`
	Placed  string `json:"placedNode"`
}

// When is the time of the plan.
func (p *Preemption) When() time.Time { return time.Unix(0, p.Time) }

// An Explanation says why an ask waits, or why an allocation is evicted.
type Explanation struct {
	Key   string   `json:"allocationKey"`
	Why   string   `json:"why"`
	Lines []string `json:"lines"`
}

// A Question is what would come: asks, and applications that there are not yet.
type Question struct {
	Applications []NewApplication `json:"applications,omitempty"`
	Asks         []NewAsk         `json:"asks,omitempty"`
	Within       string           `json:"within,omitempty"` // such as 30s
	Config       string           `json:"config,omitempty"` // YAML that would be in effect
}

// A NewApplication would come.
type NewApplication struct {
	Application string            `json:"applicationId"`
	Queue       string            `json:"queueName,omitempty"`
	User        string            `json:"user,omitempty"`
	Groups      []string          `json:"groups,omitempty"`
	Tags        map[string]string `json:"tags,omitempty"`
}

// A NewAsk would come, so many times.
type NewAsk struct {
	Key         string            `json:"allocationKey"`
	Application string            `json:"applicationId"`
	Resource    Amounts           `json:"resource"`
	Priority    int32             `json:"priority,omitempty"`
	Node        string            `json:"requiredNodeId,omitempty"`
	Count       int               `json:"count,omitempty"`
	Tags        map[string]string `json:"tags,omitempty"`
	Policy      *Policy           `json:"preemptionPolicy,omitempty"`
}

// A Policy is which preemption an ask allows.
type Policy struct {
	Self  bool `json:"allowPreemptSelf"`
	Other bool `json:"allowPreemptOther"`
}

// An Outcome is what would come of a question.
type Outcome struct {
	Asks []struct {
		Key       string       `json:"allocationKey"`
		Node      string       `json:"nodeId"`
		Nominated string       `json:"nominatedNode"`
		Refused   string       `json:"refused"`
		Waits     *Explanation `json:"waits"`
	} `json:"asks"`
	Victims []struct {
		Key         string `json:"allocationKey"`
		Application string `json:"applicationId"`
		Message     string `json:"message"`
	} `json:"victims"`
	Rejected []struct {
		Application string `json:"applicationId"`
		Message     string `json:"message"`
	} `json:"rejected"`
	OverUse []struct { // queues that would use more than their max
		Queue string  `json:"queueName"`
		By    Amounts `json:"by"`
	} `json:"overUse"`
	Budgets string `json:"budgets"`
	Partial bool   `json:"partial"`
}
