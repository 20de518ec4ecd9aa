package shimtest_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim/shimtest"
)

// budgetOf lets so many pods of an application end.
func budgetOf(app string, allowed int32) *policy.PodDisruptionBudget {
	return &policy.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: app},
		Spec:       policy.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"run": app}}},
		Status:     policy.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed},
	}
}

// A pod that waits for a budget which may not be violated is tried again when the budget
// allows more, and when it is deleted.
func TestHardBudgetChanges(t *testing.T) {
	for name, change := range map[string]func(*shimtest.MockScheduler){
		"allows more": func(m *shimtest.MockScheduler) { m.ChangeBudget(budgetOf("low", 1)) },
		"allows more after another change": func(m *shimtest.MockScheduler) {
			same := budgetOf("low", 0)
			same.Status.CurrentHealthy = 1
			m.ChangeBudget(same)
			m.ChangeBudget(budgetOf("low", 1))
		},
		"selects others": func(m *shimtest.MockScheduler) {
			others := budgetOf("low", 0)
			others.Spec.Selector.MatchLabels["run"] = "others"
			m.ChangeBudget(others)
		},
		"is deleted": func(m *shimtest.MockScheduler) {
			budgets := m.API.PolicyV1().PodDisruptionBudgets(metav1.NamespaceDefault)
			assert.NilError(t, budgets.Delete(context.Background(), "low", metav1.DeleteOptions{}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := shimtest.New(t, shimtest.Options{Queues: strings.Replace(quick, "1s}", "1s, preemption_disruption_budgets: hard}", 1)})
				m.AddNode("node-1", "cpu=2")
				m.Create(budgetOf("low", 0))
				m.Start()
				m.AddPod("low", "cpu=2", shimtest.Labelled("run", "low"))
				m.ChangePod("low", ready)
				m.AddPod("high", "cpu=2", shimtest.Priority(10))
				m.Advance(20 * time.Second)
				assert.Equal(t, len(m.API.Deleted()), 0)
				change(m)
				m.Advance(soon)
				assert.DeepEqual(t, m.API.Deleted(), []string{"low"})
			})
		})
	}
}

// A pod that others keep away because of the labels of its namespace is tried again when those
// change.
func TestNamespaceLabelsChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{Feasibility: filters})
		m.AddNode("node-1", "cpu=8")
		labelNamespace(t, m, map[string]string{"loud": "yes"})
		m.AddPod("quiet", "cpu=1", shimtest.On("node-1"), func(pod *v1.Pod) {
			apart(pod)
			term := &pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0]
			term.LabelSelector.MatchLabels["run"] = "web"
			term.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"loud": "yes"}}
			pod.Namespace = "team"
		})
		m.Start()
		m.AddPod("web", "cpu=1", shimtest.Labelled("run", "web"))
		m.Advance(20 * time.Second)
		assert.Equal(t, m.Pod("web").Spec.NodeName, "")
		labelNamespace(t, m, nil)
		m.Advance(soon)
		assert.Equal(t, m.Pod("web").Spec.NodeName, "node-1")
	})
}

// Pods of an indexed job are asked about together until another pod refuses one of them by its number. From then on each is asked
// about for itself.
func TestNumberOfAPodIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{Feasibility: filters})
		m.AddNode("node-1", "cpu=4")
		m.AddPod("full", "cpu=3", shimtest.On("node-1"))
		m.Start()
		for _, number := range []string{"1", "2"} {
			m.AddPod("job-"+number, "cpu=2", shimtest.Labelled(batchv1.JobCompletionIndexAnnotation, number))
		}
		m.AddPod("rival", "cpu=1", shimtest.On("node-1"), func(pod *v1.Pod) {
			apart(pod)
			term := &pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0]
			term.LabelSelector.MatchLabels = map[string]string{batchv1.JobCompletionIndexAnnotation: "1"}
		})
		m.Advance(soon)
		m.EndPod("full")
		m.Advance(soon)
		assert.Equal(t, m.Pod("job-1").Spec.NodeName, "")
		assert.Equal(t, m.Pod("job-2").Spec.NodeName, "node-1")
	})
}

func labelNamespace(t *testing.T, m *shimtest.MockScheduler, labels map[string]string) {
	t.Helper()
	namespace := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceDefault, Labels: labels}}
	_, err := m.API.CoreV1().Namespaces().Update(context.Background(), namespace, metav1.UpdateOptions{})
	assert.NilError(t, err)
}
