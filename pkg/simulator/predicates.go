package simulator

import (
	"fmt"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// The answers of the resource manager to the questions of the core.

// feasible is the answer to the question whether a pod may run on a node now.
func (c *cluster) feasible(key api.AllocationKey, id api.NodeID, _ bool) error {
	p, n := c.pods.byKey[key], c.nodes.byID[id]
	if p == nil || n == nil || !n.up {
		return fmt.Errorf("pod %s or node %s is not known", key, id)
	}
	return n.answer(&p.wants)
}

// predicateClass names the pods that get the same answers as a pod from feasible;
// empty for a pod that is not known.
func (c *cluster) predicateClass(key api.AllocationKey) string {
	if p := c.pods.byKey[key]; p != nil {
		return p.class
	}
	return ""
}

// simulate says whether a pod may run on a node to which some pods were added
// and from which some were taken away. Labels and models stay as they are.
func (c *cluster) simulate(key api.AllocationKey, id api.NodeID, add, remove []api.AllocationKey) error {
	p, n := c.pods.byKey[key], c.nodes.byID[id]
	if p == nil || n == nil || !n.up {
		return &unresolvable{fmt.Errorf("pod %s or node %s is not known", key, id)}
	}
	if err := n.never(&p.wants); err != nil {
		return &unresolvable{err}
	}
	if n.refuses > 0 {
		return errRefuses
	}
	if p.demand.Count == 0 {
		return nil
	}
	table := n.table.clone()
	for _, gone := range remove {
		if q := c.pods.byKey[gone]; q != nil && q.node == n {
			table.give(q.demand, q.devices)
		}
	}
	for _, come := range add {
		if q := c.pods.byKey[come]; q != nil && table.check(&q.wants) == nil {
			table.take(q.demand)
		}
	}
	return table.check(&p.wants)
}

// An unresolvable refusal holds whatever ends on the node.
type unresolvable struct{ error }

// Unresolvable says so to the core.
func (*unresolvable) Unresolvable() bool { return true }

// allowances is the answer to the question which budgets pods count for.
func (c *cluster) allowances(keys []api.AllocationKey) []api.DisruptionBudget {
	return c.budgets.allowances(keys, c.pods.byKey)
}
