package live

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/common"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/messages"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A requestBuilder makes requests of commands, in their order. As a request of
// allocations means releases after all else, what comes after a release begins
// another one.
type requestBuilder struct {
	*session
	requests []any
}

// requests turns commands into as few requests as keep their order.
func (p *session) requests(commands []api.Command) []any {
	out := requestBuilder{session: p}
	for _, command := range commands {
		out.add(command)
	}
	return out.requests
}

func (p *requestBuilder) add(command api.Command) {
	switch c := command.(type) {
	case api.AddNode:
		p.addNode(c)
	case api.DrainNode:
		p.node(&si.NodeInfo{NodeID: string(c.ID), Action: si.NodeInfo_DRAIN_NODE})
	case api.UndrainNode:
		p.node(&si.NodeInfo{NodeID: string(c.ID), Action: si.NodeInfo_DRAIN_TO_SCHEDULABLE})
	case api.RemoveNode:
		p.node(&si.NodeInfo{NodeID: string(c.ID), Action: si.NodeInfo_DECOMISSION})
	case api.AddApplication:
		p.application(c)
	case api.AddAllocation:
		p.allocation(c.Allocation)
	case api.ReleaseAllocation:
		p.release(c)
	case api.Reconfigure:
		p.requests = append(p.requests, &si.UpdateConfigurationRequest{RmID: ID, PolicyGroup: "queues", Config: p.live.texts[p.cluster.Changes()]})
	default:
		panic(fmt.Sprintf("live: there is no request for a %T", command))
	}
}

// last is the last request if it is of the type, else a new one.
func last[T any](p *requestBuilder, fresh T) T {
	if n := len(p.requests); n > 0 {
		if r, ok := p.requests[n-1].(T); ok {
			return r
		}
	}
	p.requests = append(p.requests, fresh)
	return fresh
}

func (p *requestBuilder) partition() string { return p.live.scenario.Config.Name }

func (p *requestBuilder) amounts(a resources.Amounts) *si.Resource {
	return messages.ResourceOf(p.live.scenario.Kinds, a)
}

func (p *requestBuilder) addNode(c api.AddNode) {
	n := &si.NodeInfo{NodeID: string(c.ID), Action: si.NodeInfo_CREATE, SchedulableResource: p.amounts(c.Capacity)}
	if c.Drained {
		n.Action = si.NodeInfo_CREATE_DRAIN
	}
	n.Attributes = maps.Clone(c.Attributes)
	p.node(n)
}

func (p *requestBuilder) node(n *si.NodeInfo) {
	if n.Attributes == nil {
		n.Attributes = map[string]string{}
	}
	n.Attributes[common.NodePartition] = p.partition()
	r := last(p, &si.NodeRequest{RmID: ID})
	r.Nodes = append(r.Nodes, n)
}

func (p *requestBuilder) application(c api.AddApplication) {
	r := last(p, &si.ApplicationRequest{RmID: ID})
	r.New = append(r.New, &si.AddApplicationRequest{
		ApplicationID: string(c.ID),
		QueueName:     string(c.Queue),
		PartitionName: p.partition(),
		Ugi:           &si.UserGroupInformation{User: c.User, Groups: c.Groups},
		Tags:          p.applicationTags(&c),

		PlaceholderAsk:               p.amounts(c.Placeholders),
		GangSchedulingStyle:          c.Style.String(),
		ExecutionTimeoutMilliSeconds: p.live.Real(c.GangTimeout).Milliseconds(),
	})
}

// applicationTags adds to the tags of an application that it runs already, and the quota of its namespace.
func (p *requestBuilder) applicationTags(c *api.AddApplication) map[string]string {
	tags := map[string]string{}
	maps.Copy(tags, c.Tags)
	if c.Forced {
		tags[common.AppTagCreateForce] = "true"
	}
	quota := c.Quota
	if quota == nil {
		return tags
	}
	put := func(name string, quantities map[string]int64) {
		if len(quantities) == 0 {
			return
		}
		r := &si.Resource{Resources: map[string]*si.Quantity{}}
		for kind, value := range quantities {
			r.Resources[kind] = &si.Quantity{Value: value}
		}
		if text, err := json.Marshal(r); err == nil { // of numbers and texts
			tags[name] = string(text)
		}
	}
	put(common.AppTagNamespaceResourceQuota, p.live.scenario.Kinds.LimitMap(quota.Max))
	put(common.AppTagNamespaceResourceGuaranteed, p.live.scenario.Kinds.Map(quota.Guaranteed))
	return tags
}

// allocation is an ask or a foreign pod. Its time of creation is left to the
// scheduler: it is now, and a tag has no parts of seconds.
func (p *requestBuilder) allocation(a *api.Allocation) {
	r := last(p, &si.AllocationRequest{RmID: ID})
	if r.Releases != nil {
		r = &si.AllocationRequest{RmID: ID}
		p.requests = append(p.requests, r)
	}
	out := &si.Allocation{
		AllocationKey:    string(a.Key),
		ApplicationID:    string(a.Application),
		PartitionName:    p.partition(),
		NodeID:           string(a.Node),
		ResourcePerAlloc: p.amounts(a.Amounts),
		Priority:         a.Priority,
		Originator:       a.Originator,
		TaskGroupName:    a.TaskGroup,
		Placeholder:      a.Placeholder,
		AllocationTags:   p.tags(a),
	}
	if a.Preemptable.Stated {
		out.PreemptionPolicy = &si.PreemptionPolicy{
			AllowPreemptSelf: a.Preemptable.AllowSelf, AllowPreemptOther: a.Preemptable.AllowOthers,
		}
	}
	r.Allocations = append(r.Allocations, out)
}

// tags are those that the allocation has, and what messages say in tags.
func (p *requestBuilder) tags(a *api.Allocation) map[string]string {
	tags := map[string]string{}
	maps.Copy(tags, a.Tags)
	if grace, err := strconv.Atoi(tags[api.TagGrace]); err == nil {
		took := p.live.Real(time.Duration(grace) * time.Second)
		tags[api.TagGrace] = strconv.Itoa(int((took + time.Second - 1) / time.Second))
	}
	p.sinceRestart(a, tags)
	if a.Required != "" {
		tags[common.DomainYuniKorn+common.KeyRequiredNode] = string(a.Required)
	}
	switch a.Origin {
	case api.Foreign:
		tags[common.Foreign] = common.AllocTypeDefault
	case api.Static:
		tags[common.Foreign] = common.AllocTypeStatic
	case api.Own:
	}
	return tags
}

// sinceRestart adds the tags which say what was on its way, for a scheduler that has started
// anew since: that a pod is ending, or where it is nominated. A new pod has none of them.
func (p *requestBuilder) sinceRestart(a *api.Allocation, tags map[string]string) {
	switch nominated := p.cluster.Nominated(a.Key); {
	case a.Node != "" && p.cluster.Ending(a.Key):
		tags[api.TagTerminating] = "true"
	case a.Node == "" && nominated != "":
		tags[api.TagNominatedNode] = string(nominated)
	}
}

func (p *requestBuilder) release(c api.ReleaseAllocation) {
	r := last(p, &si.AllocationRequest{RmID: ID})
	if r.Releases == nil {
		r.Releases = &si.AllocationReleasesRequest{}
	}
	r.Releases.AllocationsToRelease = append(r.Releases.AllocationsToRelease, &si.AllocationRelease{
		PartitionName:   p.partition(),
		ApplicationID:   string(c.Application),
		AllocationKey:   string(c.Key),
		TerminationType: c.Termination,
		Message:         c.Message,
	})
}
