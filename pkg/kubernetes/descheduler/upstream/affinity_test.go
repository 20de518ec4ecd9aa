package upstream

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
)

// needless says whether each pod that only upstream evicts for its node affinity gains nothing: of the nodes that would take it as they are,
// none matches where its own does not, and none is preferred more.
func (d *difference) needless() bool {
	only := slices.DeleteFunc(slices.Clone(d.theirs), func(p *v1.Pod) bool { return slices.Contains(d.ours, p) })
	return len(only) > 0 && len(d.owners(d.ours, d.theirs)) == 0 && !slices.ContainsFunc(only, func(p *v1.Pod) bool {
		here := d.nodeOf(p)
		return slices.ContainsFunc(d.nodes, func(n *v1.Node) bool {
			return n != here && takes(n, p) && (!matches(here, p) || weightOf(n, p) > weightOf(here, p))
		})
	})
}

// takes says whether a node takes a pod by what both say, whatever room there is.
func takes(n *v1.Node, p *v1.Pod) bool {
	_, forbidden := corev1.FindMatchingUntoleratedTaint(klog.Background(), n.Spec.Taints, p.Spec.Tolerations,
		func(t *v1.Taint) bool { return t.Effect != v1.TaintEffectPreferNoSchedule }, true)
	return !forbidden && !n.Spec.Unschedulable && matches(n, p)
}

// matches says whether a node is one of those that a pod requires.
func matches(n *v1.Node, p *v1.Pod) bool {
	matches, err := nodeaffinity.GetRequiredNodeAffinity(p).Match(n)
	return matches && err == nil
}

// weightOf is how much a pod prefers a node.
func weightOf(n *v1.Node, p *v1.Pod) int64 {
	if p.Spec.Affinity == nil || p.Spec.Affinity.NodeAffinity == nil {
		return 0
	}
	terms, err := nodeaffinity.NewPreferredSchedulingTerms(p.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	if err != nil {
		return 0
	}
	return terms.Score(n)
}
