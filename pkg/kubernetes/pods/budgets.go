package pods

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Budgets are disruption budgets, with selectors that are read. It does not change.
type Budgets struct {
	in map[string][]selectingBudget // by namespace, in the order of names
}

type selectingBudget struct {
	budget   *policy.PodDisruptionBudget
	selector labels.Selector
}

// NewBudgets keeps the budgets, which must not be changed afterwards.
func NewBudgets(all []*policy.PodDisruptionBudget) Budgets {
	b := Budgets{in: map[string][]selectingBudget{}}
	for _, of := range slices.SortedFunc(slices.Values(all), func(a, b *policy.PodDisruptionBudget) int { return strings.Compare(a.Name, b.Name) }) {
		if selector, err := metav1.LabelSelectorAsSelector(of.Spec.Selector); err == nil { // the API server takes no other budget
			b.in[of.Namespace] = append(b.in[of.Namespace], selectingBudget{of, selector})
		}
	}
	return b
}

// Of returns the budgets that select a pod, in a new slice. It is linear in those of its namespace. A budget
// without a selector selects nothing.
func (b Budgets) Of(pod *v1.Pod) (of []*policy.PodDisruptionBudget) {
	for _, each := range b.in[pod.Namespace] {
		if each.selector.Matches(labels.Set(pod.Labels)) {
			of = append(of, each.budget)
		}
	}
	return of
}

// IsReady reports whether a pod counts as healthy for budgets.
func IsReady(pod *v1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c v1.PodCondition) bool { return c.Type == v1.PodReady && c.Status == v1.ConditionTrue })
}

// Disruptions is how many evictions the status of a budget allows. One of an older budget allows none.
func Disruptions(b *policy.PodDisruptionBudget) int {
	if b.Status.ObservedGeneration < b.Generation {
		return 0
	}
	return int(b.Status.DisruptionsAllowed)
}

// LetsUnready reports whether pods that are not ready end without regard to what a budget allows,
// as the eviction API has it: always, or, unless that is said, while enough others are healthy.
func LetsUnready(b *policy.PodDisruptionBudget) bool {
	if rule := b.Spec.UnhealthyPodEvictionPolicy; rule != nil && *rule == policy.AlwaysAllow {
		return true
	}
	return b.Status.CurrentHealthy >= b.Status.DesiredHealthy && b.Status.DesiredHealthy > 0
}

// IsFreeOf reports whether the API server evicts a pod without a look at its budgets: it has none, it
// does not run, or it is not ready and its budget lets such pods go.
func IsFreeOf(budgets []*policy.PodDisruptionBudget, pod *v1.Pod) bool {
	if len(budgets) == 0 || IsTerminal(pod) || pod.Status.Phase == v1.PodPending || pod.DeletionTimestamp != nil {
		return true
	}
	return len(budgets) == 1 && !IsReady(pod) && LetsUnready(budgets[0])
}
