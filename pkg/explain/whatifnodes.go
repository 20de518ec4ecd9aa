package explain

import (
	"fmt"
	"slices"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/scarcity"
)

// Nodes is what might be done to nodes, in this order.
type Nodes struct {
	Add    []api.AddNode // their identifiers must be new
	Drain  []api.NodeID  // take nothing new; what runs there stays
	Remove []api.NodeID  // with what runs there, which is asked for again
}

// check says which node is not what the question takes it for.
func (n Nodes) check(view *api.View) error {
	known := map[api.NodeID]bool{}
	for _, node := range view.Nodes {
		known[node.ID] = true
	}
	for _, add := range n.Add {
		if known[add.ID] {
			return fmt.Errorf("node %s is registered already", add.ID)
		}
		known[add.ID] = true
	}
	gone := map[api.NodeID]bool{}
	for _, id := range slices.Concat(n.Drain, n.Remove) {
		switch {
		case !known[id]:
			return fmt.Errorf("node %s is not registered", id)
		case gone[id]:
			return fmt.Errorf("node %s is drained or removed twice", id)
		}
		gone[id] = true
	}
	return nil
}

// changeNodes does to nodes what the question says. It returns the allocations that ran on
// those that are removed as asks, in the order of the nodes: the resource manager would ask
// for pods in their place. Those of daemonsets, and those that were ending, do not come again.
func (r *dryRun) changeNodes(view *api.View, now time.Time, nodes Nodes) []*api.Allocation {
	for _, node := range nodes.Add {
		r.p.Apply(now, node)
		r.added[node.ID] = true
	}
	for _, id := range nodes.Drain {
		r.p.Apply(now, api.DrainNode{ID: id})
	}
	byID := map[api.NodeID]*api.NodeView{}
	for _, node := range view.Nodes {
		byID[node.ID] = node
	}
	var moved []*api.Allocation
	for _, id := range nodes.Remove {
		r.p.Apply(now, api.RemoveNode{ID: id})
		node := byID[id]
		if node == nil {
			continue // it is one that the question adds
		}
		for _, a := range node.Allocations {
			ending := slices.ContainsFunc(node.Evictions, func(e api.Eviction) bool { return e.Key == a.Key })
			if a.Required == "" && !ending {
				ask := *a
				ask.Node, ask.Placed, ask.Settled, ask.Replaced, ask.Created = "", time.Time{}, false, false, now
				moved = append(moved, &ask)
			}
		}
	}
	for _, ask := range moved {
		own := *ask
		r.observe(r.p.Apply(now, api.AddAllocation{Allocation: &own}))
	}
	return moved
}

// feasible asks the resource manager about asks that wait now, on nodes that there are. Of others it knows nothing: for these amounts
// decide, and what is known of the nodes that pods of a removed node need; the outcome says so.
func (r *dryRun) feasible(ask api.Feasible, view *api.View, nodes Nodes) api.Feasible {
	if ask == nil && len(nodes.Remove) == 0 {
		return nil
	}
	needs := map[api.AllocationKey]string{} // of pods whose node is removed
	for _, id := range nodes.Remove {
		if n, known := find(view.Nodes, id, func(n *api.NodeView) api.NodeID { return n.ID }); known {
			for _, a := range n.Allocations {
				needs[a.Key] = a.Tags[api.TagNodeSelector]
			}
		}
	}
	return func(key api.AllocationKey, node api.NodeID, allocate bool) error {
		if needs[key] != "" {
			n, known := find(view.Nodes, node, func(n *api.NodeView) api.NodeID { return n.ID })
			if known && len(n.Attributes) > 0 && scarcity.Lacking(needs[key], n.Attributes) != "" {
				return fmt.Errorf("the node is not labelled %s", scarcity.Lacking(needs[key], n.Attributes))
			}
		}
		switch {
		case ask == nil:
			return nil
		case !r.waited[key] || r.added[node]:
			r.unasked = true
			return nil
		}
		return ask(key, node, allocate)
	}
}

// isUnasked reports whether the resource manager refuses some asks, and was not asked whether one may run where it is placed.
func (r *dryRun) isUnasked(key api.AllocationKey, on api.NodeID) bool {
	return r.asks && on != "" && (!r.waited[key] || r.added[on])
}

// waitingNow are the asks of a view by key, without those that the question asks for again.
func waitingNow(view *api.View) map[api.AllocationKey]bool {
	keys := map[api.AllocationKey]bool{}
	for _, app := range view.Applications {
		for i := range app.Asks {
			keys[app.Asks[i].Key] = true
		}
	}
	return keys
}
