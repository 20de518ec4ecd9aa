package feasibility

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/internal/podlabels"
)

// A nodeView is a node with some of its pods. PreFilter looks at all pods of all nodes
// for those that match a selector; a view leaves out those that cannot match.
type nodeView struct {
	fwk.NodeInfo
	pods       []fwk.PodInfo
	separating []fwk.PodInfo
}

// GetPods is some of the pods of the node.
func (v *nodeView) GetPods() []fwk.PodInfo { return v.pods }

// GetPodsWithRequiredAntiAffinity is some of those with required anti-affinity.
func (v *nodeView) GetPodsWithRequiredAntiAffinity() []fwk.PodInfo { return v.separating }

// view makes the lists of nodes those that matter for one pod, until undo. Pods on them
// are in no order, as plugins only count them.
func (c *cluster) view(pod *v1.Pod) (undo func()) {
	c.separatingView = c.viewsOf(c.setsAgainst(pod), func(v *nodeView, p fwk.PodInfo) { v.separating = append(v.separating, p) })
	if sets, ok := c.setsFor(pod); ok {
		c.listView = c.viewsOf(sets, func(v *nodeView, p fwk.PodInfo) { v.pods = append(v.pods, p) })
		if slices.ContainsFunc(pod.Spec.TopologySpreadConstraints, isHard) {
			c.listView = c.withBareNodes(c.listView) // where no pod is, none is counted
		}
	} else {
		c.listView = c.nodes.list
	}
	return func() { c.listView, c.separatingView = nil, nil }
}

// setsFor is sets of pods, outside of which no pod matches a selector of this one. It is
// not ok if they cannot be looked up.
func (c *cluster) setsFor(pod *v1.Pod) (all []podSet, ok bool) {
	for _, terms := range [][]v1.PodAffinityTerm{affinityTermsOf(pod), antiAffinityOf(pod)} {
		for i := range terms {
			sets, ok := matching(c.labelled, terms[i].LabelSelector)
			if !ok {
				return nil, false
			}
			all = append(all, sets...)
		}
	}
	for i := range pod.Spec.TopologySpreadConstraints {
		if !isHard(pod.Spec.TopologySpreadConstraints[i]) {
			continue
		}
		sets, ok := matching(c.labelled, pod.Spec.TopologySpreadConstraints[i].LabelSelector)
		if !ok {
			return nil, false
		}
		all = append(all, sets...)
	}
	return all, true
}

// isHard says that a constraint is for filters. The others are for scores.
func isHard(c v1.TopologySpreadConstraint) bool {
	return c.WhenUnsatisfiable == v1.DoNotSchedule
}

// setsAgainst is sets of pods, outside of which no pod has a term against this one.
func (c *cluster) setsAgainst(pod *v1.Pod) []podSet {
	sets := []podSet{c.against[anyLabel]}
	for key, value := range pod.Labels {
		if set := c.against[label{Key: key, Value: value}]; set != nil {
			sets = append(sets, set)
		}
	}
	return sets
}

// viewsOf is the nodes on which the pods are, each pod once. Pods of nodes that are not
// known are left out.
func (c *cluster) viewsOf(sets []podSet, put func(*nodeView, fwk.PodInfo)) []fwk.NodeInfo {
	list := []fwk.NodeInfo{} // not nil, which is no view
	views := make(map[string]*nodeView)
	for pod := range podlabels.Once(sets) {
		name := pod.Pod.Spec.NodeName
		view := views[name]
		if view == nil {
			info := c.node(name)
			if info == nil {
				continue
			}
			view = &nodeView{NodeInfo: info}
			views[name] = view
			list = append(list, view)
		}
		put(view, pod)
	}
	return list
}

// withBareNodes is all nodes, those that are in the list as they are there, and the
// others without pods.
func (c *cluster) withBareNodes(list []fwk.NodeInfo) []fwk.NodeInfo {
	all := slices.Clone(c.bare.list)
	for _, view := range list {
		all[c.bare.place[view.Node().Name]] = view
	}
	return all
}
