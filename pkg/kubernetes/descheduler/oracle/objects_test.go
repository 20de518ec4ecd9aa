package oracle

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

func id(p *v1.Pod) string { return p.Namespace + "/" + p.Name }

func ended(p *v1.Pod) bool {
	return p.Status.Phase == v1.PodSucceeded || p.Status.Phase == v1.PodFailed
}

func isReady(p *v1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == v1.PodReady {
			return c.Status == v1.ConditionTrue
		}
	}
	return false
}

func nodeReady(n *v1.Node) bool { return n.Status.Conditions[0].Status == v1.ConditionTrue }

// workload is what makes the pods anew, or nothing.
func workload(p *v1.Pod) string {
	if len(p.OwnerReferences) == 0 {
		return ""
	}
	return p.Namespace + "/" + p.OwnerReferences[0].Kind + "/" + p.OwnerReferences[0].Name
}

// returns says whether something makes a pod anew when it is evicted.
func returns(p *v1.Pod) bool { return workload(p) != "" && !ended(p) && p.DeletionTimestamp == nil }

func images(p *v1.Pod) string {
	var of []string
	for _, c := range p.Spec.Containers {
		of = append(of, c.Image)
	}
	return fmt.Sprint(of)
}

func matches(s *metav1.LabelSelector, l map[string]string) bool {
	sel, err := metav1.LabelSelectorAsSelector(s)
	return err == nil && sel.Matches(labels.Set(l))
}

func kindIn(p *v1.Pod, kinds []string) bool {
	return slices.ContainsFunc(p.OwnerReferences, func(o metav1.OwnerReference) bool { return slices.Contains(kinds, o.Kind) })
}

func tolerates(p *v1.Pod, t v1.Taint) bool {
	for _, o := range p.Spec.Tolerations {
		exists := o.Operator == v1.TolerationOpExists
		key := o.Key == "" && exists || o.Key == t.Key && (exists || o.Value == t.Value)
		if key && (o.Effect == "" || o.Effect == t.Effect) {
			return true
		}
	}
	return false
}

func taintsAllow(p *v1.Pod, n *v1.Node) bool {
	for _, t := range n.Spec.Taints {
		if t.Effect != v1.TaintEffectPreferNoSchedule && !tolerates(p, t) {
			return false
		}
	}
	return true
}

// expression is one of a label selector for nodes.
func expression(e v1.NodeSelectorRequirement, l map[string]string) bool {
	v, has := l[e.Key]
	switch e.Operator {
	case v1.NodeSelectorOpIn:
		return has && slices.Contains(e.Values, v)
	case v1.NodeSelectorOpNotIn:
		return !has || !slices.Contains(e.Values, v)
	case v1.NodeSelectorOpExists:
		return has
	}
	panic(e.Operator)
}

func termHolds(t v1.NodeSelectorTerm, l map[string]string) bool {
	for _, e := range t.MatchExpressions {
		if !expression(e, l) {
			return false
		}
	}
	return true
}

func required(p *v1.Pod) *v1.NodeSelector {
	if a := p.Spec.Affinity; a != nil && a.NodeAffinity != nil {
		return a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	return nil
}

func labelsAllow(p *v1.Pod, n *v1.Node) bool {
	for k, v := range p.Spec.NodeSelector {
		if n.Labels[k] != v {
			return false
		}
	}
	r := required(p)
	return r == nil || slices.ContainsFunc(r.NodeSelectorTerms, func(t v1.NodeSelectorTerm) bool { return termHolds(t, n.Labels) })
}

// weight is how much a pod prefers a node.
func weight(p *v1.Pod, n *v1.Node) (sum int32) {
	if a := p.Spec.Affinity; a != nil && a.NodeAffinity != nil {
		for _, t := range a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
			if termHolds(t.Preference, n.Labels) {
				sum += t.Weight
			}
		}
	}
	return sum
}

// reasonsOf are the reasons and exit codes of the containers of a pod.
func reasonsOf(p *v1.Pod) (reasons []string, codes []int32) {
	for _, c := range p.Status.ContainerStatuses {
		if c.State.Waiting != nil {
			reasons = append(reasons, c.State.Waiting.Reason)
		}
		if c.State.Terminated != nil {
			reasons = append(reasons, c.State.Terminated.Reason)
			codes = append(codes, c.State.Terminated.ExitCode)
		}
	}
	return reasons, codes
}

func overlap[T comparable](a, b []T) bool {
	return slices.ContainsFunc(a, func(x T) bool { return slices.Contains(b, x) })
}
