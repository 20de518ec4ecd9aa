package e2e

import (
	"encoding/json"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/e2e/kubelet"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/e2e/programs"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// The pods of a job that says how they are scheduled start together: its controller makes the pod group. Where a whole job of less priority
// is in the way, all of that ends, and nothing does for a job that would not fit then.
func jobStartsWhole(w *World) {
	w.AddNodes(1, "3", "16Gi")
	createWholeJob(w, "low", 3, Pod{CPU: "1", Memory: "1Gi", Annotations: lasts})
	w.Await(Running("low", 3))
	w.Middle()
	createDefaultPriorityClass(w, "urgent", 1000) // on 1.36 groups of jobs have no other
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

// createDefaultPriorityClass makes the priority class of what names none from now on.
func createDefaultPriorityClass(w *World, name string, value int32) {
	w.t.Helper()
	class := priorityClass(name, value)
	class.GlobalDefault = true
	_, err := w.client.SchedulingV1().PriorityClasses().Create(w.ctx, class, metav1.CreateOptions{})
	w.check(err)
}

// createWholeJob makes a job of so many pods that start together. In 1.36 each indexed job is that, and has no field for it.
func createWholeJob(w *World, name string, count int32, p Pod) {
	w.t.Helper()
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(job(name, count, count, p.template(name, w.scheduler.Name())))
	w.check(err)
	spec := object["spec"].(map[string]any)
	spec["completionMode"] = "Indexed"
	if programs.Release() > "1.36" {
		spec["scheduling"] = map[string]any{"schedulingPolicy": map[string]any{"gang": map[string]any{"minCount": int64(count)}}}
	}
	create(w, namespace, schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}, "Job", name, spec)
}

// Of a job of four pods that start together two have succeeded when a third one fails: the one that its controller makes in its place starts
// beside the fourth, although two are less than four.
func jobGoesOn(w *World) {
	w.AddNodes(1, "4", "16Gi")
	createWholeJob(w, "steps", 4, Pod{CPU: "1", Memory: "1Gi", Annotations: lasts})
	w.Await(Running("steps", 4))
	endIndex(w, "steps", "0", 0)
	endIndex(w, "steps", "1", 0)
	w.Await(countIs("steps", 2, "have succeeded", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodSucceeded }))
	w.Middle()
	endIndex(w, "steps", "2", 1)
	w.Await(countIs("steps", 1, "have failed", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed }))
	w.Await(Running("steps", 2))
	endIndex(w, "steps", "2", 0)
	endIndex(w, "steps", "3", 0)
	w.Await(Complete("steps"))
}

// endIndex has the pod of a job end that runs for an index, with an exit code.
func endIndex(w *World, job, index string, code int) {
	w.t.Helper()
	w.Step("index %s of job %s ends with %d", index, job, code)
	for _, p := range w.Pods(job) {
		if runs(p) && pods.IndexOf(p) == index {
			annotations := map[string]string{kubelet.RunFor: "0s", kubelet.ExitCode: strconv.Itoa(code)}
			patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": annotations}})
			w.check(err)
			_, err = w.client.CoreV1().Pods(namespace).Patch(w.ctx, p.Name, types.MergePatchType, patch, metav1.PatchOptions{})
			w.check(err)
		}
	}
}

// Two of three replicas start together, each with all of its pods; the third one, of a leader and workers, when there is room for all of it.
func replicasStartWhole(w *World) {
	w.AddNodes(1, "5", "16Gi")
	of := func(template string) map[string]any {
		return map[string]any{"workloadName": "serve", "templateName": template}
	}
	gang := func(count string, least int64) map[string]any {
		return map[string]any{"gang": map[string]any{count: least}}
	}
	create(w, namespace, pods.CompositePodGroupResource, "CompositePodGroup", "serve", map[string]any{"workloadRef": of("all"), "schedulingPolicy": gang("minGroupCount", 2)})
	group := func(name, parent string, count int) {
		create(w, namespace, podGroups(), "PodGroup", name, map[string]any{
			"workloadRef": of("replica"), "parentCompositePodGroupName": parent, "schedulingPolicy": gang("minCount", int64(count)),
		})
		w.CreatePods(name, count, Pod{CPU: "1", Memory: "1Gi", Group: name})
	}
	group("blue", "serve", 2)
	w.Await(Waiting("blue", 2))
	w.Middle()
	group("green", "serve", 2)
	w.Await(Running("blue", 2))
	w.Await(Running("green", 2))
	create(w, namespace, pods.CompositePodGroupResource, "CompositePodGroup", "red", map[string]any{
		"workloadRef": of("replicas"), "parentCompositePodGroupName": "serve", "schedulingPolicy": gang("minGroupCount", 2),
	})
	group("leader", "red", 1)
	group("workers", "red", 2)
	w.Await(Waiting("leader", 1))
	w.Await(Waiting("workers", 2))
	for name, want := range map[string]string{"blue": "True Scheduled", "leader": "False Unschedulable", "workers": "False Unschedulable"} {
		awaitGroup(w, podGroups(), name, want)
	}
	w.Middle()
	w.AddNodes(1, "2", "16Gi") // beside one CPU that is left
	w.Await(Running("leader", 1))
	w.Await(Running("workers", 2))
	awaitGroup(w, podGroups(), "leader", "True Scheduled")
	awaitGroup(w, podGroups(), "workers", "True Scheduled")
	w.checkBooks()
}

// Two replicas of three pods start together in one zone, each on one node. There is room on a node of each zone at first, so that all wait. One that
// is added to a zone has them start there. Two that are more important take their place: the other zone has one node only.
func replicasRequireDomains(w *World) {
	w.AddNodesInZones(2, 2, "4", "16Gi")
	replicas := func(name, class string) {
		spec := func(count string, least int64, label string) map[string]any {
			says := map[string]any{
				"workloadRef":           map[string]any{"workloadName": "serve", "templateName": "replica"},
				"schedulingPolicy":      map[string]any{"gang": map[string]any{count: least}},
				"schedulingConstraints": map[string]any{"topology": []any{map[string]any{"key": label}}},
			}
			if class != "" {
				says["priorityClassName"] = class
			}
			return says
		}
		create(w, namespace, pods.CompositePodGroupResource, "CompositePodGroup", name, spec("minGroupCount", 2, corev1.LabelTopologyZone))
		for _, part := range []string{name + "-blue", name + "-green"} {
			replica := spec("minCount", 3, corev1.LabelHostname)
			replica["parentCompositePodGroupName"] = name
			create(w, namespace, podGroups(), "PodGroup", part, replica)
			w.CreatePods(part, 3, Pod{CPU: "1", Memory: "1Gi", Group: part, PriorityClass: class})
		}
	}
	replicas("serve", "")
	w.Await(Waiting("serve-blue", 3))
	w.Await(Waiting("serve-green", 3))
	w.Middle()
	w.AddNodesInZones(2, 1, "4", "16Gi")
	w.Await(Running("serve-blue", 3))
	w.Await(Running("serve-green", 3))
	areOnOneOf(w, []string{nodeName(1), nodeName(3)}, "serve-blue", "serve-green")

	w.CreatePriorityClass("urgent", 1000)
	replicas("urgent", "urgent")
	w.Await(Running("urgent-blue", 3))
	w.Await(Running("urgent-green", 3))
	areOnOneOf(w, []string{nodeName(1), nodeName(3)}, "urgent-blue", "urgent-green")
	awaitGroup(w, podGroups(), "urgent-blue", "True Scheduled")
	w.checkBooks()
}

// areOnOneOf checks that the pods of each application run on one node, one of some.
func areOnOneOf(w *World, nodes []string, apps ...string) {
	w.t.Helper()
	for _, app := range apps {
		running := w.Pods(app)
		for _, p := range running {
			if on := p.Spec.NodeName; on != running[0].Spec.NodeName || !slices.Contains(nodes, on) {
				w.t.Fatalf("%s runs on %s and %s, and should on one of %v", app, running[0].Spec.NodeName, on, nodes)
			}
		}
	}
}
