package oracle

import (
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func budgetsOf(p *v1.Pod, all []*policyv1.PodDisruptionBudget) (of []*policyv1.PodDisruptionBudget) {
	for _, b := range all {
		if b.Namespace == p.Namespace && matches(b.Spec.Selector, p.Labels) {
			of = append(of, b)
		}
	}
	return
}

// allowed is how many evictions a budget allows: none if its status is of an older spec.
func allowed(b *policyv1.PodDisruptionBudget) int {
	if b.Status.ObservedGeneration < b.Generation {
		return 0
	}
	return int(b.Status.DisruptionsAllowed)
}

// charge is what the API server does with the budgets of a pod: whether it lets the pod go,
// and which budget pays.
func charge(p *v1.Pod, all []*policyv1.PodDisruptionBudget) (bool, *policyv1.PodDisruptionBudget) {
	if ended(p) || p.Status.Phase == v1.PodPending || p.DeletionTimestamp != nil {
		return true, nil
	}
	of := budgetsOf(p, all)
	if len(of) == 0 {
		return true, nil
	}
	if len(of) > 1 {
		return false, nil
	}
	b := of[0]
	if !isReady(p) {
		if b.Spec.UnhealthyPodEvictionPolicy != nil && *b.Spec.UnhealthyPodEvictionPolicy == policyv1.AlwaysAllow {
			return true, nil
		}
		if b.Status.CurrentHealthy >= b.Status.DesiredHealthy && b.Status.DesiredHealthy > 0 {
			return true, nil
		}
	}
	if allowed(b) <= 0 {
		return false, nil
	}
	return true, b
}

// fill writes the status of a budget as the disruption controller does.
func fill(b *policyv1.PodDisruptionBudget, pods []*v1.Pod) {
	var expected, healthy int
	for _, p := range pods {
		if !matches(b.Spec.Selector, p.Labels) || p.Namespace != b.Namespace || ended(p) || p.DeletionTimestamp != nil {
			continue
		}
		expected++
		if isReady(p) {
			healthy++
		}
	}
	var desired int
	if b.Spec.MaxUnavailable != nil {
		n, _ := intstr.GetScaledValueFromIntOrPercent(b.Spec.MaxUnavailable, expected, true)
		desired = max(0, expected-n)
	} else {
		desired, _ = intstr.GetScaledValueFromIntOrPercent(b.Spec.MinAvailable, expected, true)
	}
	left := max(0, healthy-desired)
	if expected <= 0 {
		left = 0
	}
	b.Status = policyv1.PodDisruptionBudgetStatus{
		ObservedGeneration: b.Generation, DisruptionsAllowed: int32(left),
		CurrentHealthy: int32(healthy), DesiredHealthy: int32(desired), ExpectedPods: int32(expected),
	}
}
