package e2e

import (
	"fmt"
	"slices"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
)

// Two users have one CPU each by one limit, and there is room for more. The second pod of each
// waits, and an event says why. When a pod of one has ended the other pod of that user runs, and
// the one of the other user waits on.
func usersHaveALimit(w *World) {
	w.AddNodes(1, "4", "16Gi")
	users := []string{"anna", "bea"}
	for _, user := range users {
		w.CreatePods(user, 2, Pod{
			CPU: "1", Memory: "1Gi",
			Labels:      map[string]string{"applicationId": "of-" + user, "queue": "root.limited"},
			Annotations: map[string]string{"yunikorn.apache.org/user.info": fmt.Sprintf(`{"user": %q, "groups": ["dev"]}`, user)},
		})
	}
	for _, user := range users {
		w.Await(Running(user, 1))
		awaitEvent(w, waitingOf(w, user), "user "+user)
	}
	w.Middle()
	w.checkBooks()
	assert.DeepEqual(w.t, usedByUsers(w), map[string]int64{"anna": 1000, "bea": 1000})

	second := waitingOf(w, "anna")
	for _, pod := range w.Pods("anna") {
		if pod.Name != second {
			w.DeletePod(pod.Name)
		}
	}
	w.Await(Running("anna", 1))
	w.Await(Running("bea", 1))
	w.Await(Waiting("bea", 1))
	w.checkBooks()
	assert.DeepEqual(w.t, usedByUsers(w), map[string]int64{"anna": 1000, "bea": 1000})
}

// waitingOf is the pod of an application that has no node.
func waitingOf(w *World, app string) string {
	w.t.Helper()
	w.Await(Waiting(app, 1))
	pods := w.Pods(app)
	return pods[slices.IndexFunc(pods, func(p *corev1.Pod) bool { return p.Spec.NodeName == "" })].Name
}

// usedByUsers is the CPU that the web service shows for each user.
func usedByUsers(w *World) map[string]int64 {
	w.t.Helper()
	var users []struct {
		UserName string
		Queues   struct{ ResourceUsage map[string]int64 } // of the root, and so of all
	}
	w.check(w.readREST(w.ctx, "/ws/v1/partition/default/usage/users", &users))
	used := map[string]int64{}
	for _, u := range users {
		used[u.UserName] = u.Queues.ResourceUsage["vcore"]
	}
	return used
}
