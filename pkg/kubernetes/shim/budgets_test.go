package shim

import (
	"testing"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// What the status of a budget counts as ending already takes nothing from it once more.
func TestPodsOfABudget(t *testing.T) {
	now, web := metav1.Now(), map[string]string{"run": "web"}
	ready := v1.PodStatus{Phase: v1.PodRunning, Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}}
	b := &budget{selector: labels.SelectorFromSet(web), PodDisruptionBudget: &policy.PodDisruptionBudget{
		Status: policy.PodDisruptionBudgetStatus{DisruptedPods: map[string]metav1.Time{"evicted": now}},
	}}
	for _, c := range []struct {
		what string
		pod  metav1.ObjectMeta
		is   bool
	}{
		{"it runs", metav1.ObjectMeta{Name: "web-1", Labels: web}, true},
		{"another one", metav1.ObjectMeta{Name: "db", Labels: map[string]string{"run": "db"}}, false},
		{"evicted through the API server", metav1.ObjectMeta{Name: "evicted", Labels: web}, false},
		{"deleted", metav1.ObjectMeta{Name: "web-2", Labels: web, DeletionTimestamp: &now}, false},
	} {
		assert.Equal(t, b.isFor(&v1.Pod{ObjectMeta: c.pod, Status: ready}), c.is, c.what)
	}
}

// A pod that is not ready takes nothing from a budget whose policy lets it go.
func TestUnreadyPodsOfABudget(t *testing.T) {
	always, healthy := policy.AlwaysAllow, policy.IfHealthyBudget
	for _, c := range []struct {
		what             string
		phase            v1.PodPhase
		ready            v1.ConditionStatus
		policy           *policy.UnhealthyPodEvictionPolicyType
		healthy, desired int32
		is               bool
	}{
		{"ready, enough are healthy", v1.PodRunning, v1.ConditionTrue, nil, 2, 2, true},
		{"ready, always", v1.PodRunning, v1.ConditionTrue, &always, 1, 2, true},
		{"not ready, enough are healthy", v1.PodRunning, v1.ConditionFalse, nil, 2, 2, false},
		{"not ready, too few are healthy", v1.PodRunning, v1.ConditionFalse, nil, 1, 2, true},
		{"not ready, too few are healthy, stated", v1.PodRunning, v1.ConditionFalse, &healthy, 1, 2, true},
		{"not ready, too few are healthy, always", v1.PodRunning, v1.ConditionFalse, &always, 1, 2, false},
		{"not ready, none is desired", v1.PodRunning, v1.ConditionFalse, nil, 0, 0, true},
		{"it is not known whether it is ready", v1.PodRunning, v1.ConditionUnknown, nil, 2, 2, false},
		{"it does not run yet", v1.PodPending, v1.ConditionFalse, nil, 1, 2, false},
	} {
		b := &budget{selector: labels.Everything(), PodDisruptionBudget: &policy.PodDisruptionBudget{
			Spec:   policy.PodDisruptionBudgetSpec{UnhealthyPodEvictionPolicy: c.policy},
			Status: policy.PodDisruptionBudgetStatus{CurrentHealthy: c.healthy, DesiredHealthy: c.desired},
		}}
		pod := &v1.Pod{Status: v1.PodStatus{Phase: c.phase, Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: c.ready}}}}
		assert.Equal(t, b.isFor(pod), c.is, c.what)
	}
}

// The core asks again when a pod may end that a budget kept, also since it is not ready any more.
func TestBudgetThatAllowsMore(t *testing.T) {
	always := policy.AlwaysAllow
	state := func(allowed, healthy int32, rule *policy.UnhealthyPodEvictionPolicyType) *policy.PodDisruptionBudget {
		return &policy.PodDisruptionBudget{
			Spec:   policy.PodDisruptionBudgetSpec{UnhealthyPodEvictionPolicy: rule},
			Status: policy.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed, CurrentHealthy: healthy, DesiredHealthy: 2},
		}
	}
	for _, c := range []struct {
		what          string
		before, after *policy.PodDisruptionBudget
		is            bool
	}{
		{"the same", state(0, 2, nil), state(0, 2, nil), false},
		{"one more", state(0, 2, nil), state(1, 3, nil), true},
		{"one is not ready, and too few are", state(0, 2, nil), state(0, 1, nil), false},
		{"one is not ready, and enough are", state(1, 3, nil), state(0, 2, nil), true},
		{"one is not ready, always", state(0, 2, &always), state(0, 1, &always), true},
		{"enough are healthy again", state(0, 1, nil), state(0, 2, nil), true},
		{"the policy is another one", state(0, 1, nil), state(0, 1, &always), true},
	} {
		b := &budget{PodDisruptionBudget: c.before}
		assert.Equal(t, b.allows(c.after), c.is, c.what)
	}
}
