package e2e

import (
	"path/filepath"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The policy of docs/deploy has pods of labelled namespaces scheduled by narwhal, with the
// queue of their namespace, and leaves all others as they are.
func TestAdmissionPolicy(t *testing.T) {
	needControlPlane(t)
	needRelease(t, "1.36")
	w := NewWorld(t, KubeScheduler(kubeSchedulerName), Options{})
	assert.NilError(t, apply(w.cluster, filepath.Join(manifests, "..", "admission", "policy.yaml")))
	client := w.cluster.Client().CoreV1()
	for name, labels := range map[string]map[string]string{"shop": {"narwhal": "enabled"}, "other": nil} {
		_, err := client.Namespaces().Create(w.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: labels, Annotations: map[string]string{"yunikorn.apache.org/queue": "root.shop"},
		}}, metav1.CreateOptions{})
		assert.NilError(t, err)
	}
	created := func(namespace string, change func(*corev1.Pod)) *corev1.Pod {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "p-", Namespace: namespace},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
		}
		change(pod)
		pod, err := client.Pods(namespace).Create(w.ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		assert.NilError(t, err)
		return pod
	}
	plain := func(*corev1.Pod) {}
	// The API server takes a new policy in after a moment, and says not when.
	ticker := time.NewTicker(booksEvery)
	defer ticker.Stop()
	for created("shop", plain).Spec.SchedulerName != "narwhal" {
		select {
		case <-ticker.C:
		case <-w.ctx.Done():
			t.Fatal("the policy has no effect")
		}
	}

	pod := created("shop", plain)
	assert.Equal(t, pod.Spec.SchedulerName, "narwhal")
	assert.Equal(t, len(pod.Labels), 0)
	assert.Equal(t, pod.Annotations["yunikorn.apache.org/queue"], "root.shop")

	pod = created("shop", func(p *corev1.Pod) { p.Labels = map[string]string{"applicationId": "a", "queue": "root.q"} })
	assert.Equal(t, pod.Spec.SchedulerName, "narwhal")
	assert.DeepEqual(t, pod.Labels, map[string]string{"applicationId": "a", "queue": "root.q"})
	assert.Equal(t, pod.Annotations["yunikorn.apache.org/queue"], "")

	pod = created("shop", func(p *corev1.Pod) { p.Spec.SchedulerName = "mine" })
	assert.Equal(t, pod.Spec.SchedulerName, "mine")
	pod = created("other", plain)
	assert.Equal(t, pod.Spec.SchedulerName, kubeSchedulerName)
	assert.Equal(t, len(pod.Labels), 0)
}
