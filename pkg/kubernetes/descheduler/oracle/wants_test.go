package oracle

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
)

func (a args) selected(p *v1.Pod) bool {
	return a.Namespaces.has(p.Namespace) && (a.LabelSelector == nil || matches(a.LabelSelector, p.Labels))
}

// wants says whether the rule of a plugin at deschedule holds for a pod.
func (m *model) wants(pl plugin, p *v1.Pod, now time.Time) opinion {
	a, n := pl.Args, m.nodes[p.Spec.NodeName]
	if n == nil || !a.selected(p) {
		return no
	}
	holds := false
	switch pl.Name {
	case lifeTime:
		return sure(a.hasLifeTime(p, now))
	case failed:
		return sure(a.hasFailed(p, now))
	case restarts:
		holds = a.restartsOften(p)
	case taints:
		holds = a.repelled(p, n)
	case affinity:
		holds = a.about(requiredAffinity) && violated(p, n) || a.about(preferredAffinity) && m.prefersAnother(p, n)
	case apart:
		q := m.against(p, n.Name, false)
		if q != nil && q.DeletionTimestamp != nil {
			return perhaps
		}
		holds = q != nil
	default:
		panic(pl.Name)
	}
	if holds && ended(p) {
		return perhaps
	}
	return sure(holds)
}

func sure(holds bool) opinion {
	if holds {
		return yes
	}
	return no
}

// hasLifeTime is the rule of PodLifeTime.
func (a args) hasLifeTime(p *v1.Pod, now time.Time) bool {
	reasons, codes := reasonsOf(p)
	if k := a.OwnerKinds; k != nil && (len(k.Include) > 0 && !kindIn(p, k.Include) || kindIn(p, k.Exclude)) {
		return false
	}
	if a.MaxPodLifeTimeSeconds != nil && now.Sub(p.CreationTimestamp.Time) <= seconds(*a.MaxPodLifeTimeSeconds) {
		return false
	}
	states := append(reasons, string(p.Status.Phase), p.Status.Reason)
	if len(a.States) > 0 && !overlap(a.States, states) || len(a.ExitCodes) > 0 && !overlap(a.ExitCodes, codes) {
		return false
	}
	return len(a.Conditions) == 0 || slices.ContainsFunc(a.Conditions, func(c condition) bool {
		return slices.ContainsFunc(p.Status.Conditions, func(d v1.PodCondition) bool { return c.agrees(d, now) })
	})
}

func (c condition) agrees(d v1.PodCondition, now time.Time) bool {
	return (c.Type == "" || c.Type == string(d.Type)) && (c.Status == "" || c.Status == string(d.Status)) &&
		(c.Since == nil || now.Sub(d.LastTransitionTime.Time) >= seconds(*c.Since))
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

// hasFailed is the rule of RemoveFailedPods.
func (a args) hasFailed(p *v1.Pod, now time.Time) bool {
	least := 3600
	if a.MinPodLifetimeSeconds != nil {
		least = *a.MinPodLifetimeSeconds
	}
	if p.Status.Phase != v1.PodFailed || now.Sub(p.CreationTimestamp.Time) <= seconds(least) || kindIn(p, a.ExcludeOwnerKinds) {
		return false
	}
	reasons, codes := reasonsOf(p)
	return (len(a.Reasons) == 0 || overlap(a.Reasons, append(reasons, p.Status.Reason))) &&
		(len(a.ExitCodes) == 0 || overlap(a.ExitCodes, codes))
}

// restartsOften is the rule of RemovePodsHavingTooManyRestarts.
func (a args) restartsOften(p *v1.Pod) bool {
	var sum int32
	for _, c := range p.Status.ContainerStatuses {
		sum += c.RestartCount
	}
	reasons, _ := reasonsOf(p)
	return sum >= a.PodRestartThreshold && (len(a.States) == 0 || overlap(a.States, append(reasons, string(p.Status.Phase))))
}

// repelled is the rule of RemovePodsViolatingNodeTaints.
func (a args) repelled(p *v1.Pod, n *v1.Node) bool {
	return slices.ContainsFunc(n.Spec.Taints, func(t v1.Taint) bool {
		counts := t.Effect == v1.TaintEffectNoSchedule || t.Effect == v1.TaintEffectPreferNoSchedule && a.IncludePreferNoSchedule
		listed := !taintIn(a.ExcludedTaints, t) && (len(a.IncludedTaints) == 0 || taintIn(a.IncludedTaints, t))
		return counts && listed && !tolerates(p, t)
	})
}

func taintIn(list []string, t v1.Taint) bool {
	return slices.Contains(list, t.Key) || slices.Contains(list, t.Key+"="+t.Value)
}

// about says whether RemovePodsViolatingNodeAffinity looks at a type of affinity. A node selector
// alone is none.
func (a args) about(affinityType string) bool {
	return slices.Contains(a.NodeAffinityType, affinityType)
}

// prefersAnother says whether a pod prefers another node that has a place for it. That is not
// asked for a pod that nothing makes anew.
func (m *model) prefersAnother(p *v1.Pod, n *v1.Node) bool {
	return slices.ContainsFunc(m.w.o.Nodes, func(o *v1.Node) bool {
		return weight(p, o) > weight(p, n) && (!returns(p) || m.fits(p, o.Name) == "")
	})
}

// violated says whether the required affinity of a pod does not accept a node.
func violated(p *v1.Pod, n *v1.Node) bool { return required(p) != nil && !labelsAllow(p, n) }

// accepts says whether a plugin at deschedule takes a node as better than that of the pod.
func (m *model) accepts(pl plugin, p *v1.Pod, to string) bool {
	n, from := m.nodes[to], m.nodes[p.Spec.NodeName]
	switch pl.Name {
	case taints:
		return !pl.Args.repelled(p, n)
	case affinity:
		if pl.Args.about(requiredAffinity) && violated(p, from) {
			return labelsAllow(p, n)
		}
		return weight(p, n) > weight(p, from)
	case apart:
		free := false
		m.without(p, func() { free = m.against(p, to, false) == nil })
		return free
	}
	return true
}
