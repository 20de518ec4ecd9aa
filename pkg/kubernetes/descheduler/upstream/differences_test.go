package upstream

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/descheduler/pkg/descheduler/node"
)

// A reason is why this descheduler and upstream evict different pods, on purpose.
type reason string

const (
	// noPlace: upstream evicts pods whose replacements would wait, where no nodeFit forbids it, and its nodeFit
	// knows neither spread constraints nor affinity between pods of several nodes.
	noPlace reason = "the replacement would run nowhere"
	// noHelp: the replacement would come back, or to where it violates the same rule. Upstream asks
	// whether any node would be better, and not whether the pod can run there.
	noHelp reason = "the replacement would run where that does not help"
	// fewReplicas: upstream counts replicas before its first eviction, and can evict all pods of an owner.
	fewReplicas reason = "pods that this cycle evicted do not count for minReplicas"
	// keptCount: for upstream, pods that its filters keep are not there. For RemoveDuplicates this is also so of pods that
	// fit on no other node, with nodeFit.
	keptCount reason = "pods that must stay take their share"
	// unready: for the scheduler pods and domains of nodes that are not ready count. For upstream they do not.
	unready reason = "nodes that are not ready count"
	// preferring: upstream takes PreferNoSchedule for a taint that keeps pods away.
	preferring reason = "pods can run on nodes with PreferNoSchedule"
	// byNodes: upstream adds up the room of all nodes, and evicts the pod that is too large for the rest
	// of it. Here a pod needs room on one node, and another may have it.
	byNodes reason = "room is that of one node"
	// pends: upstream does not ask whether hard constraints, of which a pod may have several, let the replacement go anywhere.
	pends reason = "the replacement would wait, kept from all nodes by hard spread constraints"
	// tooFew: upstream looks at each domain once, so that of five with 2, 2, 0, 0 and 0 pods and a skew of 1 it takes one pod
	// and leaves a skew of 2. It counts neither pods that its filters keep nor nodes that are not ready, which the scheduler counts.
	tooFew reason = "upstream leaves a skew that is not allowed"
	// tooMany: upstream moves pods between two domains towards the mean, so that of three with 4, 0 and 0 pods it takes three,
	// where two are enough. What it does not count makes it take pods of which none need go, too.
	tooMany reason = "upstream evicts pods although fewer would do"
	// asGood: of pods whose evictions mend as much, which go is chance for upstream. It counts pods on nodes that a constraint leaves out, too.
	asGood reason = "other pods, as many, mend as much"
	// mayGo: with a skew of more than one, the scheduler need not take the emptiest domain. Upstream expects it, and mends the rest in its next cycle.
	mayGo reason = "the replacement may go elsewhere than to the emptiest domain"
	// ofNoUse: upstream compares the node of a pod with all nodes, also with those that take no pods or not this one, and evicts the pod
	// in each cycle again.
	ofNoUse reason = "upstream evicts pods that no node takes which suits them better"
	// roomMade: where no other node has room for a pod, it is tried again when others have gone. Upstream looks once.
	roomMade reason = "other evictions made room"
	// whichGoes: of pods that are against each other, upstream evicts that on the first node, this one the less important.
	whichGoes reason = "the less important pod goes"
)

// A difference is what only one of the two evicts.
type difference struct {
	*world
	ours, theirs []*v1.Pod
	why          map[*v1.Pod]string // this descheduler keeps or evicts a pod
}

// reason explains a difference, or is empty.
func (d *difference) reason() reason {
	only := d.owners(d.theirs, d.ours)
	ours := d.owners(d.ours, d.theirs)
	more := len(ours) > 0
	switch {
	case strings.HasSuffix(d.plugin.name, "NodeAffinity") && d.needless():
		return ofNoUse
	case strings.HasSuffix(d.plugin.name, "SpreadConstraint") && !more && d.all(only, spreadForbids):
		return pends
	case !more && d.all(only, "would run nowhere", "no node helps", "would come back", "fewer than 2", "fits on no other node"):
		return cmp.Or(d.some(only, "would run nowhere", noPlace), d.some(only, "fits on no other node", noPlace), d.some(only, "fewer than 2", fewReplicas), noHelp)
	case strings.HasSuffix(d.plugin.name, "SpreadConstraint") && d.skewed() != "":
		return d.skewed()
	case d.looksAtOthers() && slices.ContainsFunc(d.nodes, func(n *v1.Node) bool { return n.Status.Conditions[0].Status != v1.ConditionTrue }):
		return unready
	case d.looksAtOthers() && d.filters(), d.plugin.name == "RemoveDuplicates" && !more && strings.Contains(d.policy, "nodeFit: true") && d.fixed(only):
		return keptCount
	case strings.HasSuffix(d.plugin.name, "NodeUtilization") && d.prefers():
		return preferring
	case strings.HasSuffix(d.plugin.name, "NodeUtilization"):
		return byNodes
	case strings.HasSuffix(d.plugin.name, "AntiAffinity") && len(d.ours) > 0:
		return whichGoes
	case strings.Contains(d.policy, "minReplicas"):
		return fewReplicas
	case len(only) == 0 && strings.Contains(d.policy, "nodeFit: true") && d.fixed(ours):
		return roomMade
	}
	return ""
}

// spreadForbids is what kube-scheduler's filter says of a node that a hard spread constraint keeps a pod from.
const spreadForbids = "didn't match pod topology spread constraints"

// owners are those of which a has more pods than b.
func (d *difference) owners(a, b []*v1.Pod) []string {
	counts := map[string]int{}
	for _, p := range a {
		counts[ownerOf(p)]++
	}
	for _, p := range b {
		counts[ownerOf(p)]--
	}
	maps.DeleteFunc(counts, func(_ string, n int) bool { return n <= 0 })
	return slices.Sorted(maps.Keys(counts))
}

func ownerOf(p *v1.Pod) string {
	name, _, _ := strings.Cut(p.Name, "-")
	return name
}

// all says whether each of some owners has a pod that stays for one of these reasons.
func (d *difference) all(owners []string, reasons ...string) bool {
	return len(owners) > 0 && !slices.ContainsFunc(owners, func(owner string) bool {
		return !slices.ContainsFunc(reasons, func(text string) bool { return d.keeps(owner, text) })
	})
}

func (d *difference) some(owners []string, text string, is reason) reason {
	if slices.ContainsFunc(owners, func(owner string) bool { return d.keeps(owner, text) }) {
		return is
	}
	return ""
}

func (d *difference) keeps(owner, text string) bool {
	return slices.ContainsFunc(d.pods, func(p *v1.Pod) bool {
		return ownerOf(p) == owner && !slices.Contains(d.ours, p) && strings.Contains(d.why[p], text)
	})
}

// looksAtOthers says whether the plugin decides about a pod by others.
func (d *difference) looksAtOthers() bool {
	return d.plugin.alike != nil && !strings.HasSuffix(d.plugin.name, "NodeUtilization")
}

// filters says whether DefaultEvictor keeps pods that count.
func (d *difference) filters() bool {
	return strings.Contains(d.policy, "minPodAge") || slices.ContainsFunc(d.pods, func(p *v1.Pod) bool { return strings.Contains(d.why[p], "filtered") })
}

// fixed says whether each of some owners has a pod that fits on no other node, as upstream sees it.
func (d *difference) fixed(owners []string) bool {
	p := newPeer(d.world)
	return len(owners) > 0 && !slices.ContainsFunc(owners, func(owner string) bool {
		return !slices.ContainsFunc(d.pods, func(pod *v1.Pod) bool {
			return ownerOf(pod) == owner && !node.PodFitsAnyOtherNode(p.assigned, pod, d.nodes)
		})
	})
}

func (d *difference) prefers() bool {
	return slices.ContainsFunc(d.nodes, func(n *v1.Node) bool {
		return slices.ContainsFunc(n.Spec.Taints, func(t v1.Taint) bool { return t.Effect == v1.TaintEffectPreferNoSchedule })
	})
}
