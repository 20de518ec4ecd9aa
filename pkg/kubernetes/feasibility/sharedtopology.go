package feasibility

import (
	"context"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// A reach is the label of nodes by which the devices of a claim that has none yet are reached, as the devices were that there are.
type reach struct {
	label   string
	devices uint64
}

// SharedTopology is the label of nodes of which all pods run in one value that share the claims of devices which a pod names: the nodes that
// reach the devices have it. It is that of the host name for devices of one node, and empty where the pod shares none, or any
// node reaches them, or nodes that one label does not tell apart. Pods of a group have to start there: what comes after the first of
// them can run nowhere else. What is found is kept until devices change. Only some nodes are looked at, so that devices of which there are few
// among many may not be found.
func (c *Checker) SharedTopology(pod *v1.Pod) string {
	if c.views == nil || c.views.inThought == nil {
		return ""
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	found := ""
	for claim := range c.views.sharedClaims(pod) {
		if label := c.reachOf(pod, claim); found == "" || label == v1.LabelHostname {
			found = label
		}
	}
	return found
}

// reachOf is the label of one claim of a pod. The cluster is locked.
func (c *Checker) reachOf(pod *v1.Pod, claim *resourcev1.ResourceClaim) string {
	if claim.Status.Allocation != nil {
		return labelOf(claim.Status.Allocation.NodeSelector)
	}
	devices := c.views.changed.Load()
	if known, ok := c.views.reaches.Get(claim.UID); ok && known.devices == devices {
		return known.label
	}
	is := reach{devices: devices}
	if given := c.views.anywhere(pod, claim.UID, c.nodesByDevices()); given != nil {
		is.label = labelOf(given.Status.Allocation.NodeSelector)
	}
	c.views.reaches.Add(claim.UID, is)
	return is.label
}

// reachesMax is of how many claims it is kept how their devices are reached.
const reachesMax = 1000

// reachNodesMax is how many nodes are looked at for a claim: of those with devices of their own, and of the others.
const reachNodesMax = 64

// nodesByDevices are some nodes in the order of their names, evenly taken from all: those first that have devices of their own.
func (c *Checker) nodesByDevices() []*framework.NodeInfo {
	listed, _ := c.slices.ListPatchedResourceSlices() // none with an error
	has := map[string]bool{}
	for _, slice := range listed {
		if slice.Spec.NodeName != nil {
			has[*slice.Spec.NodeName] = true
		}
	}
	names := slices.Sorted(maps.Keys(c.cluster.nodes.place))
	others := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return has[name] })
	names = slices.DeleteFunc(names, func(name string) bool { return !has[name] })
	return c.lookUp(append(someOf(names), someOf(others)...))
}

// someOf are reachNodesMax of some names, evenly taken, or all.
func someOf(names []string) []string {
	for i := range min(len(names), reachNodesMax) {
		names[i] = names[i*len(names)/min(len(names), reachNodesMax)]
	}
	return names[:min(len(names), reachNodesMax)]
}

// anywhere is a claim of a pod as it would be allocated on the first node that could, if no devices were taken; nil if none can.
func (d *deviceViews) anywhere(pod *v1.Pod, claim types.UID, nodes []*framework.NodeInfo) *resourcev1.ResourceClaim {
	d.allFree = true
	defer func() { d.allFree = false }()
	ctx, state := context.Background(), framework.NewCycleState()
	if _, status := d.inThought.PreFilter(ctx, state, pod, nil); !status.IsSuccess() {
		return nil
	}
	for _, node := range nodes {
		for _, given := range d.given(ctx, state, pod, node) {
			if given.UID == claim {
				return given
			}
		}
	}
	return nil
}

// labelOf is the label of which a selector of nodes wants one value, if it wants nothing else; the host name stands for the name of a node.
func labelOf(selector *v1.NodeSelector) string {
	if selector == nil || len(selector.NodeSelectorTerms) != 1 {
		return ""
	}
	term := selector.NodeSelectorTerms[0]
	all := slices.Concat(term.MatchFields, term.MatchExpressions)
	switch {
	case len(all) != 1 || all[0].Operator != v1.NodeSelectorOpIn || len(all[0].Values) != 1:
		return ""
	case len(term.MatchFields) == 1:
		return v1.LabelHostname
	}
	return all[0].Key
}
