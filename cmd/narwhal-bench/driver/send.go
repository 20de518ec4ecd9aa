package driver

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/common"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
)

// RequestMax is the most pods in one request.
const RequestMax = 1000

// Register makes the driver known to its core.
func (d *Driver) Register(config string, extra map[string]string) error {
	_, err := d.core.RegisterResourceManager(&si.RegisterResourceManagerRequest{
		RmID: ID, PolicyGroup: "queues", Version: "1", Config: config, ExtraConfig: extra,
	}, callback{d})
	return err
}

// AddNodes returns when the core has accepted all of them.
func (d *Driver) AddNodes(ctx context.Context, nodes []Node) error {
	infos := make([]*si.NodeInfo, len(nodes))
	for i, n := range nodes {
		d.nodes[n.ID] = n
		infos[i] = &si.NodeInfo{
			NodeID: n.ID, Action: si.NodeInfo_CREATE, SchedulableResource: d.resource(n.Has), Attributes: map[string]string{},
		}
	}
	if err := d.core.UpdateNode(&si.NodeRequest{RmID: ID, Nodes: infos}); err != nil {
		return err
	}
	_, err := d.await(ctx, &d.accepted, len(d.nodes), "nodes are accepted")
	return err
}

// An Application is a name and the queue where it is sent.
type Application struct{ ID, Queue string }

// AddApplications returns when the core has accepted all of them.
func (d *Driver) AddApplications(ctx context.Context, applications []Application) error {
	news := make([]*si.AddApplicationRequest, len(applications))
	for i, a := range applications {
		news[i] = &si.AddApplicationRequest{
			ApplicationID: a.ID, QueueName: a.Queue, Ugi: &si.UserGroupInformation{User: "user", Groups: []string{"users"}},
		}
	}
	d.mu.Lock()
	goal := d.applications.n + len(news) // before a core can answer
	d.mu.Unlock()
	if err := d.core.UpdateApplication(&si.ApplicationRequest{RmID: ID, New: news}); err != nil {
		return err
	}
	_, err := d.await(ctx, &d.applications, goal, "applications are accepted")
	return err
}

// Know takes note of pods, so that sending them costs the driver no memory.
func (d *Driver) Know(pods []*Pod) {
	for _, p := range pods {
		d.pods[p.Key] = p
		d.resource(p.Wants)
	}
}

// Requests is the messages that ask for pods, or report those that run.
func (d *Driver) Requests(pods []*Pod) []*si.AllocationRequest {
	requests := make([]*si.AllocationRequest, 0, len(pods)/RequestMax+1)
	for part := range slices.Chunk(pods, RequestMax) {
		list := make([]*si.Allocation, len(part))
		for i, p := range part {
			list[i] = d.allocation(p)
		}
		requests = append(requests, &si.AllocationRequest{RmID: ID, Allocations: list})
	}
	return requests
}

// Endings is the messages that end pods.
func (d *Driver) Endings(pods []*Pod) []*si.AllocationRequest {
	requests := make([]*si.AllocationRequest, 0, len(pods)/RequestMax+1)
	for part := range slices.Chunk(pods, RequestMax) {
		list := make([]*si.AllocationRelease, len(part))
		for i, p := range part {
			list[i] = &si.AllocationRelease{AllocationKey: p.Key, TerminationType: si.TerminationType_STOPPED_BY_RM}
			if !p.Foreign {
				list[i].ApplicationID = p.Application
			}
		}
		requests = append(requests, &si.AllocationRequest{
			RmID: ID, Releases: &si.AllocationReleasesRequest{AllocationsToRelease: list},
		})
	}
	return requests
}

// SendAll sends requests, and forgets each, so that its memory can be used again.
func (d *Driver) SendAll(requests []*si.AllocationRequest) error {
	for i, request := range requests {
		d.rememberSent(request)
		requests[i] = nil
		if err := d.core.UpdateAllocation(request); err != nil {
			return err
		}
	}
	return nil
}

// rememberSent is before a request is sent, so that answers come later in the log.
func (d *Driver) rememberSent(request *si.AllocationRequest) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, a := range request.Allocations {
		if a.NodeID == "" {
			d.remember(asked, a.AllocationKey, "")
		} else {
			d.remember(runs, a.AllocationKey, a.NodeID)
		}
	}
	for _, r := range request.GetReleases().GetAllocationsToRelease() {
		d.remember(released, r.AllocationKey, "")
	}
}

// Send asks for pods, or reports those that run.
func (d *Driver) Send(pods ...*Pod) error {
	d.Know(pods)
	return d.SendAll(d.Requests(pods))
}

// Release ends pods.
func (d *Driver) Release(pods ...*Pod) error { return d.SendAll(d.Endings(pods)) }

func (d *Driver) allocation(p *Pod) *si.Allocation {
	a := &si.Allocation{
		AllocationKey: p.Key, ApplicationID: p.Application, NodeID: p.Node,
		ResourcePerAlloc: d.resource(p.Wants), Priority: p.Priority, Originator: p.Owner,
		PreemptionPolicy: &si.PreemptionPolicy{AllowPreemptSelf: !p.OptedOut, AllowPreemptOther: true},
	}
	if p.Aged || p.Required != "" || p.Foreign {
		a.AllocationTags = map[string]string{common.CreationTime: created}
	}
	if p.Required != "" {
		a.AllocationTags[common.DomainYuniKorn+common.KeyRequiredNode] = p.Required
	}
	if p.Foreign {
		a.ApplicationID = ""
		a.AllocationTags[common.Foreign] = common.AllocTypeDefault
	}
	return a
}

// created is when aged pods were created: long enough ago that no delay of a preemption is left.
var created = strconv.FormatInt(time.Now().Add(-time.Hour).Unix(), 10)

// resource is the message of amounts, shared by all that have them.
func (d *Driver) resource(amounts Amounts) *si.Resource {
	if shared, ok := d.resources[amounts]; ok {
		return shared
	}
	message := &si.Resource{Resources: map[string]*si.Quantity{
		common.CPU: {Value: amounts.Vcore}, common.Memory: {Value: amounts.Memory},
	}}
	if amounts.GPU > 0 {
		message.Resources["gpu"] = &si.Quantity{Value: amounts.GPU}
	}
	d.resources[amounts] = message
	return message
}
