package descheduler

import (
	"errors"
	"fmt"
	"sync"

	v1 "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// budgets is what disruption budgets allow in one cycle: what their status said at its
// start, less the evictions of the cycle. It answers as the API server would, and is safe
// for concurrent use.
type budgets struct {
	snapshot *framework.Snapshot

	mu   sync.Mutex
	used map[*policy.PodDisruptionBudget]int
}

func newBudgets(s *framework.Snapshot) *budgets {
	return &budgets{snapshot: s, used: map[*policy.PodDisruptionBudget]int{}}
}

// left returns how many more pods the budgets of a pod allow to evict, and nil where it
// has none.
func (b *budgets) left(pod *v1.Pod) *int {
	b.mu.Lock()
	defer b.mu.Unlock()
	var least *int
	for _, budget := range b.snapshot.BudgetsOf(pod) {
		n := pods.Disruptions(budget) - b.used[budget]
		if least == nil || n < *least {
			least = &n
		}
	}
	return least
}

// check returns why the API server would refuse to evict a pod, or nil.
func (b *budgets) check(pod *v1.Pod) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	of := b.snapshot.BudgetsOf(pod)
	if pods.IsFreeOf(of, pod) {
		return nil
	}
	if len(of) > 1 {
		return overBudget(fmt.Sprintf("the pod has %d budgets, and the API server evicts with one at most", len(of)))
	}
	if n := pods.Disruptions(of[0]) - b.used[of[0]]; n <= 0 {
		return overBudget("budget " + of[0].Name + " allows no eviction now")
	}
	return nil
}

// overBudget is a refusal such as the API server would give: asking again in the cycle is of no use.
func overBudget(reason string) error {
	return &framework.RefusedError{By: byBudget, Reason: reason, Err: errors.New(reason)}
}

// byBudget is what refuses where a disruption budget does.
const byBudget = "disruption budget"

// evicted takes one from the budgets of a pod, where its eviction counts.
func (b *budgets) evicted(pod *v1.Pod) {
	b.mu.Lock()
	defer b.mu.Unlock()
	of := b.snapshot.BudgetsOf(pod)
	if pods.IsFreeOf(of, pod) {
		return
	}
	for _, budget := range of {
		b.used[budget]++
	}
}
