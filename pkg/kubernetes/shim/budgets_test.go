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
		assert.Equal(t, b.isFor(&v1.Pod{ObjectMeta: c.pod}), c.is, c.what)
	}
}
