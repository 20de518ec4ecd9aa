package e2e

import (
	"maps"
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// restartMax is how long a start may take until a pod is bound, with as many pods that run as
// TestRestart has.
const restartMax = 10 * time.Second

// A scheduler crashes with pods that run. The next start counts them, changes none, and places
// what came meanwhile.
func restartTouchesNothing(w *World) { restart(w, 5, 100) }

// TestRestart measures how long the start takes with many pods that run, on as many nodes and
// with as many pods as TestThroughput.
func TestRestart(t *testing.T) {
	ofEachScheduler(t, func(t *testing.T, w *World) {
		t.Helper()
		took := restart(w, *throughputNodes, *throughputPods)
		t.Logf("from the start until a pod is bound, with %d pods that run on %d nodes: %v", *throughputPods, *throughputNodes, took.Round(time.Millisecond))
		w.CheckLaws()
		assert.Assert(t, took < restartMax)
	})
}

// restart returns the time from the start of the scheduler until the pod is bound that came
// while there was none.
func restart(w *World, nodes, pods int) time.Duration {
	w.t.Helper()
	w.AddNodes(nodes, "32", "256Gi")
	watch := watchPods(w, "load")
	w.CreateDeployment("load", int32(pods), small)
	watch.await(w.t, "running", func(s *podWatch) int { return s.run }, pods)
	before := versions(w)
	assert.Equal(w.t, len(before), pods)

	w.Step("the scheduler crashes")
	w.instance.Kill()
	w.CreatePods("waits", 1, Pod{CPU: "1", Memory: "1Gi"})
	w.startScheduler()
	begun := time.Now()
	w.Await(Bound("waits", 1))
	took := time.Since(begun)
	w.Await(Running("waits", 1))
	w.checkBooks()
	after := versions(w)
	for _, name := range slices.Sorted(maps.Keys(before)) {
		assert.Equal(w.t, after[name], before[name], "pod %s was changed", name)
	}
	assert.Equal(w.t, len(after), pods)
	return took
}

// versions are the identity and the version of each pod of the deployment: any request that
// changes a pod changes its version.
func versions(w *World) map[string]string {
	w.t.Helper()
	pods, err := w.client.CoreV1().Pods(namespace).List(w.ctx, metav1.ListOptions{LabelSelector: appLabel + "=load"})
	w.check(err)
	all := make(map[string]string, len(pods.Items))
	for _, pod := range pods.Items {
		all[pod.Name] = string(pod.UID) + " " + pod.ResourceVersion
	}
	return all
}
