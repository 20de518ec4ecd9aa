package oracle

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

func antiTerms(p *v1.Pod) []v1.PodAffinityTerm {
	if a := p.Spec.Affinity; a != nil && a.PodAntiAffinity != nil {
		return a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	return nil
}

// selects says whether a term of a pod is about another pod.
func (m *model) selects(t v1.PodAffinityTerm, owner, other *v1.Pod) bool {
	in := slices.Contains(t.Namespaces, other.Namespace)
	if t.NamespaceSelector != nil {
		for _, n := range m.w.o.Namespaces {
			in = in || n.Name == other.Namespace && matches(t.NamespaceSelector, n.Labels)
		}
	}
	if len(t.Namespaces) == 0 && t.NamespaceSelector == nil {
		in = other.Namespace == owner.Namespace
	}
	return in && matches(t.LabelSelector, other.Labels)
}

// domain is the value of a topology key on a node.
func (m *model) domain(node, key string) (string, bool) {
	n := m.nodes[node]
	if n == nil {
		return "", false
	}
	v, ok := n.Labels[key]
	return v, ok
}

// against returns a pod because of which p may not be on a node: by the terms of p, or with
// both also by those of others. Ended pods do not count. One that is ending does, and is
// returned only if there is no other.
func (m *model) against(p *v1.Pod, node string, both bool) *v1.Pod {
	var ending *v1.Pod
	for _, q := range m.pods {
		if q.UID == p.UID || ended(q) || q.Spec.NodeName == "" {
			continue
		}
		if !m.termsForbid(p, q, node, q.Spec.NodeName) && !(both && m.termsForbid(q, p, q.Spec.NodeName, node)) {
			continue
		}
		if q.DeletionTimestamp == nil {
			return q
		}
		ending = q
	}
	return ending
}

// termsForbid says whether the anti-affinity of a pod on a node forbids another pod on its node.
func (m *model) termsForbid(owner, other *v1.Pod, node, nodeOfOther string) bool {
	return slices.ContainsFunc(antiTerms(owner), func(t v1.PodAffinityTerm) bool {
		a, has := m.domain(node, t.TopologyKey)
		b, hasToo := m.domain(nodeOfOther, t.TopologyKey)
		return has && hasToo && a == b && m.selects(t, owner, other)
	})
}

func (m *model) affinityHolds(p *v1.Pod, node string) bool {
	a := p.Spec.Affinity
	if a == nil || a.PodAffinity == nil {
		return true
	}
	for _, t := range a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
		d, ok := m.domain(node, t.TopologyKey)
		if !ok {
			return false
		}
		near, somewhere := false, false
		for _, q := range m.pods {
			if q.UID == p.UID || ended(q) || q.Spec.NodeName == "" || !m.selects(t, p, q) {
				continue
			}
			if b, has := m.domain(q.Spec.NodeName, t.TopologyKey); has {
				somewhere = true
				near = near || b == d
			}
		}
		if !near && (somewhere || !m.selects(t, p, p)) {
			return false
		}
	}
	return true
}

// eligible says which nodes a spread constraint of a pod counts.
func eligible(p *v1.Pod, c v1.TopologySpreadConstraint, n *v1.Node) bool {
	if c.NodeAffinityPolicy == nil || *c.NodeAffinityPolicy == v1.NodeInclusionPolicyHonor {
		if !labelsAllow(p, n) {
			return false
		}
	}
	return c.NodeTaintsPolicy == nil || *c.NodeTaintsPolicy == v1.NodeInclusionPolicyIgnore || taintsAllow(p, n)
}

// counts are the pods that a constraint of a pod counts in each domain, on nodes that are included and
// without one pod.
func (m *model) counts(p *v1.Pod, c v1.TopologySpreadConstraint, without types.UID, include func(*v1.Node) bool) map[string]int {
	counts := map[string]int{}
	for _, n := range m.nodes {
		d, ok := n.Labels[c.TopologyKey]
		if !ok || !eligible(p, c, n) || !include(n) {
			continue
		}
		counts[d] += 0
		for _, q := range m.on(n.Name) {
			stands := q.UID != without && !ended(q) && q.DeletionTimestamp == nil
			if stands && q.Namespace == p.Namespace && matches(c.LabelSelector, q.Labels) {
				counts[d]++
			}
		}
	}
	return counts
}

// skew is the least and the most of any domain.
func skew(counts map[string]int) (least, most int) {
	all := slices.Collect(maps.Values(counts))
	if len(all) == 0 {
		return 0, 0
	}
	return slices.Min(all), slices.Max(all)
}

// hard are the spread constraints that a scheduler has to meet.
func hard(p *v1.Pod) (of []v1.TopologySpreadConstraint) {
	for _, c := range p.Spec.TopologySpreadConstraints {
		if c.WhenUnsatisfiable == v1.DoNotSchedule {
			of = append(of, c)
		}
	}
	return of
}

// hasKeys says whether a node has a label for each constraint.
func hasKeys(n *v1.Node, of []v1.TopologySpreadConstraint) bool {
	return !slices.ContainsFunc(of, func(c v1.TopologySpreadConstraint) bool {
		_, ok := n.Labels[c.TopologyKey]
		return !ok
	})
}

func (m *model) spreadHolds(p *v1.Pod, node string) bool {
	for _, c := range hard(p) {
		d, ok := m.domain(node, c.TopologyKey)
		if !ok {
			return false
		}
		counts := m.counts(p, c, p.UID, func(n *v1.Node) bool { return hasKeys(n, hard(p)) })
		least, _ := skew(counts)
		self := 0
		if matches(c.LabelSelector, p.Labels) {
			self = 1
		}
		if counts[d]+self-least > int(c.MaxSkew) {
			return false
		}
	}
	return true
}
