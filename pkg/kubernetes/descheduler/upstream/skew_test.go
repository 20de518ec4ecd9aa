package upstream

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"
)

// skewed is why the two evict different pods for their spread, as the scheduler counts: all pods that a constraint selects, on all nodes
// that take part. It is empty if this descheduler evicts more than are needed, or leaves more than upstream.
func (d *difference) skewed() (is reason) {
	for _, owner := range d.differing() {
		all, ours, theirs := of(d.pods, owner), of(d.ours, owner), of(d.theirs, owner)
		left, needless := d.excess(all, theirs), len(ours) != len(theirs) && d.fewerDo(all, ours)
		switch {
		case d.excess(all, ours) > left && d.keeps(owner, spreadForbids):
			is = cmp.Or(is, pends)
		case d.excess(all, ours) > left && d.keeps(owner, "no node helps"):
			is = cmp.Or(is, noHelp)
		case d.excess(all, ours) > left, needless && !d.loose(owner):
			return ""
		case needless:
			return mayGo
		case d.excess(all, ours) < left:
			is = tooFew
		case is != tooFew && d.fewerDo(all, theirs):
			is = tooMany
		default:
			is = cmp.Or(is, asGood)
		}
	}
	return is
}

// loose says whether a constraint of an owner allows a skew of more than one, so that replacements need not go to the emptiest domain.
func (d *difference) loose(owner string) bool {
	return slices.ContainsFunc(d.counts(of(d.pods, owner)), func(c *count) bool { return c.MaxSkew > 1 })
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

// excess is by how much the skews of some pods are greater than their constraints allow when these were evicted, and each of their
// replacements has gone to the node that it may go to and where that is least.
func (d *difference) excess(pods, evicted []*v1.Pod) int {
	counts := d.counts(pods)
	for _, p := range pods {
		if !slices.Contains(evicted, p) {
			add(counts, p, d.nodeOf(p), 1)
		}
	}
	for _, p := range evicted {
		var best *v1.Node
		least := [2]int{}
		for _, n := range d.nodes {
			if !open(p, n) {
				continue
			}
			add(counts, p, n, 1)
			if now := sum(counts); best == nil || now[0] < least[0] || now[0] == least[0] && now[1] < least[1] {
				best, least = n, now
			}
			add(counts, p, n, -1)
		}
		if best != nil {
			add(counts, p, best, 1)
		}
	}
	return sum(counts)[0]
}

// open says whether a node takes a pod, whatever else is there.
func open(p *v1.Pod, n *v1.Node) bool {
	_, forbidden := corev1.FindMatchingUntoleratedTaint(klog.Background(), n.Spec.Taints, p.Spec.Tolerations,
		func(t *v1.Taint) bool { return t.Effect != v1.TaintEffectPreferNoSchedule }, true)
	return !forbidden && labels.SelectorFromSet(p.Spec.NodeSelector).Matches(labels.Set(n.Labels))
}

// A count is what a constraint counts, by domain.
type count struct {
	v1.TopologySpreadConstraint
	selector labels.Selector
	nodes    []*v1.Node // those that take part
	have     map[string]int
}

// counts are those of the constraints of some pods that the policy looks at.
func (d *difference) counts(pods []*v1.Pod) (of []*count) {
	known := map[string]bool{}
	for _, p := range pods {
		for _, c := range p.Spec.TopologySpreadConstraints {
			s, _ := metav1.LabelSelectorAsSelector(c.LabelSelector)
			for _, key := range c.MatchLabelKeys {
				more, _ := labels.SelectorFromSet(labels.Set{key: p.Labels[key]}).Requirements()
				s = s.Add(more...)
			}
			id := c.TopologyKey + s.String()
			if !d.looksAt(c.WhenUnsatisfiable) || known[id] {
				continue
			}
			known[id] = true
			this := &count{TopologySpreadConstraint: c, selector: s, have: map[string]int{}}
			for _, n := range d.nodes {
				honors := c.NodeTaintsPolicy != nil && *c.NodeTaintsPolicy == v1.NodeInclusionPolicyHonor
				if labels.SelectorFromSet(p.Spec.NodeSelector).Matches(labels.Set(n.Labels)) && (!honors || open(p, n)) {
					this.nodes = append(this.nodes, n)
					this.have[n.Labels[c.TopologyKey]] = 0
				}
			}
			of = append(of, this)
		}
	}
	return of
}

// differing are the owners of which the two evict different pods.
func (d *difference) differing() []string {
	owners := map[string]bool{}
	for _, p := range d.pods {
		owners[ownerOf(p)] = true
	}
	maps.DeleteFunc(owners, func(owner string, _ bool) bool { return d.names(of(d.ours, owner)) == d.names(of(d.theirs, owner)) })
	return slices.Sorted(maps.Keys(owners))
}

// of are the pods of an owner.
func of(pods []*v1.Pod, owner string) []*v1.Pod {
	return slices.DeleteFunc(slices.Clone(pods), func(p *v1.Pod) bool { return ownerOf(p) != owner })
}

// looksAt says whether the policy has such constraints looked at.
func (w *world) looksAt(kind v1.UnsatisfiableConstraintAction) bool {
	_, named, is := strings.Cut(w.policy, "constraints: [")
	if !is {
		return kind == v1.DoNotSchedule
	}
	named, _, _ = strings.Cut(named, "]")
	return strings.Contains(named, string(kind))
}

func add(counts []*count, p *v1.Pod, to *v1.Node, n int) {
	for _, c := range counts {
		if c.selector.Matches(labels.Set(p.Labels)) && slices.Contains(c.nodes, to) {
			c.have[to.Labels[c.TopologyKey]] += n
		}
	}
}

// sum is by how much all skews are too great, and how uneven the domains are.
func sum(counts []*count) (of [2]int) {
	for _, c := range counts {
		fewest, most := -1, 0
		for _, n := range c.have {
			if fewest < 0 || n < fewest {
				fewest = n
			}
			most = max(most, n)
			of[1] += n * n
		}
		if c.MinDomains != nil && len(c.have) < int(*c.MinDomains) {
			fewest = 0
		}
		of[0] += max(0, most-fewest-int(c.MaxSkew))
	}
	return of
}
