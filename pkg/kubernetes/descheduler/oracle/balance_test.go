package oracle

import (
	"slices"

	v1 "k8s.io/api/core/v1"
)

// alike are the pods of the same workload with the same images, on one node or on all.
func (c *checker) alike(p *v1.Pod, node string) (of []*v1.Pod) {
	for _, q := range c.m.pods {
		same := workload(q) == workload(p) && workload(q) != "" && images(q) == images(p)
		there := q.Spec.NodeName != "" && (node == "" || q.Spec.NodeName == node)
		if same && there && !ended(q) && q.DeletionTimestamp == nil {
			of = append(of, q)
		}
	}
	return of
}

// suits says whether the labels and taints of a node accept a pod.
func suits(p *v1.Pod, n *v1.Node) bool { return taintsAllow(p, n) && labelsAllow(p, n) }

func (c *checker) ruleOfDuplicates(v move) {
	a := v.plugin.Args
	if !a.Namespaces.has(v.pod.Namespace) || kindIn(v.pod, a.ExcludeOwnerKinds) {
		c.broken(v, "not selected")
	}
	alike, total, targets := c.alike(v.pod, ""), 0, 0
	for _, q := range alike {
		if c.m.processed(v.profile, c.m.nodes[q.Spec.NodeName]) {
			total++
		}
	}
	for _, n := range c.m.nodes {
		if slices.ContainsFunc(alike, func(q *v1.Pod) bool { return suits(q, n) }) {
			targets++
		}
	}
	here, there := len(c.alike(v.pod, v.From)), len(c.alike(v.pod, v.To))
	share := (total + max(targets, 1) - 1) / max(targets, 1)
	if here < 2 || here <= share {
		c.broken(v, "%d here, share %d of %d on %d nodes", here, share, total, targets)
	}
	if v.To != "" && there+1 >= here && c.m.processed(v.profile, c.m.nodes[v.To]) {
		c.broken(v, "%d here, %d there", here, there)
	}
}

func (c *checker) ruleOfLow(v move) {
	a := v.plugin.Args
	if !a.EvictableNamespaces.has(v.pod.Namespace) {
		c.broken(v, "namespace")
	}
	if a.UseDeviationThresholds {
		better := v.To == ""
		for k := range a.Thresholds {
			better = better || c.m.part(v.From, k).Cmp(c.m.part(v.To, k)) > 0
		}
		if !better {
			c.broken(v, "no resource is used less on the target")
		}
		return
	}
	if _, none := c.m.above(v.From, a.TargetThresholds); none {
		c.broken(v, "the node is not above")
	}
	if v.To == "" {
		return
	}
	if !c.wasLow[v.profile.Name] {
		c.broken(v, "no node had little in use")
	}
	c.m.move(v.pod, v.To)
	if names, none := c.m.above(v.To, a.TargetThresholds); !none {
		c.broken(v, "the target gets too much %v", names)
	}
	c.m.moveBack(v.pod)
}

func (c *checker) ruleOfHigh(v move) {
	a := v.plugin.Args
	if !a.EvictableNamespaces.has(v.pod.Namespace) {
		c.broken(v, "namespace")
	}
	if names, none := c.m.above(v.From, a.Thresholds); !none {
		c.broken(v, "the source uses much: %v", names)
	}
	if v.To == v.From {
		c.broken(v, "same node")
	}
	if v.To != "" {
		if _, none := c.m.above(v.To, a.Thresholds); none {
			c.broken(v, "the target is a source")
		}
	}
	if len(a.EvictionModes) > 0 && !requestsOneOf(v.pod, a.Thresholds) {
		c.broken(v, "it requests nothing with a threshold")
	}
}

// requestsOneOf says whether a pod requests a resource with a threshold; pods are one.
func requestsOneOf(p *v1.Pod, thresholds map[string]int) bool {
	for k := range thresholds {
		if requests(p)[v1.ResourceName(k)] > 0 {
			return true
		}
	}
	return false
}

// ruleOfSpread lets a move be if it helps any pod that counts this one, by any reading of which
// nodes are domains.
func (c *checker) ruleOfSpread(v move) {
	if !v.plugin.Args.selected(v.pod) {
		c.broken(v, "not selected")
	}
	anyViolated := false
	for _, q := range c.m.pods {
		if q.Namespace != v.pod.Namespace {
			continue
		}
		for _, k := range q.Spec.TopologySpreadConstraints {
			if !matches(k.LabelSelector, v.pod.Labels) || k.WhenUnsatisfiable != v1.DoNotSchedule && len(v.plugin.Args.Constraints) == 0 {
				continue
			}
			violated, helps := c.helpsSpread(v, q, k)
			if helps {
				return
			}
			anyViolated = anyViolated || violated
		}
	}
	c.broken(v, "a constraint is violated: %v, and the move does not help", anyViolated)
}

// helpsSpread says whether a constraint of a pod is violated, and whether a move helps it.
func (c *checker) helpsSpread(v move, q *v1.Pod, k v1.TopologySpreadConstraint) (violated, helps bool) {
	from, ok := c.m.domain(v.From, k.TopologyKey)
	to, has := c.m.domain(v.To, k.TopologyKey)
	for _, include := range []func(*v1.Node) bool{
		func(*v1.Node) bool { return true },
		nodeReady,
		func(n *v1.Node) bool { return c.m.processed(v.profile, n) },
		func(n *v1.Node) bool { return hasKeys(n, q.Spec.TopologySpreadConstraints) },
	} {
		counts := c.m.counts(q, k, "", include)
		least, most := skew(counts)
		if most-least <= int(k.MaxSkew) {
			continue
		}
		violated = true
		helps = helps || v.To == "" || ok && has && counts[from]-counts[to] >= 2
	}
	return violated, helps
}
