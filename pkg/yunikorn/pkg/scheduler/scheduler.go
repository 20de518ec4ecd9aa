// Package scheduler lets programs look into the scheduler: what its partitions hold, and what
// is in them. All of it is for reading; changes go through the scheduler-interface.
package scheduler

import (
	"github.com/narwhal-scheduler/narwhal/pkg/archive"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"

	"github.com/apache/yunikorn-core/internal/look"
	"github.com/apache/yunikorn-core/pkg/scheduler/objects"
)

// A Scheduler is the scheduler as programs see it.
type Scheduler struct {
	context ClusterContext
}

// New shows a scheduler. The archive is that which it writes.
func New(of *scheduler.Scheduler, past *archive.Archive) *Scheduler {
	return &Scheduler{ClusterContext{look.Cluster{Scheduler: of, Archive: past}}}
}

// GetClusterContext is all partitions.
func (s *Scheduler) GetClusterContext() *ClusterContext { return &s.context }

// A ClusterContext is all partitions. A partition is found by its name with the resource
// manager in brackets before it, or without.
type ClusterContext struct {
	cluster look.Cluster
}

// GetPartition is the partition with a name, or nil.
func (c *ClusterContext) GetPartition(partitionName string) *PartitionContext {
	found := c.cluster.Partition(partitionName)
	if found == nil {
		return nil
	}
	return &PartitionContext{found}
}

// GetApplication is an application that goes on, or nil.
func (c *ClusterContext) GetApplication(appID, partitionName string) *objects.Application {
	in := c.cluster.Partition(partitionName)
	if in == nil || in.Application(appID) == nil {
		return nil
	}
	return objects.NewApplication(appID, in)
}

// GetNode is a node, or nil.
func (c *ClusterContext) GetNode(nodeID, partitionName string) *objects.Node {
	in := c.cluster.Partition(partitionName)
	if in == nil || in.Node(nodeID) == nil {
		return nil
	}
	return objects.NewNode(nodeID, in)
}

// A PartitionContext is one partition.
type PartitionContext struct {
	in *look.Partition
}

// GetApplications are the applications that go on, sorted by ID.
func (p *PartitionContext) GetApplications() []*objects.Application {
	view := p.in.View()
	if view == nil {
		return nil
	}
	out := make([]*objects.Application, 0, len(view.Applications))
	for _, a := range view.Applications {
		out = append(out, objects.NewApplication(string(a.ID), p.in))
	}
	return out
}

// GetNodes are the nodes, sorted by ID.
func (p *PartitionContext) GetNodes() []*objects.Node {
	view := p.in.View()
	if view == nil {
		return nil
	}
	out := make([]*objects.Node, 0, len(view.Nodes))
	for _, n := range view.Nodes {
		out = append(out, objects.NewNode(string(n.ID), p.in))
	}
	return out
}
