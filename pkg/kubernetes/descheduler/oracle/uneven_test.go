package oracle

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
)

// A remainder is the cluster after a cycle with one plugin at balance, without limits and without
// the core.
type remainder struct {
	*checker
	profile profile
	plugin  plugin
	nodes   []string // those that the profile looks at
	sources int      // nodes that had little in use before the cycle
}

// uneven looks for pods that the only plugin, one at balance, should have moved.
func (c *checker) uneven() {
	if c.r.Skipped != "" || len(c.w.s.Profiles) != 1 || len(c.w.s.Profiles[0].Plugins) != 1 {
		return
	}
	x := &remainder{checker: c, profile: c.w.s.Profiles[0], plugin: c.w.s.Profiles[0].Plugins[0]}
	for _, n := range c.w.o.Nodes {
		if c.m.processed(x.profile, n) {
			x.nodes = append(x.nodes, n.Name)
		}
	}
	x.numberOfNodes()
	for _, p := range c.w.o.Pods {
		if c.m.pods[p.UID] == nil || !returns(p) || !slices.Contains(x.nodes, p.Spec.NodeName) {
			continue
		}
		if o, _ := c.m.protection(x.profile, p, c.now); o != no {
			continue
		}
		to := ""
		switch x.plugin.Name {
		case low:
			to = x.lowerNode(p)
		case high:
			to = x.fullerNode(p)
		case duplicates:
			to = x.nodeWithFewer(p)
		case spread:
			to = x.domainWithFewer(p)
		}
		if to != "" {
			c.bad("stays "+x.plugin.Name, "%s on %s and not on %s: %v", id(p), p.Spec.NodeName, to, c.d.Why(p.Namespace, p.Name).Decisions)
		}
	}
}

// numberOfNodes checks that enough nodes had little in use where something was done, and not all.
func (x *remainder) numberOfNodes() {
	first, lows := x.first(), 0
	for _, n := range x.nodes {
		if _, none := first.above(n, x.plugin.Args.Thresholds); none {
			x.sources++
			if !first.nodes[n].Spec.Unschedulable {
				lows++
			}
		}
	}
	if len(x.r.Evictions) == 0 || x.plugin.Args.UseDeviationThresholds {
		return
	}
	ignored, all := x.plugin.Args.NumberOfNodes, len(x.nodes)
	if x.plugin.Name == low && (lows <= ignored || lows == all) || x.plugin.Name == high && (x.sources <= ignored || x.sources == all) {
		x.bad("rule "+x.plugin.Name, "%d and %d of %d nodes have little in use, %d do not count", lows, x.sources, all, ignored)
	}
}

// target returns the first node of those of the profile that holds for a condition and has a
// place for a pod.
func (x *remainder) target(p *v1.Pod, holds func(node string) bool) string {
	for _, n := range x.nodes {
		if holds(n) && x.m.fits(p, n) == "" {
			return n
		}
	}
	return ""
}

// lowerNode is where LowNodeUtilization should have moved a pod.
func (x *remainder) lowerNode(p *v1.Pod) string {
	a := x.plugin.Args
	if a.UseDeviationThresholds || len(a.EvictionLimits) > 0 || !a.EvictableNamespaces.has(p.Namespace) {
		return ""
	}
	isLow := func(n string) bool {
		_, none := x.m.above(n, a.Thresholds)
		return none && !x.m.nodes[n].Spec.Unschedulable
	}
	lows := slices.DeleteFunc(slices.Clone(x.nodes), func(n string) bool { return !isLow(n) })
	much, _ := x.m.above(p.Spec.NodeName, a.TargetThresholds)
	helps := slices.ContainsFunc(much, func(k string) bool { return requests(p)[v1.ResourceName(k)] > 0 })
	if len(lows) <= a.NumberOfNodes || !helps {
		return ""
	}
	return x.target(p, func(n string) bool {
		if !slices.Contains(lows, n) {
			return false
		}
		x.m.move(p, n)
		defer x.m.moveBack(p)
		_, none := x.m.above(n, a.TargetThresholds)
		return none
	})
}

// fullerNode is where HighNodeUtilization should have moved a pod.
func (x *remainder) fullerNode(p *v1.Pod) string {
	a := x.plugin.Args
	if _, none := x.m.above(p.Spec.NodeName, a.Thresholds); !none || !a.EvictableNamespaces.has(p.Namespace) {
		return ""
	}
	if x.sources <= a.NumberOfNodes || x.sources == len(x.nodes) {
		return ""
	}
	thresholds := maps.Clone(a.Thresholds)
	delete(thresholds, "pods") // a pod that requests nothing may count or not
	if len(a.EvictionModes) > 0 && !requestsOneOf(p, thresholds) {
		return ""
	}
	return x.target(p, func(n string) bool {
		_, none := x.m.above(n, a.Thresholds)
		return !none
	})
}

// nodeWithFewer is where RemoveDuplicates should have moved a pod.
func (x *remainder) nodeWithFewer(p *v1.Pod) string {
	a := x.plugin.Args
	if !a.Namespaces.has(p.Namespace) || kindIn(p, a.ExcludeOwnerKinds) {
		return ""
	}
	count, total, targets := map[string]int{}, 0, 0
	for _, q := range x.m.pods {
		if workload(q) == workload(p) && images(q) == images(p) && !ended(q) && slices.Contains(x.nodes, q.Spec.NodeName) {
			count[q.Spec.NodeName]++
			total++
		}
	}
	for _, n := range x.nodes {
		if suits(p, x.m.nodes[n]) && !x.m.nodes[n].Spec.Unschedulable {
			targets++
		}
	}
	if targets < 2 {
		return ""
	}
	share := (total + targets - 1) / targets
	if count[p.Spec.NodeName] <= share {
		return ""
	}
	return x.target(p, func(n string) bool { return count[n] < share })
}

// domainWithFewer is where RemovePodsViolatingTopologySpreadConstraint should have moved a pod
// with one constraint, if the profile looks at all its domains.
func (x *remainder) domainWithFewer(p *v1.Pod) string {
	if !x.plugin.Args.selected(p) || len(p.Spec.TopologySpreadConstraints) != 1 || len(hard(p)) != 1 {
		return ""
	}
	k := hard(p)[0]
	counts := x.m.counts(p, k, "", func(n *v1.Node) bool { return slices.Contains(x.nodes, n.Name) })
	if all := x.m.counts(p, k, "", func(*v1.Node) bool { return true }); !maps.Equal(all, counts) {
		return ""
	}
	least, most := skew(counts)
	d, ok := x.m.domain(p.Spec.NodeName, k.TopologyKey)
	if !ok || most-least <= int(k.MaxSkew) || counts[d] != most || most-least < 2 {
		return ""
	}
	return x.target(p, func(n string) bool {
		t, ok := x.m.domain(n, k.TopologyKey)
		return ok && counts[t] == least && eligible(p, k, x.m.nodes[n])
	})
}
