package oracle

import (
	"slices"

	v1 "k8s.io/api/core/v1"
)

// remaining looks for pods that plugins at deschedule should have taken. Where the model is not
// sure, it expects nothing: pods that wait take room, and places may be kept that it does not
// know of.
func (c *checker) remaining() {
	if c.r.Skipped != "" || c.first().waits() || c.h.keptPlace {
		return
	}
	for _, p := range c.w.o.Pods {
		if c.m.pods[p.UID] == nil || p.DeletionTimestamp != nil || c.h.failed[p.UID] || c.limited(p) {
			continue
		}
		if ok, _ := charge(p, c.w.o.Budgets); !ok {
			continue
		}
		for _, pr := range c.w.s.Profiles {
			if o, _ := c.m.protection(pr, p, c.now); o != no || !c.m.processed(pr, c.m.nodes[p.Spec.NodeName]) {
				continue
			}
			for _, pl := range pr.Plugins {
				if c.shouldTake(pr, pl, p) {
					c.bad("stays "+pl.Name, "%s on %s, profile %s: %v", id(p), p.Spec.NodeName, pr.Name, c.d.Why(p.Namespace, p.Name).Decisions)
				}
			}
		}
	}
}

// shouldTake says whether a plugin at deschedule should have taken a pod that nothing else keeps.
func (c *checker) shouldTake(pr profile, pl plugin, p *v1.Pod) bool {
	all, _ := move{profile: pr, plugin: pl, pod: p}.ofPlugin()
	if atBalance(pl.Name) || pl.Limit > 0 && c.count[all] >= pl.Limit || c.m.wants(pl, p, c.now) != yes {
		return false
	}
	if !returns(p) {
		return true
	}
	if !c.hasBetter(c.m, pl, p) || len(c.h.failed) == 0 {
		return c.hasBetter(c.m, pl, p)
	}
	// After an error of the API server a plugin is not asked again when others have made room.
	first := c.first()
	return c.hasBetter(first, pl, p) && (!pr.Evictor.NodeFit || first.fitsElsewhere(p))
}

// fitsElsewhere says whether a pod has a place on another node than its own.
func (m *model) fitsElsewhere(p *v1.Pod) bool {
	return slices.ContainsFunc(m.w.o.Nodes, func(n *v1.Node) bool { return n.Name != p.Spec.NodeName && m.fits(p, n.Name) == "" })
}

// hasBetter says whether a pod has a node that a plugin takes as better, and the program has to
// find it. For pods of its own scheduler the core chooses the node, so that it may choose one that is
// no better; and it may not place a pod on a cordoned node even if that is tolerated.
func (c *checker) hasBetter(m *model, pl plugin, p *v1.Pod) bool {
	better, other := false, false
	for _, n := range c.w.o.Nodes {
		if n.Spec.Unschedulable || m.fits(p, n.Name) != "" {
			continue
		}
		if m.accepts(pl, p, n.Name) {
			better = true
		} else {
			other = true
		}
	}
	return better && !(other && c.w.core && p.Spec.SchedulerName == "narwhal")
}
