package e2e

import (
	"maps"
	"slices"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What is done in the first hour with a new scheduler, with the manifests as they are. The 60 pods of a deployment
// that request nothing, as "kubectl create deployment" makes them, are spread over 30 nodes in three zones, and the three
// pods of a Service over the zones. A job ends, a daemonset is everywhere. A node is drained, for which the
// budget of the service leaves one pod at a time; what ran there runs elsewhere, still spread. A pod that is too large for every
// node says so, and kubectl-narwhal says why.
func firstHour(w *World) {
	const replicas, nodes, zones = 60, 30, 3
	w.AddNodesInZones(zones, nodes, "8", "32Gi")
	w.CreateDeployment("web", replicas, Pod{})
	w.Await(Bound("web", replicas/3))
	w.Middle()
	w.Await(Available("web", replicas))
	isSpread := func() {
		w.t.Helper()
		w.Step("web is spread as %v over nodes, and as %v over zones", counts(w.nodesOf("web")), w.zonesOf("web"))
		assert.Assert(w.t, slices.Max(counts(w.nodesOf("web"))) <= 3, "%v", w.nodesOf("web"))
		assert.Assert(w.t, skew(w.zonesOf("web"), zones) <= 5, "%v", w.zonesOf("web"))
	}
	isSpread()

	createService(w, "shop")
	w.CreateDeployment("shop", 3, Pod{CPU: "500m", Memory: "1Gi"})
	w.CreateBudget("shop", 2)
	w.CreateJob("batch", 6, 3, Pod{CPU: "1", Memory: "1Gi"})
	w.CreateDaemonSet("agent", Pod{CPU: "100m", Memory: "128Mi"})
	w.Await(Available("shop", 3))
	assert.Equal(w.t, len(w.zonesOf("shop")), zones, "%v", w.zonesOf("shop"))
	w.Await(Complete("batch"))
	w.Await(OnEveryNode("agent", nodes))

	w.Await(BudgetAllows("shop", 1))
	drained := w.Pods("shop")[0].Spec.NodeName
	w.Kubectl("drain", drained, "--ignore-daemonsets")
	w.Await(Available("web", replicas))
	w.Await(Available("shop", 3))
	assert.Equal(w.t, w.nodesOf("web")[drained]+w.nodesOf("shop")[drained], 0)
	isSpread()
	assert.Equal(w.t, len(w.zonesOf("shop")), zones, "%v", w.zonesOf("shop"))
	w.Kubectl("uncordon", drained)

	w.CreatePods("huge", 1, Pod{CPU: "64", Memory: "1Gi"})
	w.Await(Unschedulable("huge", 1))
	if w.instance.REST() != "" {
		contains(w, newPlugin(w)("why", "pod/huge-1"), "default/huge-1 of application", "30 could never hold it", "vcore")
	}
	for app, count := range map[string]int{"web": replicas, "shop": 3, "batch": 6, "agent": nodes} {
		w.Await(Scheduled(app, count))
		w.Await(Unschedulable(app, 0))
	}
}

// createService makes pods of an application a service.
func createService(w *World, app string) {
	w.t.Helper()
	_, err := w.client.CoreV1().Services(namespace).Create(w.ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: app},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{appLabel: app}, Ports: []corev1.ServicePort{{Port: 80}}},
	}, metav1.CreateOptions{})
	w.check(err)
}

// counts are those of a map, the largest first.
func counts(of map[string]int) []int {
	sorted := slices.Sorted(maps.Values(of))
	slices.Reverse(sorted)
	return sorted
}
