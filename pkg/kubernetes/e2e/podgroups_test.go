package e2e

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/e2e/kubelet"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/e2e/programs"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// Pods that name a pod group wait until it is there. Those of a gang start together: not before
// there is room for all of them, and of two gangs one. A group that is no gang starts one by one.
func podGroupsStartWhole(w *World) {
	w.AddNodes(1, "3", "16Gi")
	w.CreatePods("other", 1, Pod{CPU: "1", Memory: "1Gi"})
	w.CreatePods("train", 3, Pod{CPU: "1", Memory: "1Gi", Group: "train"})
	w.Await(Running("other", 1))
	w.Await(Waiting("train", 3))
	createPodGroup(w, namespace, "train", 3)
	w.Await(Unschedulable("train", 3)) // there is room for two
	w.CreatePods("eval", 3, Pod{CPU: "1", Memory: "1Gi", Group: "eval"})
	createPodGroup(w, namespace, "eval", 3)
	w.Await(Unschedulable("eval", 3))
	w.Middle()

	w.AddNodes(1, "1", "16Gi")
	w.Await(Running("train", 3))
	w.Await(Waiting("eval", 3))
	w.checkBooks()
	w.DeletePod(w.Pods("other")[0].Name)
	w.AddNodes(1, "1", "16Gi")
	w.CreatePods("single", 2, Pod{CPU: "1", Memory: "1Gi", Group: "single"})
	createPodGroup(w, namespace, "single", 0)
	w.Await(Running("single", 2))
	w.Await(Waiting("eval", 3))
	w.AddNodes(1, "3", "16Gi")
	w.Await(Running("eval", 3))
	w.checkBooks()
}

// groupsIn is a client for the pod groups of a version.
func groupsIn(w *World, resource schema.GroupVersionResource, namespace string) dynamic.ResourceInterface {
	w.t.Helper()
	client, err := dynamic.NewForConfig(w.cluster.Config())
	w.check(err)
	return client.Resource(resource).Namespace(namespace)
}

// createPodGroup makes a gang of at least so many pods or, for zero, a group of pods that are scheduled one by one.
func createPodGroup(w *World, namespace, name string, minCount int64) {
	w.t.Helper()
	createPodGroupIn(w, podGroups(), namespace, name, minCount)
}

func createPodGroupIn(w *World, resource schema.GroupVersionResource, namespace, name string, minCount int64) {
	w.t.Helper()
	policy := map[string]any{"basic": map[string]any{}}
	if minCount > 0 {
		policy = map[string]any{"gang": map[string]any{"minCount": minCount}}
	}
	create(w, namespace, resource, "PodGroup", name, map[string]any{"schedulingPolicy": policy})
}

// createUrgentGang makes a gang of the priority class urgent, of which all pods run in one value of a label, or anywhere.
func createUrgentGang(w *World, resource schema.GroupVersionResource, name string, minCount int64, label string) {
	w.t.Helper()
	spec := map[string]any{"priorityClassName": "urgent", "schedulingPolicy": map[string]any{"gang": map[string]any{"minCount": minCount}}}
	if label != "" {
		spec["schedulingConstraints"] = map[string]any{"topology": []any{map[string]any{"key": label}}}
	}
	create(w, namespace, resource, "PodGroup", name, spec)
}

// createUnit makes a group whose pods start one by one and end together.
func createUnit(w *World, name string) {
	w.t.Helper()
	var mode any = "PodGroup"
	if programs.Release() > "1.36" {
		mode = map[string]any{"all": map[string]any{}}
	}
	policy := map[string]any{"gang": map[string]any{"minCount": int64(1)}}
	create(w, namespace, podGroups(), "PodGroup", name, map[string]any{"disruptionMode": mode, "schedulingPolicy": policy})
}

// deletePodGroup deletes a group by force: the API server keeps one as long as pods name it that have not ended.
func deletePodGroup(w *World, resource schema.GroupVersionResource, name string) {
	w.t.Helper()
	groups := groupsIn(w, resource, namespace)
	w.check(groups.Delete(w.ctx, name, metav1.DeleteOptions{}))
	_, err := groups.Patch(w.ctx, name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	w.check(err)
}

// create makes an object of a resource for which the client has no type.
func create(w *World, namespace string, resource schema.GroupVersionResource, kind, name string, spec map[string]any) {
	w.t.Helper()
	_, err := groupsIn(w, resource, namespace).Create(w.ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": resource.GroupVersion().String(), "kind": kind, "metadata": map[string]any{"name": name}, "spec": spec,
	}}, metav1.CreateOptions{})
	w.check(err)
}

// awaitGroup waits until the condition of a group says whether it has started, for a reason.
func awaitGroup(w *World, resource schema.GroupVersionResource, name, want string) {
	w.t.Helper()
	w.Step("until group %s says %s", name, want)
	w.eventually(func() bool {
		object, err := groupsIn(w, resource, namespace).Get(w.ctx, name, metav1.GetOptions{})
		w.check(err)
		conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
		for _, item := range conditions {
			c, _ := item.(map[string]any)
			if c["type"] == pods.PodGroupCondition(resource.Version) {
				return fmt.Sprint(c["status"], " ", c["reason"]) == want
			}
		}
		return false
	})
}

// setMinCount has an urgent gang want another number of pods. The API server of 1.36 refuses that, and the group is made again.
func setMinCount(w *World, name string, count int64) {
	w.t.Helper()
	patch := fmt.Sprintf(`{"spec":{"schedulingPolicy":{"gang":{"minCount":%d}}}}`, count)
	_, err := groupsIn(w, podGroups(), namespace).Patch(w.ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if programs.Release() > "1.36" {
		w.check(err)
		return
	}
	assert.Assert(w.t, apierrors.IsInvalid(err), "%v", err)
	deletePodGroup(w, podGroups(), name)
	createUrgentGang(w, podGroups(), name, count, "")
}

// createMember makes the pod of a number of an application that is also its group.
func createMember(w *World, app string, number int, p Pod, change func(*corev1.Pod)) {
	w.t.Helper()
	p.CPU, p.Memory, p.Group = "500m", "1Gi", app
	made := pod(app, number, p.template(app, w.scheduler.Name()))
	change(made)
	_, err := w.client.CoreV1().Pods(namespace).Create(w.ctx, made, metav1.CreateOptions{})
	w.check(err)
}

// Of a group with more pods than must start together as many start as fit, and nothing is evicted for the others, although all else is less
// important. Its condition says so and stays, also when its minimum rises above what runs. Pods with a gate neither count nor hold others back. A pod of an index that is done counts while it
// exists, also after a crash of the scheduler.
func podGroupsLiveOn(w *World) {
	w.AddNodes(2, "4", "16Gi")
	w.CreatePods("low", 4, Pod{CPU: "1", Memory: "1Gi", Node: nodeName(2)})
	w.Await(Running("low", 4))
	w.CreatePriorityClass("urgent", 1000)
	createUrgentGang(w, podGroups(), "elastic", 4, "")
	w.CreatePods("elastic", 10, Pod{CPU: "1", Memory: "1Gi", Group: "elastic", PriorityClass: "urgent"})
	w.Await(Running("elastic", 4))
	awaitGroup(w, podGroups(), "elastic", "True Scheduled")
	w.Await(Waiting("elastic", 6))
	w.Middle()
	setMinCount(w, "elastic", 9)
	awaitEvent(w, "elastic", "is below its minimum: 4 of 9 members run")
	if programs.Release() > "1.36" {
		awaitGroup(w, podGroups(), "elastic", "True Scheduled")
		setMinCount(w, "elastic", 4)
		awaitEvent(w, "elastic", "runs: 4 of 4 members run")
	} else { // it is another group, which has not started
		awaitGroup(w, podGroups(), "elastic", "False Unschedulable")
		setMinCount(w, "elastic", 4)
	}
	w.Await(Running("elastic", 4))
	w.Await(Running("low", 4))
	awaitGroup(w, podGroups(), "elastic", "True Scheduled")
	for _, p := range w.Pods("elastic") {
		w.DeletePod(p.Name)
	}
	w.Await(Gone("elastic"))

	podsLoseTheirGates(w)
	indexIsDone(w)
	w.checkBooks()
}

// A gang needs room for three in one zone. The pods of one zone are as important as it is, so those of the other one end, all four, since they are
// of a group that ends as a whole. While they end the scheduler crashes, a node loses its zone, and the group is deleted: none of its pods starts
// then, in neither zone and however much is free. A group that is made in its place waits for the zone, and its pods start there.
func podGroupsMakeRoom(w *World) {
	w.CreatePriorityClass("urgent", 1000)
	w.AddNodesInZones(2, 4, "2", "16Gi")
	createUnit(w, "unit")
	fill := func(app string, node int, p Pod, stop string) {
		p.CPU, p.Memory, p.Node, p.Annotations = "1", "1Gi", nodeName(node), map[string]string{kubelet.StopAfter: stop}
		w.CreatePods(app, 2, p)
		w.Await(Running(app, 2))
	}
	fill("low", 1, Pod{Group: "unit"}, "3s")
	fill("slow", 3, Pod{Group: "unit"}, "15s")
	fill("equal", 2, Pod{PriorityClass: "urgent"}, "1s")
	fill("even", 4, Pod{PriorityClass: "urgent"}, "1s")
	createUrgentGang(w, podGroups(), "large", 3, corev1.LabelTopologyZone)
	w.CreatePods("large", 3, Pod{CPU: "1", Memory: "1Gi", Group: "large", PriorityClass: "urgent"})
	w.Await(Evicted("low", 2))
	w.Await(Evicted("slow", 2))
	w.Middle()
	w.Await(Gone("low"))
	w.Await(Waiting("large", 3))
	setZone(w, 3, "null")
	deletePodGroup(w, podGroups(), "large")
	awaitEvent(w, "large-1", "its pod group large does not exist")
	w.Await(Gone("slow"))
	w.checkBooks()
	createUrgentGang(w, podGroups(), "large", 3, corev1.LabelTopologyZone)
	awaitGroup(w, podGroups(), "large", "False Unschedulable")
	w.Await(Waiting("large", 3))
	setZone(w, 3, `"zone-1"`)
	w.Await(Running("large", 3))
	for _, app := range []string{"equal", "even"} {
		w.Await(Running(app, 2))
	}
	w.checkBooks()
}

// setZone has a node be in a zone, as JSON says it.
func setZone(w *World, node int, zone string) {
	w.t.Helper()
	patch := fmt.Sprintf(`{"metadata":{"labels":{%q:%s}}}`, corev1.LabelTopologyZone, zone)
	_, err := w.client.CoreV1().Nodes().Patch(w.ctx, nodeName(node), types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	w.check(err)
}

// podsLoseTheirGates has a gang of four lose its gates in two bursts.
func podsLoseTheirGates(w *World) {
	createPodGroup(w, namespace, "gated", 4)
	for i := range 5 {
		createMember(w, "gated", i+1, Pod{}, func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/later"}} })
	}
	ungate := func(numbers ...int) {
		for _, n := range numbers {
			_, err := w.client.CoreV1().Pods(namespace).Patch(w.ctx, fmt.Sprintf("gated-%d", n), types.JSONPatchType,
				[]byte(`[{"op":"remove","path":"/spec/schedulingGates"}]`), metav1.PatchOptions{})
			w.check(err)
		}
	}
	ungate(1, 2)
	awaitGroup(w, podGroups(), "gated", "False Unschedulable")
	w.Await(Waiting("gated", 5))
	ungate(3, 4)
	w.Await(Running("gated", 4))
	awaitGroup(w, podGroups(), "gated", "True Scheduled")
}

// indexIsDone has a gang of three of which one index succeeds, another one fails and is made again, twice.
func indexIsDone(w *World) {
	createPodGroup(w, namespace, "job", 3)
	indexed := func(index string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Annotations[batchv1.JobCompletionIndexAnnotation] = index
			p.Spec.RestartPolicy = corev1.RestartPolicyNever
		}
	}
	ends := func(code string) Pod {
		return Pod{Annotations: map[string]string{kubelet.RunFor: "1s", kubelet.ExitCode: code}}
	}
	createMember(w, "job", 1, ends("0"), indexed("0"))
	createMember(w, "job", 2, ends("1"), indexed("1"))
	createMember(w, "job", 3, Pod{Annotations: map[string]string{}}, indexed("2"))
	w.Await(countIs("job", 1, "have succeeded", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodSucceeded }))
	w.Await(countIs("job", 1, "have failed", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed }))
	createMember(w, "job", 4, ends("1"), indexed("1"))
	w.Await(countIs("job", 2, "have failed", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed }))
	w.RestartScheduler()
	createMember(w, "job", 5, Pod{Annotations: map[string]string{}}, indexed("1"))
	w.Await(Running("job", 2))
}

// The API server goes from 1.36 to 1.37 while groups run and wait, and while room is made for one. The groups of the former version are gone: what
// runs goes on, what replaces it waits for its group and says so, and starts when that is there in the new version. No pod starts without, and
// nothing more ends, also if the scheduler crashes then.
func TestUpgradeOfPodGroups(t *testing.T) {
	if programs.Release() != "1.37" || isShort() || testing.Short() {
		t.Skip("on 1.37 only")
	}
	former, err := programs.Here(".", formerRelease)
	assert.NilError(t, err)
	if missing := former.Missing(); len(missing) > 0 {
		t.Skipf("of the former control plane, %v are not built", missing)
	}
	for name, crashes := range map[string]bool{"runs on": false, "crashes": true} {
		t.Run(name, func(t *testing.T) {
			upgradePodGroups(NewWorld(t, Narwhal(), Options{PodGroups: true, Former: true, Restarts: crashes}))
		})
	}
}

func upgradePodGroups(w *World) {
	newer, older := podGroupsOf("1.37"), podGroupsOf("1.36")
	w.AddNodes(1, "6", "16Gi")
	w.CreatePriorityClass("urgent", 1000)
	w.CreatePods("low", 2, Pod{CPU: "1", Memory: "1Gi", Annotations: map[string]string{kubelet.StopAfter: "20s"}})
	w.Await(Running("low", 2))
	createPodGroupIn(w, older, namespace, "runs", 2)
	createPodGroupIn(w, older, namespace, "waits", 2)
	createUrgentGang(w, older, "large", 3, "")
	w.CreatePods("runs", 2, Pod{CPU: "1", Memory: "1Gi", Group: "runs"})
	w.CreatePods("waits", 1, Pod{CPU: "1", Memory: "1Gi", Group: "waits"})
	w.Await(Running("runs", 2))
	awaitGroup(w, older, "runs", "True Scheduled")
	awaitGroup(w, older, "waits", "False Unschedulable")
	w.CreatePods("large", 3, Pod{CPU: "1", Memory: "1Gi", Group: "large", PriorityClass: "urgent"})
	w.Await(Evicted("low", 1))
	for _, name := range []string{"runs", "waits", "large"} {
		deletePodGroup(w, older, name)
	}

	w.UpgradeAPIServer()
	w.Middle()
	w.Await(countIs("low", 1, "are left", func(*corev1.Pod) bool { return true }))
	w.Await(Waiting("large", 3))
	w.DeletePod(w.Pods("runs")[0].Name)
	w.Await(Running("runs", 1))
	createMember(w, "runs", 3, Pod{}, func(*corev1.Pod) {})
	awaitEvent(w, "runs-3", "pod group runs")
	assert.Equal(w.t, len(w.Pods("waits")[0].Spec.NodeName), 0)
	createPodGroupIn(w, newer, namespace, "runs", 2)
	w.Await(Running("runs", 2))
	awaitGroup(w, newer, "runs", "True Scheduled")
	createUrgentGang(w, newer, "large", 3, "")
	w.Await(Running("large", 3))
	w.Await(Running("low", 1))
	w.AddNodes(1, "2", "16Gi")
	createPodGroupIn(w, newer, namespace, "waits", 2)
	createMember(w, "waits", 2, Pod{}, func(*corev1.Pod) {})
	w.Await(Running("waits", 2))
	awaitGroup(w, newer, "waits", "True Scheduled")
	w.checkBooks()
	w.CheckLaws()
}
