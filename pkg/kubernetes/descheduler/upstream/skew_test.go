package upstream

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"
)

// skewed is what upstream does wrong where the two evict different pods for their spread, as the scheduler counts: all pods of
// an owner, of which each has one constraint, on all nodes with its key. It is empty if upstream does nothing wrong there, or this
// descheduler does.
func (d *difference) skewed() (is reason) {
	for _, owner := range append(d.owners(d.theirs, d.ours), d.owners(d.ours, d.theirs)...) {
		of := func(pods []*v1.Pod) []*v1.Pod {
			return slices.DeleteFunc(slices.Clone(pods), func(p *v1.Pod) bool { return ownerOf(p) != owner })
		}
		all, ours, theirs := of(d.pods), of(d.ours), of(d.theirs)
		left := d.excess(all, theirs)
		switch {
		case d.fewerDo(all, ours) || d.excess(all, ours) > left:
			return ""
		case d.excess(all, ours) < left:
			is = tooFew
		case !d.fewerDo(all, theirs):
			return ""
		case is == "":
			is = tooMany
		}
	}
	return is
}

// fewerDo says whether the skew of some pods is no greater if one less of them is evicted.
func (d *difference) fewerDo(pods, evicted []*v1.Pod) bool {
	for i := range evicted {
		if d.excess(pods, slices.Delete(slices.Clone(evicted), i, i+1)) <= d.excess(pods, evicted) {
			return true
		}
	}
	return false
}

// excess is by how much the skew of some pods is greater than their constraint allows when these were evicted, and each of their
// replacements has gone to the domain with the fewest pods of those that it may go to.
func (d *difference) excess(pods, evicted []*v1.Pod) int {
	c := pods[0].Spec.TopologySpreadConstraints[0]
	have, open := map[string]int{}, map[string]bool{}
	for _, n := range d.nodes {
		value := n.Labels[c.TopologyKey]
		have[value] += 0
		_, forbidden := corev1.FindMatchingUntoleratedTaint(klog.Background(), n.Spec.Taints, pods[0].Spec.Tolerations,
			func(t *v1.Taint) bool { return t.Effect != v1.TaintEffectPreferNoSchedule }, true)
		open[value] = open[value] || !forbidden
	}
	for _, p := range pods {
		if !slices.Contains(evicted, p) {
			have[d.nodeOf(p).Labels[c.TopologyKey]]++
		}
	}
	for range evicted {
		least := ""
		for value := range have {
			if open[value] && (least == "" || have[value] < have[least]) {
				least = value
			}
		}
		have[least]++
	}
	fewest, most := len(pods), 0
	for _, n := range have {
		fewest, most = min(fewest, n), max(most, n)
	}
	return max(0, most-fewest-int(c.MaxSkew))
}
