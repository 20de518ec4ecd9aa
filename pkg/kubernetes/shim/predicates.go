package shim

import (
	"cmp"
	"errors"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
)

// Predicates answers whether a pod may run on a node.
func (c callback) Predicates(args *si.PredicatesArgs) error {
	if pods.GrowingPod(args.AllocationKey) != "" {
		return nil // it runs there; the kubelet says whether it grows
	}
	pod, err := c.podOf(args.AllocationKey)
	if err != nil {
		return err
	}
	if err := c.reserved.elsewhere(args.AllocationKey, args.NodeID); err != nil {
		return err
	}
	return c.feasible.Check(pod, args.NodeID)
}

// PredicatesOnNodes answers for several nodes at once.
func (c callback) PredicatesOnNodes(args *scheduler.PredicatesOnNodesArgs) []error {
	if pods.GrowingPod(args.AllocationKey) != "" {
		return make([]error, len(args.NodeIDs))
	}
	pod, err := c.podOf(args.AllocationKey)
	if err == nil {
		answers := c.feasible.CheckNodes(pod, args.NodeIDs)
		for i, node := range args.NodeIDs {
			answers[i] = cmp.Or(c.reserved.elsewhere(args.AllocationKey, node), answers[i])
		}
		return answers
	}
	answers := make([]error, len(args.NodeIDs))
	for i := range answers {
		answers[i] = err
	}
	return answers
}

// PredicateClass names the class of equal pods.
func (c callback) PredicateClass(allocationKey string) string {
	pod, err := c.podOf(allocationKey)
	if err != nil {
		return ""
	}
	class := c.reserved.class(allocationKey, c.feasible.Class(pod))
	if ties := c.ties.wait(pod, class); ties != nil {
		c.comes(ties)
	}
	return class
}

// PredicatesWith answers whether a pod may run on a node after some changes of it.
func (c callback) PredicatesWith(args *scheduler.PredicatesWithArgs) error {
	if pods.GrowingPod(args.AllocationKey) != "" {
		return nil
	}
	pod, err := c.podOf(args.AllocationKey)
	if err != nil {
		return err
	}
	if err := c.reserved.elsewhere(args.AllocationKey, args.NodeID); err != nil {
		return err
	}
	return c.feasible.CheckWith(pod, args.NodeID, c.podsOf(args.Add), c.podsOf(args.Remove))
}

// podsOf is the pods of allocations; those that have ended are left out, as they take
// nothing any more.
func (c *Context) podsOf(keys []string) []*v1.Pod {
	var found []*v1.Pod
	for _, key := range keys {
		if pod, err := c.podOf(key); err == nil {
			found = append(found, pod)
		}
	}
	return found
}

// PreemptionPredicates answers how many of some victims have to go, in their order, so that
// a pod may run on a node. The core asks it of resource managers that cannot answer
// PredicatesWith.
func (c callback) PreemptionPredicates(args *si.PreemptionPredicatesArgs) *si.PreemptionPredicatesResponse {
	response := &si.PreemptionPredicatesResponse{Index: -1}
	pod, err := c.podOf(args.AllocationKey)
	if err != nil {
		return response
	}
	for last := int(args.StartIndex); last < len(args.PreemptAllocationKeys); last++ {
		err := c.feasible.CheckWith(pod, args.NodeID, nil, c.podsOf(args.PreemptAllocationKeys[:last+1]))
		if err == nil {
			response.Success, response.Index = true, int32(last)
			return response
		}
		var final interface{ Unresolvable() bool }
		if errors.As(err, &final) && final.Unresolvable() {
			break
		}
	}
	return response
}
