package e2e

import (
	"testing"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/e2e/kubelet"
)

// TestKubelets shows that the stand-in for the kubelets does what its annotations say, as
// the real API server sees it.
func TestKubelets(t *testing.T) {
	needControlPlane(t)
	w := NewWorld(t, KubeScheduler(kubeSchedulerName), Options{MayBeRefused: true})
	w.AddNodes(1, "4", "16Gi")
	podsFail(w)
	podsAreRefused(w)
	podsAreResized(w)
	deletedPodsStopLater(w)
	w.CheckLaws()
}

func podsFail(w *World) {
	w.CreatePods("fails", 1, Pod{CPU: "1", Memory: "1Gi", Annotations: map[string]string{kubelet.RunFor: "100ms", kubelet.ExitCode: "3"}})
	w.Await(countIs("fails", 1, "have failed with 3", func(p *corev1.Pod) bool {
		return p.Status.Phase == corev1.PodFailed && p.Status.ContainerStatuses[0].State.Terminated.ExitCode == 3
	}))
}

// podsAreRefused binds a pod past the scheduler.
func podsAreRefused(w *World) {
	big := pod("big", 1, Pod{CPU: "5", Memory: "1Gi"}.template("big", "no-scheduler"))
	big.Spec.NodeName = nodeName(1)
	_, err := w.client.CoreV1().Pods(namespace).Create(w.ctx, big, metav1.CreateOptions{})
	w.check(err)
	w.Await(countIs("big", 1, "are refused", func(p *corev1.Pod) bool { return p.Status.Reason == "OutOfcpu" }))
	assert.DeepEqual(w.t, w.observer.refusals(), []string{"default/big-1 on node-1: OutOfcpu"})
}

// podsAreResized: the node has four CPUs, of which another pod has one until it is deleted.
func podsAreResized(w *World) {
	w.CreatePods("other", 1, Pod{CPU: "1", Memory: "1Gi"})
	w.CreatePods("grows", 1, Pod{CPU: "1", Memory: "1Gi"})
	w.Await(Running("grows", 1))
	w.Await(Running("other", 1))
	w.ResizePod("grows-1", "3", "2Gi")
	w.Await(countIs("grows", 1, "have 3 CPUs", func(p *corev1.Pod) bool { return cpus(p) == "3" && deferral(p) == "" }))
	w.ResizePod("grows-1", "4", "2Gi")
	w.Await(countIs("grows", 1, "have 3 CPUs and wait", func(p *corev1.Pod) bool {
		return cpus(p) == "3" && deferral(p) == corev1.PodReasonDeferred
	}))
	w.DeletePod("other-1")
	w.Await(countIs("grows", 1, "have 4 CPUs", func(p *corev1.Pod) bool { return cpus(p) == "4" && deferral(p) == "" }))
	w.DeletePod("grows-1")
	w.Await(Gone("grows"))
}

// cpus are what the kubelet says that a pod has.
func cpus(p *corev1.Pod) string {
	return p.Status.ContainerStatuses[0].Resources.Requests.Cpu().String()
}

// deferral is why a pod does not have what it asks for, or nothing.
func deferral(p *corev1.Pod) string {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodResizePending {
			return c.Reason
		}
	}
	return ""
}

// deletedPodsStopLater: what the API server shows until then is a deleted pod that runs.
func deletedPodsStopLater(w *World) {
	w.CreatePods("slow", 1, Pod{CPU: "1", Memory: "1Gi", Annotations: map[string]string{kubelet.StopAfter: "1s"}})
	w.Await(Running("slow", 1))
	w.DeletePod("slow-1")
	w.Await(countIs("slow", 1, "are deleted and run", func(p *corev1.Pod) bool {
		return p.DeletionTimestamp != nil && p.Status.Phase == corev1.PodRunning
	}))
	w.Await(Gone("slow"))
}
