package controllers

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// allows says whether a pod that was refused has budgets that let it go now, with what went in this turn, or had one that is
// gone: of a hundred pods that a budget keeps, one is tried when it allows one more.
func (t *turn) allows(pod *v1.Pod, r *refusal) bool {
	of := t.snapshot.BudgetsOf(pod)
	for _, b := range of {
		if pods.Disruptions(b) <= t.usage[b] {
			return false
		}
	}
	return len(of) > 0 || r.budget
}

// spend counts a pod that went.
func (t *turn) spend(pod *v1.Pod) { t.count(pod, 1) }

// exhaust notes that the budgets of a pod let no other one go in this turn, whatever they say.
func (t *turn) exhaust(pod *v1.Pod) { t.count(pod, exhausted) }

// exhausted is more than any budget allows.
const exhausted = math.MaxInt32

func (t *turn) count(pod *v1.Pod, evictions int) {
	for _, b := range t.snapshot.BudgetsOf(pod) {
		if t.usage == nil {
			t.usage = map[*policy.PodDisruptionBudget]int{}
		}
		t.usage[b] += evictions
	}
}

// exhausted says whether a budget has kept another pod in this turn, and keeps this one too.
func (t *turn) exhausted(pod *v1.Pod) bool {
	if len(t.usage) == 0 {
		return false
	}
	of := t.snapshot.BudgetsOf(pod)
	return !pods.IsFreeOf(of, pod) && slices.ContainsFunc(of, func(b *policy.PodDisruptionBudget) bool { return t.usage[b] >= exhausted })
}

// byBudget says whether a disruption budget keeps a pod that has one.
func (t *turn) byBudget(pod *v1.Pod, err error) bool {
	refused := new(framework.RefusedError)
	return errors.As(err, &refused) && refused.By == "disruption budget" && len(t.snapshot.BudgetsOf(pod)) > 0
}

// budgetReason names the budgets that keep a pod, in words that do not change as long as nothing does.
func (t *turn) budgetReason(pod *v1.Pod) string {
	of := t.snapshot.BudgetsOf(pod)
	if len(of) == 1 {
		return fmt.Sprintf("budget %s allows no eviction now", of[0].Name)
	}
	names := make([]string, len(of))
	for i, b := range of {
		names[i] = b.Name
	}
	return fmt.Sprintf("it has %d budgets (%s), and the API server evicts with one at most", len(of), strings.Join(names, ", "))
}
