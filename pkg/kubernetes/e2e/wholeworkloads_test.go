package e2e

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/e2e/kubelet"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// The pods of a job that says how they are scheduled start together: its controller makes the pod group. Where a whole job of less priority
// is in the way, all of that ends, and nothing does for a job that would not fit then.
func jobStartsWhole(w *World) {
	w.AddNodes(1, "3", "16Gi")
	createWholeJob(w, "low", 3, Pod{CPU: "1", Memory: "1Gi", Annotations: lasts})
	w.Await(Running("low", 3))
	w.Middle()
	w.CreatePriorityClass("urgent", 1000)
	createWholeJob(w, "large", 4, Pod{CPU: "1", Memory: "1Gi", PriorityClass: "urgent", Annotations: lasts})
	w.Await(Waiting("large", 4))
	w.Await(Running("low", 3))
	createWholeJob(w, "urgent", 3, Pod{CPU: "1", Memory: "1Gi", PriorityClass: "urgent", Annotations: lasts})
	w.Await(Running("urgent", 3))
	w.Await(Gone("low"))
	w.AddNodes(1, "3", "16Gi")
	w.Await(Waiting("large", 4))
	w.Middle()
	w.AddNodes(1, "1", "16Gi")
	w.Await(Running("large", 4))
	w.checkBooks()
}

// lasts has the pods of a job run longer than a scenario.
var lasts = map[string]string{kubelet.RunFor: "1h"}

// createWholeJob makes a job of so many pods that start together.
func createWholeJob(w *World, name string, count int32, p Pod) {
	w.t.Helper()
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(job(name, count, count, p.template(name, w.scheduler.Name())))
	w.check(err)
	spec := object["spec"].(map[string]any)
	spec["completionMode"] = "Indexed"
	spec["scheduling"] = map[string]any{"schedulingPolicy": map[string]any{"gang": map[string]any{"minCount": int64(count)}}}
	create(w, namespace, schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}, "Job", name, spec)
}

// Two of three replicas start together, each with all of its pods; the third one when there is room for all of it.
func replicasStartWhole(w *World) {
	w.AddNodes(1, "5", "16Gi")
	of := func(template string) map[string]any {
		return map[string]any{"workloadName": "serve", "templateName": template}
	}
	gang := func(count string, least int64) map[string]any {
		return map[string]any{"gang": map[string]any{count: least}}
	}
	create(w, namespace, pods.CompositePodGroupResource, "CompositePodGroup", "serve", map[string]any{"workloadRef": of("all"), "schedulingPolicy": gang("minGroupCount", 2)})
	replica := func(name string) {
		create(w, namespace, podGroups(), "PodGroup", name, map[string]any{
			"workloadRef": of("replica"), "parentCompositePodGroupName": "serve", "schedulingPolicy": gang("minCount", 2),
		})
		w.CreatePods(name, 2, Pod{CPU: "1", Memory: "1Gi", Group: name})
	}
	replica("blue")
	w.Await(Waiting("blue", 2))
	w.Middle()
	replica("green")
	w.Await(Running("blue", 2))
	w.Await(Running("green", 2))
	replica("red")
	w.Await(Waiting("red", 2))
	for name, want := range map[string]string{"blue": "True Scheduled", "red": "False Unschedulable"} {
		awaitGroup(w, podGroups(), name, want)
	}
	w.Middle()
	w.AddNodes(1, "1", "16Gi")
	w.Await(Running("red", 2))
	awaitGroup(w, podGroups(), "red", "True Scheduled")
	w.checkBooks()
}
