package object

import (
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/config"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/configuration"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/encoder"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/failure"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/query"
)

// clusterJSON is the resource manager of one partition.
type clusterJSON struct {
	StartTime          encoder.Nanoseconds `json:"startTime"`
	RMBuildInformation []map[string]string `json:"rmBuildInformation"`
	Partition          string              `json:"partition"`
	ClusterName        string              `json:"clusterName"`
}

// partitionJSON is a partition in sums. What only the configuration says is left
// out where that is not known.
type partitionJSON struct {
	ClusterID              string                     `json:"clusterId"`
	Name                   string                     `json:"name"`
	Capacity               capacityJSON               `json:"capacity"`
	NodeSortingPolicy      *configuration.NodeSorting `json:"nodeSortingPolicy,omitempty"`
	PreemptionEnabled      *bool                      `json:"preemptionEnabled,omitempty"`
	QuotaPreemptionEnabled *bool                      `json:"quotaPreemptionEnabled,omitempty"`
	TotalNodes             int                        `json:"totalNodes,omitempty"`
	Applications           map[string]int             `json:"applications"` // by state, and in total
	TotalContainers        int                        `json:"totalContainers,omitempty"`
	State                  string                     `json:"state"`
	LastStateTransition    encoder.Nanoseconds        `json:"lastStateTransitionTime"`

	// What is new: what preemption came to, how old the view is if it is not the
	// current one, and how many foreign allocations name a node that is not known.
	Preempted          preemptedJSON `json:"preempted"`
	Age                time.Duration `json:"age,omitempty"` // ns
	ForeignUnknownNode int           `json:"foreignUnknownNode,omitempty"`
}

// capacityJSON is what a partition has and what own allocations use of it.
type capacityJSON struct {
	Capacity     encoder.Quantities `json:"capacity"`
	UsedCapacity encoder.Quantities `json:"usedCapacity"`
	Utilization  encoder.Quantities `json:"utilization"` // percent
}

// preemptedJSON counts since the partition was made.
type preemptedJSON struct {
	Plans       uint64 `json:"plans"`
	Nominations uint64 `json:"nominations"`
	Cleared     uint64 `json:"cleared"`
	Loops       uint64 `json:"loops"`
	Victims     uint64 `json:"victims"`
	Overdue     uint64 `json:"overdue"`
	Wasted      uint64 `json:"wasted"`
	// WastedBy is the same by cause, of the causes that there were.
	WastedBy map[string]uint64 `json:"wastedBy,omitempty"`
}

// Clusters answers GET /ws/v1/clusters.
func (from *Sources) Clusters(all []*Snapshot, r *http.Request) (any, error) {
	return query.List(r, from.Kinds, all, fillCluster)
}

func fillCluster(at *Snapshot, out *clusterJSON) {
	build := map[string]string{}
	if at.from.Build != nil {
		maps.Copy(build, at.from.Build(at.cluster))
	}
	build["rmId"] = at.cluster
	*out = clusterJSON{
		StartTime: encoder.NanosecondsOf(at.from.Started), RMBuildInformation: []map[string]string{build},
		Partition: at.name, ClusterName: "kubernetes",
	}
}

// Partitions answers GET /ws/v1/partitions.
func (from *Sources) Partitions(all []*Snapshot, r *http.Request) (any, error) {
	return query.List(r, from.Kinds, all, fillPartition, query.Texts("cluster", func(at *Snapshot) string { return at.cluster }))
}

func fillPartition(at *Snapshot, out *partitionJSON) {
	wasted := at.past.Wasted()
	*out = partitionJSON{
		ClusterID: at.cluster, Name: at.name,
		Capacity:   capacityJSON{at.Amounts(at.Capacity), at.Amounts(at.Used), at.Amounts(percent(at.Used, at.Capacity))},
		TotalNodes: len(at.Nodes), Applications: map[string]int{},
		State: "Active", LastStateTransition: encoder.NanosecondsOf(at.since(at.from.Started)),
		Preempted: preemptedJSON{
			at.Preempted.Plans, at.Preempted.Nominations, at.Preempted.Cleared, at.Preempted.Loops, at.Preempted.Victims.Total(), at.Preempted.Overdue.Total(),
			wasted.Total(), wasted.Named(),
		},
	}
	out.Age, out.ForeignUnknownNode = at.age, len(at.ForeignUnknownNode)
	for _, app := range at.Applications {
		out.TotalContainers += len(app.Allocations)
		if !over(app) {
			out.Applications[app.State.String()]++
			out.Applications["total"]++
		}
	}
	for _, record := range slices.Concat(at.ended(), at.rejected()) {
		out.Applications[record.State]++
		out.Applications["total"]++
	}
	if at.written != nil {
		enabled, quota := !at.written.Preemption.Disabled, at.written.Preemption.Quota
		out.PreemptionEnabled, out.QuotaPreemptionEnabled = &enabled, &quota
		out.NodeSortingPolicy = configuration.NodeSortingOf(at.written.Nodes)
	}
}

// Rules answers GET /ws/v1/partition/{partition}/placementrules.
func Rules(at *Snapshot, r *http.Request) (any, error) {
	return query.List(r, at.kinds, at.rules(), configuration.FillRule)
}

// rules are those of the configuration, or the one that holds without any, and the one that follows them,
// for applications whose pods run and that no other takes. They are empty where the configuration is not known.
func (at *Snapshot) rules() []config.Rule {
	if at.written == nil {
		return nil
	}
	recovery := config.Rule{Name: "recovery", Value: string(api.RecoveryQueue)}
	if len(at.written.Rules) == 0 {
		return []config.Rule{{Name: "provided"}, recovery}
	}
	return append(slices.Clip(at.written.Rules), recovery)
}

// running counts the applications that run, by queue.
func (at *Snapshot) running() map[api.QueuePath]int {
	out := map[api.QueuePath]int{}
	for _, app := range at.Applications {
		if app.State == api.Running {
			out[app.Queue]++
		}
	}
	return out
}

// findQueue finds a queue by its path, and all above it from the root on.
func (at *Snapshot) findQueue(path api.QueuePath) (way []*api.QueueView, err error) {
	for q := at.Root; ; {
		way = append(way, q)
		if q.Path == path {
			return way, nil
		}
		if q = q.Towards(path); q == nil {
			return nil, failure.Missing("Queue")
		}
	}
}
