// Package objects has the applications, nodes and allocations that programs see when they
// look into the scheduler. They are for reading. An application and a node are looked up anew
// with each call, so that a program that waits for a change sees it; an allocation is as it
// was when it was read.
package objects

import (
	"cmp"
	"slices"

	"github.com/apache/yunikorn-core/internal/look"
	"github.com/apache/yunikorn-core/pkg/common/resources"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// An Application is an application of a partition.
type Application struct {
	ApplicationID string

	in *look.Partition
}

// NewApplication is the application with an ID.
func NewApplication(id string, in *look.Partition) *Application {
	return &Application{ApplicationID: id, in: in}
}

// CurrentState is the state, of an application that has ended the last one.
func (a *Application) CurrentState() string {
	if view := a.in.Application(a.ApplicationID); view != nil {
		return view.State.String()
	}
	return a.in.LastState(a.ApplicationID)
}

// GetAllAllocations are the allocations, sorted by key.
func (a *Application) GetAllAllocations() []*Allocation {
	view := a.in.Application(a.ApplicationID)
	if view == nil {
		return nil
	}
	return sorted(view.Allocations, a.in)
}

// GetAllRequests are the asks, those included that are placed, sorted by key.
func (a *Application) GetAllRequests() []*Allocation {
	view := a.in.Application(a.ApplicationID)
	if view == nil {
		return nil
	}
	all := slices.Clone(view.Allocations)
	for i := range view.Asks {
		all = append(all, view.Asks[i].Allocation)
	}
	return sorted(all, a.in)
}

// A Node is a node of a partition.
type Node struct {
	NodeID string

	in *look.Partition
}

// NewNode is the node with an ID.
func NewNode(id string, in *look.Partition) *Node { return &Node{NodeID: id, in: in} }

// GetForeignAllocations are the allocations of other schedulers on the node, sorted by key.
func (n *Node) GetForeignAllocations() []*Allocation {
	view := n.in.Node(n.NodeID)
	if view == nil {
		return nil
	}
	return sorted(view.ForeignAllocations, n.in)
}

// An Allocation is an ask or an allocation.
type Allocation struct {
	key        string
	quantities map[string]int64
}

// sorted makes allocations of those of a view.
func sorted(of []*api.Allocation, in *look.Partition) []*Allocation {
	out := make([]*Allocation, 0, len(of))
	for _, a := range of {
		out = append(out, &Allocation{string(a.Key), in.Quantities(a)})
	}
	slices.SortFunc(out, func(a, b *Allocation) int { return cmp.Compare(a.key, b.key) })
	return out
}

// GetAllocationKey is the key.
func (a *Allocation) GetAllocationKey() string { return a.key }

// GetAllocatedResource is what the allocation uses, or what the ask wants.
func (a *Allocation) GetAllocatedResource() *resources.Resource {
	out := &resources.Resource{Resources: make(map[string]resources.Quantity, len(a.quantities))}
	for kind, quantity := range a.quantities {
		out.Resources[kind] = resources.Quantity(quantity)
	}
	return out
}
