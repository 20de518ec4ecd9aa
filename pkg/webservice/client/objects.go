package client

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

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
	// States is how it stands to what is guaranteed to it, by kind.
	States map[string]string `json:"guaranteeStateByKind"`
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
		RunTime     int64  `json:"runTime"` // in nanoseconds; zero if it is not known
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

// An Examination is what is wrong with a partition.
type Examination struct {
	Well  bool     `json:"well"`
	Lines []string `json:"lines"`
}

// A Question is what would come: asks, applications that there are not yet, other nodes,
// another configuration.
type Question struct {
	Applications []NewApplication `json:"applications,omitempty" yaml:"applications,omitempty"`
	Asks         []NewAsk         `json:"asks,omitempty" yaml:"asks,omitempty"`
	Nodes        *NewNodes        `json:"nodes,omitempty" yaml:"nodes,omitempty"`
	Within       string           `json:"within,omitempty" yaml:"within,omitempty"` // such as 30s
	Config       string           `json:"config,omitempty" yaml:"config,omitempty"` // YAML that would be in effect
}

// NewNodes is what would be done to nodes.
type NewNodes struct {
	Add    []NewNode `json:"add,omitempty" yaml:"add,omitempty"`
	Drain  []string  `json:"drain,omitempty" yaml:"drain,omitempty"`
	Remove []string  `json:"remove,omitempty" yaml:"remove,omitempty"`
}

// A NewNode would come, so many times.
type NewNode struct {
	Name       string            `json:"nodeId" yaml:"nodeId"`
	Capacity   Amounts           `json:"capacity,omitempty" yaml:"capacity,omitempty"`
	Attributes map[string]string `json:"attributes,omitempty" yaml:"attributes,omitempty"`
	Count      int               `json:"count,omitempty" yaml:"count,omitempty"`
}

// A NewApplication would come.
type NewApplication struct {
	Application string            `json:"applicationId" yaml:"applicationId"`
	Queue       string            `json:"queueName,omitempty" yaml:"queueName,omitempty"`
	User        string            `json:"user,omitempty" yaml:"user,omitempty"`
	Groups      []string          `json:"groups,omitempty" yaml:"groups,omitempty"`
	Tags        map[string]string `json:"tags,omitempty" yaml:"tags,omitempty"`
}

// A NewAsk would come, so many times.
type NewAsk struct {
	Key         string            `json:"allocationKey" yaml:"allocationKey"`
	Application string            `json:"applicationId" yaml:"applicationId"`
	Resource    Amounts           `json:"resource" yaml:"resource"`
	Priority    int32             `json:"priority,omitempty" yaml:"priority,omitempty"`
	Node        string            `json:"requiredNodeId,omitempty" yaml:"requiredNodeId,omitempty"`
	Count       int               `json:"count,omitempty" yaml:"count,omitempty"`
	Tags        map[string]string `json:"tags,omitempty" yaml:"tags,omitempty"`
	Policy      *Policy           `json:"preemptionPolicy,omitempty" yaml:"preemptionPolicy,omitempty"`
}

// A Group is members of which so many start together or none.
type Group struct {
	Name       string `json:"name"`
	State      string `json:"state"` // what it does
	Least      int    `json:"least"` // how many members, or subgroups, must run or be done
	Running    int    `json:"running"`
	Waiting    int    `json:"waiting"`
	Done       int    `json:"done"`
	BelowSince int64  `json:"belowSince"` // nanoseconds since 1970; zero if it is not below its minimum
	Why        string `json:"why"`        // why its members wait
	Priority   *int32 `json:"priority"`   // nil if each member has its own

	BySubgroup bool       `json:"bySubgroup"` // Least counts subgroups
	Subgroups  []Subgroup `json:"subgroups"`  // that members name, by name
}

// A Subgroup is the members of a group that name it, or a part of it.
type Subgroup struct {
	Name    string `json:"name"`  // of a part with those that it is in, divided by slashes
	Least   int    `json:"least"` // members, or parts, that start together; zero where nothing was said
	Has     int    `json:"has"`   // of these: members that run or are done, or parts that have theirs
	Running int    `json:"running"`
	Waiting int    `json:"waiting"`
	Done    int    `json:"done"`
	Require string `json:"require"` // the attribute of nodes of which its members run in one value; empty for none
}

// Needs is what a group lacks nothing with, in words: so many members, or so many subgroups, and how many of these run.
func (g *Group) Needs() string {
	if !g.BySubgroup {
		return strconv.Itoa(g.Least)
	}
	run := 0
	for _, of := range g.Subgroups {
		if of.Least > 0 && of.Has >= of.Least && !strings.Contains(of.Name, "/") {
			run++
		}
	}
	return fmt.Sprintf("%d of %d subgroups", run, g.Least)
}

// A Domain is the nodes with equal values of a list of levels, down to its own.
type Domain struct {
	Name        string   `json:"name"`  // the values, divided by slashes
	Level       string   `json:"level"` // an attribute of nodes
	Nodes       int      `json:"nodes"`
	Schedulable int      `json:"schedulable"` // take asks
	Idle        int      `json:"idle"`        // run nothing that could run elsewhere
	Intact      bool     `json:"intact"`      // all nodes are idle and take asks
	Available   Amounts  `json:"available"`
	Groups      []string `json:"groups"`  // of which members run there
	KeptFor     []string `json:"keptFor"` // for which room is kept there
}

// A Policy is which preemption an ask allows.
type Policy struct {
	Self  bool `json:"allowPreemptSelf" yaml:"allowPreemptSelf"`
	Other bool `json:"allowPreemptOther" yaml:"allowPreemptOther"`
}

// An Outcome is what would come of a question.
type Outcome struct {
	Asks    []AskOutcome `json:"asks"`
	Moved   []AskOutcome `json:"moved"`  // pods in place of those on removed nodes
	Others  []AskOutcome `json:"others"` // that wait now and would not
	Waited  int          `json:"waited"` // asks that wait now
	Waiting []struct {   // those that would go on waiting
		Why  string `json:"why"`
		Asks int    `json:"asks"`
		Key  string `json:"allocationKey"` // that waits longest
	} `json:"waiting"`
	Staying []struct { // on drained nodes
		Node        string `json:"nodeId"`
		Allocations int    `json:"allocations"`
	} `json:"staying"`
	Victims []struct {
		Key         string `json:"allocationKey"`
		Application string `json:"applicationId"`
		Message     string `json:"message"`
		After       int64  `json:"after"` // in nanoseconds; zero is at once
	} `json:"victims"`
	Rejected []struct {
		Application string `json:"applicationId"`
		Message     string `json:"message"`
	} `json:"rejected"`
	OverUse []struct { // queues that would use more than their max
		Queue string  `json:"queueName"`
		By    Amounts `json:"by"`
	} `json:"overUse"`
	OverLimits []OverLimit `json:"overLimits"`
	Budgets    string      `json:"budgets"`
	Predicates string      `json:"predicates"`
	Partial    bool        `json:"partial"`
	Simulated  int64       `json:"simulated"` // how much time, in nanoseconds
	Delays     int64       `json:"delays"`    // for how much longer one goes on that was not waited for, in nanoseconds
}

// An OverLimit is a user or group that would use more than its limit in a queue.
type OverLimit struct {
	Queue        string  `json:"queueName"`
	User         string  `json:"user"`
	Group        string  `json:"group"`
	By           Amounts `json:"by"`
	Applications int     `json:"applications"`
}

// String says which user or group that is, in which queue, and by how much.
func (o OverLimit) String() string {
	owner, by := "user "+o.User, []string{}
	if o.Group != "" {
		owner = "group " + o.Group
	}
	if len(o.By) > 0 {
		by = append(by, o.By.String())
	}
	switch {
	case o.Applications == 1:
		by = append(by, "1 application")
	case o.Applications > 1:
		by = append(by, fmt.Sprintf("%d applications", o.Applications))
	}
	return fmt.Sprintf("%s would be over its limit in %s, by %s", owner, o.Queue, strings.Join(by, " and "))
}

// An AskOutcome is what would become of an ask.
type AskOutcome struct {
	Key       string       `json:"allocationKey"`
	Node      string       `json:"nodeId"`
	Nominated string       `json:"nominatedNode"`
	After     int64        `json:"after"` // in nanoseconds; zero is at once
	Refused   string       `json:"refused"`
	Waits     *Explanation `json:"waits"`
	Unasked   bool         `json:"unasked"` // amounts alone decided about it
}
