package feasibility

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

const (
	// keptMax is how many classes of pods have their preparation kept.
	keptMax = 32
	// changesMax is how many changes of pods are told to a kept preparation one by one. With
	// more of them it is made anew.
	changesMax = 256
)

// A podChange is what was counted of a pod before and after a change; nil is nothing.
type podChange struct{ before, after *framework.PodInfo }

// changes are the last changes of the cluster, so that a preparation can be told of those
// that came after it:
//
//	version of the cluster = base + len(pods)
type changes struct {
	base uint64 // what came before is not known any more
	pods []podChange
}

func (h *changes) version() uint64 { return h.base + uint64(len(h.pods)) }

// add notes a change of one pod.
func (h *changes) add(change podChange) {
	if len(h.pods) == 2*changesMax {
		h.pods = append(h.pods[:0:0], h.pods[changesMax:]...)
		h.base += changesMax
	}
	h.pods = append(h.pods, change)
}

// forget notes a change which no preparation can be told of.
func (h *changes) forget() { *h = changes{base: h.version() + 1} }

// since is the changes after a version; it is not ok if they are too many, or not known.
func (h *changes) since(version uint64) (pods []podChange, ok bool) {
	if version < h.base || h.version()-version > changesMax {
		return nil, false
	}
	return h.pods[version-h.base:], true
}

// recall is the preparation that was made for a pod or for one of its class, as it is now. It
// is nil if there is none. The cluster is locked.
func (c *Checker) recall(pod *v1.Pod) *preparation {
	if c.outOfTree.Decide() {
		return nil // what others than kube-scheduler's plugins found out may hang on anything
	}
	if c.last != nil && c.last.pod == pod {
		return c.upToDate(c.last)
	}
	// What a class is takes longer to say than PreFilter takes that looks at no other pods.
	if !looksAtOthers(pod) {
		return nil
	}
	if one, ok := c.kept.Get(c.Class(pod)); ok {
		return c.upToDate(one.of(pod))
	}
	return nil
}

// remember keeps a preparation. The cluster is locked.
func (c *Checker) remember(p *preparation) {
	if p == c.last || !p.isPlain() || c.outOfTree.Decide() {
		return
	}
	fresh := c.last == nil || c.last.pod != p.pod
	c.last = p
	if !looksAtOthers(p.pod) {
		return
	}
	if fresh {
		c.lastClass = c.Class(p.pod)
	}
	if c.lastClass != "" {
		c.kept.Add(c.lastClass, p)
	}
}

// looksAtOthers says that PreFilter looks for other pods which match a selector of this one.
func looksAtOthers(pod *v1.Pod) bool {
	if slices.ContainsFunc(pod.Spec.TopologySpreadConstraints, isHard) {
		return true
	}
	return len(affinityTermsOf(pod)) > 0 || len(antiAffinityOf(pod)) > 0
}

// of is the preparation for another pod of the same class.
func (p *preparation) of(pod *v1.Pod) *preparation {
	other := *p
	other.pod = pod
	return &other
}

// upToDate is a preparation after the changes that came since it was made, or nil if it has to
// be made anew. A question that is under way reads the state, so it is changed in a copy.
func (c *Checker) upToDate(p *preparation) *preparation {
	pods, ok := c.changes.since(p.version)
	if !ok || p.outside != c.outside.Load() || len(pods) > 0 && p.refused != nil {
		return nil
	}
	if len(pods) == 0 {
		return p
	}
	next := p.of(p.pod)
	next.version = c.changes.version()
	copied := false
	for _, change := range pods {
		if !c.concerns(change.before, p) && !c.concerns(change.after, p) {
			continue
		}
		if !p.canBeTold(change) {
			return nil
		}
		if !copied {
			next.state, copied = p.state.Clone(), true
		}
		if c.tell(next, change) != nil {
			return nil
		}
	}
	if copied && !repairSpread(next) {
		return nil
	}
	return next
}

// concerns says whether PreFilter may count a pod. The pods of nodes that are not known are
// not counted; a node that comes or goes is a change which no preparation can be told of.
func (c *Checker) concerns(other *framework.PodInfo, p *preparation) bool {
	switch {
	case other == nil || c.cluster.node(other.Pod.Spec.NodeName) == nil:
		return false
	case len(affinityTermsOf(p.pod)) > 0 || len(antiAffinityOf(p.pod)) > 0 || len(other.RequiredAntiAffinityTerms) > 0:
		return true
	}
	return !p.skips(names.PodTopologySpread) && other.Pod.Namespace == p.pod.Namespace
}

func (p *preparation) skips(plugin string) bool { return p.state.GetSkipFilterPlugins().Has(plugin) }

// canBeTold says that the plugins answer after a change as if they had seen it in PreFilter.
func (p *preparation) canBeTold(change podChange) bool {
	// When no pod has anti-affinity against this one, the plugin is left out, and would not
	// hear of the first that has.
	if change.after != nil && p.skips(names.InterPodAffinity) {
		for _, term := range change.after.RequiredAntiAffinityTerms {
			if term.Selector.Matches(labels.Set(p.pod.Labels)) {
				return false
			}
		}
	}
	// PreFilter takes an empty selector for none, and the extensions for all pods.
	for _, constraint := range p.pod.Spec.TopologySpreadConstraints {
		s := constraint.LabelSelector
		if isHard(constraint) && s != nil && len(s.MatchLabels) == 0 && len(s.MatchExpressions) == 0 {
			return false
		}
	}
	return true
}

// tell has the plugins take in a change of a pod.
func (c *Checker) tell(p *preparation, change podChange) error {
	err := c.tellOne(p, change.before, c.framework.RunPreFilterExtensionRemovePod)
	if err != nil {
		return err
	}
	return c.tellOne(p, change.after, c.framework.RunPreFilterExtensionAddPod)
}

// An extension has the plugins count a pod, or not any more.
type extension func(context.Context, fwk.CycleState, *v1.Pod, fwk.PodInfo, fwk.NodeInfo) *fwk.Status

func (c *Checker) tellOne(p *preparation, other *framework.PodInfo, tell extension) error {
	if other == nil {
		return nil
	}
	info := c.cluster.node(other.Pod.Spec.NodeName)
	if info == nil {
		return nil
	}
	defer p.ignoreEnding(other.Pod)()
	return errorOf(tell(context.Background(), p.state, p.pod, other, info))
}

// ignoreEnding leaves spread out for a pod that is ending, until undo: PreFilter does not count
// it there, and the extensions would.
func (p *preparation) ignoreEnding(pod *v1.Pod) (undo func()) {
	if pod.DeletionTimestamp == nil {
		return func() {}
	}
	skipped := p.state.GetSkipFilterPlugins()
	p.state.SetSkipFilterPlugins(skipped.Union(sets.New(names.PodTopologySpread)))
	return func() { p.state.SetSkipFilterPlugins(skipped) }
}
