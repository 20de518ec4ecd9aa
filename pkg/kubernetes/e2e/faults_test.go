package e2e

import (
	"slices"
	"time"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
)

// The API server crashes while a deployment is being placed. Nothing is lost and nothing
// is placed twice.
func apiServerRestarts(w *World) {
	w.AddNodes(5, "8", "64Gi")
	w.CreateDeployment("web", 300, Pod{CPU: "100m", Memory: "128Mi"})
	w.Await(Bound("web", 20))
	w.RestartAPIServer()
	w.Middle()
	w.Await(Running("web", 300))

	w.CreateDeployment("late", 5, Pod{CPU: "1", Memory: "1Gi"})
	w.Await(Running("late", 5))
}

// A node hangs and comes back. While it is away nothing new is placed on it, and then it
// is used again.
func nodeFlaps(w *World) {
	w.AddNodes(3, "4", "16Gi")
	w.CreateDeployment("web", 3, Pod{CPU: "1", Memory: "1Gi"})
	w.Await(Running("web", 3))
	w.Silence("node-2")
	w.Await(Unreachable("node-2"))
	// The scheduler learns of nodes in order: when it knows a later one, it knows the taint.
	w.AddNodes(1, "100m", "1Gi")
	w.CreatePods("later", 1, Pod{CPU: "100m", Memory: "1Gi", Node: nodeName(4)})
	w.Await(Running("later", 1))
	before := onNode(w, "node-2")

	w.CreateDeployment("meanwhile", 4, Pod{CPU: "1", Memory: "1Gi"})
	w.Middle()
	w.Await(Running("meanwhile", 4))
	assert.DeepEqual(w.t, onNode(w, "node-2"), before)

	w.Resume("node-2")
	w.Await(Schedulable("node-2"))
	w.CreatePods("after", 1, Pod{CPU: "1", Memory: "1Gi", Node: "node-2"})
	w.Await(Running("after", 1))
}

// onNode are the names of the pods that have a node.
func onNode(w *World, node string) []string {
	return names(slices.DeleteFunc(w.Pods(""), func(p *corev1.Pod) bool { return p.Spec.NodeName != node }))
}

// A webhook refuses the first two bindings of every pod. Every pod gets its node in the
// end, and is booked once.
func bindingsFail(w *World) {
	w.AddNodes(3, "4", "16Gi")
	webhook := w.RefuseBindings(func(a Attempt) bool { return a.Number <= 2 })
	w.CreatePods("web", 3, Pod{CPU: "1", Memory: "1Gi"})
	w.Middle()
	w.Await(Running("web", 3))
	attempts := webhook.Attempts()
	for _, pod := range w.Pods("web") {
		of := slices.DeleteFunc(slices.Clone(attempts), func(a Attempt) bool { return a.Pod != pod.Name })
		assert.Assert(w.t, len(of) >= 3, "%v", of)
		assert.Equal(w.t, of[len(of)-1].Node, pod.Spec.NodeName)
		assert.Assert(w.t, !of[len(of)-1].Refused)
	}
}

// A webhook refuses every binding to one node. A pod that met it is tried elsewhere;
// kube-scheduler may try the same node for ever.
func bindingsToOneNodeFail(w *World) {
	w.AddNodes(2, "8", "16Gi")
	refused := make(chan struct{}, 1)
	w.RefuseBindings(func(a Attempt) bool {
		if a.Node != "node-1" {
			return false
		}
		select {
		case refused <- struct{}{}:
		default:
		}
		return true
	})
	w.CreatePods("web", 4, Pod{CPU: "1", Memory: "1Gi"})
	select {
	case <-refused: // what the scheduler has learned of node-1 is lost with it
	case <-time.After(patience):
		w.t.Fatal("no pod was tried on node-1")
	}
	w.Middle()
	w.Await(RunningOn("node-2", "web", 4))
}
