package e2e

import (
	"fmt"
	"slices"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/e2e/kubelet"
)

// A deployment of ten finds room for six, and for the others when there are more nodes.
// Then it goes away again.
func deploymentRuns(w *World) {
	w.AddNodes(2, "1500m", "16Gi")
	w.CreateDeployment("web", 10, Pod{CPU: "500m", Memory: "1Gi"})
	w.Await(Running("web", 6))
	w.Await(Unschedulable("web", 4))
	w.Middle()
	w.AddNodes(3, "4", "16Gi")
	w.Await(Running("web", 10))
	w.Await(Available("web", 10))

	w.DeleteDeployment("web")
	w.Await(Gone("web"))
}

// A job of six pods completes on a node that has room for three at a time: what has ended
// takes no room, and what has not does.
func jobCompletes(w *World) {
	w.AddNodes(1, "3", "16Gi")
	w.CreateJob("batch", 6, 6, Pod{CPU: "1", Memory: "1Gi"})
	w.Await(Bound("batch", 3))
	w.Middle()
	w.Await(Complete("batch"))
}

// A daemonset runs on each of five nodes, and on a sixth that comes later.
func daemonSetOnEveryNode(w *World) {
	w.AddNodes(5, "4", "16Gi")
	w.CreateDaemonSet("agent", Pod{CPU: "200m", Memory: "256Mi"})
	w.Await(Bound("agent", 2))
	w.Middle()
	w.Await(OnEveryNode("agent", 5))

	w.AddNodes(1, "4", "16Gi")
	w.Await(OnEveryNode("agent", 6))
}

// slowly is for pods that take a while to stop, so that a scheduler can crash meanwhile.
var slowly = map[string]string{kubelet.StopAfter: "4s"}

// A daemonset of a higher priority is rolled out to nodes that are full. One pod of the
// batch has to go on each node, and no second one. They wait until there is room again.
func daemonSetPreempts(w *World) {
	w.CreatePriorityClass("agents", 1000)
	w.AddNodes(3, "2", "16Gi")
	w.CreateDeployment("batch", 6, Pod{CPU: "1", Memory: "1Gi", Annotations: slowly})
	w.Await(Running("batch", 6))
	before := names(w.Pods("batch"))

	w.CreateDaemonSet("agent", Pod{CPU: "500m", Memory: "256Mi", PriorityClass: "agents"})
	w.Await(Evicted("batch", 3))
	w.Middle()
	w.Await(OnEveryNode("agent", 3))
	w.Await(Unschedulable("batch", 3))
	for i := range 3 {
		w.Await(RunningOn(nodeName(i+1), "batch", 1))
	}
	kept := names(slices.DeleteFunc(w.Pods("batch"), func(p *corev1.Pod) bool {
		return !slices.Contains(before, p.Name) || p.DeletionTimestamp != nil
	}))
	assert.Equal(w.t, len(kept), 3, "of %v only %v are left", before, kept)
}

// An important pod needs room on one of two nodes. The pods of one have a budget that
// allows no disruption, so one of the other node goes.
func preemptionRespectsBudgets(w *World) {
	w.CreatePriorityClass("important", 1000)
	w.AddNodes(2, "2", "16Gi")
	w.CreatePods("guarded", 2, Pod{CPU: "1", Memory: "1Gi", Node: nodeName(1), Annotations: slowly})
	w.CreatePods("free", 2, Pod{CPU: "1", Memory: "1Gi", Node: nodeName(2), Annotations: slowly})
	w.CreateBudget("guarded", 2)
	w.Await(Running("guarded", 2))
	w.Await(Running("free", 2))
	w.Await(BudgetAllows("guarded", 0))

	w.CreatePods("driver", 1, Pod{CPU: "1", Memory: "1Gi", PriorityClass: "important"})
	w.Await(Evicted("free", 1))
	w.Await(Nominated("driver", nodeName(2)))
	awaitEvent(w, evictedOf(w, "free"), "reempted") // kube-scheduler begins with it
	w.Middle()
	w.Await(RunningOn(nodeName(2), "driver", 1))
	assert.DeepEqual(w.t, names(w.Pods("guarded")), []string{"guarded-1", "guarded-2"})
	w.Await(RunningOn(nodeName(1), "guarded", 2))
	w.Await(RunningOn(nodeName(2), "free", 1))
}

// evictedOf is the first pod of an application that ends.
func evictedOf(w *World, app string) string {
	pods := w.Pods(app)
	return pods[slices.IndexFunc(pods, func(p *corev1.Pod) bool { return p.DeletionTimestamp != nil })].Name
}

// An important pod needs a whole node, and there are two budgets. On the first node it would
// violate one twice, on the second once: that one goes, although a pod there has the higher
// priority. What the budgets of both nodes allow is counted together for each node.
func preemptionViolatesFewest(w *World) {
	w.CreatePriorityClass("important", 1000)
	w.CreatePriorityClass("middle", 10)
	w.AddNodes(2, "2", "16Gi")
	on := func(node int, label string) Pod {
		return Pod{CPU: "1", Memory: "1Gi", Node: nodeName(node), Annotations: slowly, Labels: map[string]string{"budget": label}}
	}
	w.CreatePods("left", 2, on(1, "strict"))
	w.CreatePods("right", 1, on(2, "strict"))
	spare := on(2, "loose")
	spare.PriorityClass = "middle"
	w.CreatePods("spare", 1, spare)
	createBudgetFor(w, "strict", 3)
	createBudgetFor(w, "loose", 0)
	for app, count := range map[string]int{"left": 2, "right": 1, "spare": 1} {
		w.Await(Running(app, count))
	}
	w.Await(BudgetAllows("strict", 0))
	w.Await(BudgetAllows("loose", 1))

	w.CreatePods("driver", 1, Pod{CPU: "2", Memory: "1Gi", PriorityClass: "important"})
	w.Await(Evicted("right", 1))
	w.Await(Evicted("spare", 1))
	w.Middle()
	w.Await(RunningOn(nodeName(2), "driver", 1))
	w.Await(RunningOn(nodeName(1), "left", 2))
}

// createBudgetFor creates a budget for pods with a label, whatever application they are of.
func createBudgetFor(w *World, label string, minAvailable int32) {
	w.t.Helper()
	b := budget(label, minAvailable)
	b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"budget": label}}
	_, err := w.client.PolicyV1().PodDisruptionBudgets(namespace).Create(w.ctx, b, metav1.CreateOptions{})
	w.check(err)
}

func names(pods []*corev1.Pod) []string {
	var all []string
	for _, p := range pods {
		all = append(all, p.Name)
	}
	return all
}

// A cluster is full, and one pod waits until another is deleted: neither before it is gone
// nor never.
func fullClusterGetsRoom(w *World) {
	w.AddNodes(2, "1", "16Gi")
	w.CreatePods("first", 2, Pod{CPU: "1", Memory: "1Gi", Annotations: slowly})
	w.Await(Running("first", 2))
	w.CreatePods("second", 1, Pod{CPU: "1", Memory: "1Gi"})
	w.Await(Unschedulable("second", 1))
	w.Middle()
	w.DeletePod("first-1") // and as long as it stops, the kubelet has no room
	w.Await(Running("second", 1))
	w.Await(Running("first", 1))
}

// Pods pile up while the scheduler hangs. When it goes on, all of them are placed: none is
// given up because too much is under way at once.
func backlogAfterAPause(w *World) {
	w.AddNodes(5, "8", "64Gi")
	w.PauseScheduler()
	w.CreateDeployment("web", 300, Pod{CPU: "100m", Memory: "128Mi"})
	w.Await(Waiting("web", 300))
	w.ContinueScheduler()
	w.Await(Bound("web", 20))
	w.Middle()
	w.Await(Running("web", 300))
}

// A pod that names no scheduler is placed by kube-scheduler, and is in the books as a foreign
// one. One that names YuniKorn is ours.
func foreignPodIsBooked(w *World) {
	neighbour := KubeScheduler(kubeSchedulerName)
	w.StartNeighbour(neighbour)
	w.AddNodes(2, "4", "16Gi")
	w.CreatePods("ours", 2, Pod{CPU: "1", Memory: "1Gi"})
	w.CreatePods("moved", 1, Pod{CPU: "500m", Memory: "1Gi", Scheduler: yunikornName})
	w.CreatePods("theirs", 1, Pod{CPU: "500m", Memory: "2Gi", NoScheduler: true})
	w.Await(Running("theirs", 1))
	w.Middle()
	w.Await(Running("ours", 2))
	w.Await(Running("moved", 1))
	w.checkBooks()

	theirs := w.Pods("theirs")[0]
	assert.Equal(w.t, w.bookedAs(theirs), "foreign on "+theirs.Spec.NodeName)
	for _, pod := range append(w.Pods("ours"), w.Pods("moved")...) {
		assert.Equal(w.t, w.bookedAs(pod), "ours on "+pod.Spec.NodeName)
	}
	w.DeletePod("theirs-1")
	w.Await(Gone("theirs"))
	w.checkBooks()
	assert.Equal(w.t, w.bookedAs(theirs), "not booked")
}

// Pods are resized while they run, ours as well as a foreign one: the room that is left is
// what the new amounts leave.
func podsAreResizedInPlace(w *World) {
	w.StartNeighbour(KubeScheduler(kubeSchedulerName))
	w.AddNodes(1, "4", "16Gi")
	w.CreatePods("ours", 1, Pod{CPU: "1", Memory: "1Gi"})
	w.CreatePods("theirs", 1, Pod{CPU: "1", Memory: "1Gi", NoScheduler: true})
	w.Await(Running("ours", 1))
	w.Await(Running("theirs", 1))
	resized := func(app, cpu string) Condition {
		return countIs(app, 1, "have "+cpu+" CPUs", func(p *corev1.Pod) bool { return cpus(p) == cpu && deferral(p) == "" })
	}
	w.ResizePod("ours-1", "2", "2Gi")
	w.ResizePod("theirs-1", "1500m", "1Gi")
	w.Await(resized("ours", "2"))
	w.Await(resized("theirs", "1500m"))
	w.Middle()
	w.checkBooks()
	w.CreatePods("late", 1, Pod{CPU: "1", Memory: "1Gi"}) // there would be room for it beside the old amounts
	w.Await(Unschedulable("late", 1))
	w.ResizePod("theirs-1", "1", "1Gi")
	w.Await(Running("late", 1))
}

// A pod that runs is to grow, and its node has no room for that. A less important one ends for it, an equal one does not, and
// the kubelet resizes it.
func resizeMakesRoom(w *World) {
	w.AddNodes(1, "4", "16Gi")
	w.CreatePriorityClass("important", 100)
	w.CreatePods("grows", 1, Pod{CPU: "1", Memory: "1Gi", PriorityClass: "important"})
	w.CreatePods("equal", 1, Pod{CPU: "1", Memory: "1Gi", PriorityClass: "important"})
	w.CreatePods("low", 1, Pod{CPU: "2", Memory: "1Gi"})
	for _, app := range []string{"grows", "equal", "low"} {
		w.Await(Running(app, 1))
	}
	w.ResizePod("grows-1", "3", "2Gi")
	w.Await(countIs("grows", 1, "wait to grow", func(p *corev1.Pod) bool { return deferral(p) == corev1.PodReasonDeferred }))
	w.Middle()
	w.Await(Gone("low"))
	w.Await(countIs("grows", 1, "have 3 CPUs", func(p *corev1.Pod) bool { return cpus(p) == "3" && deferral(p) == "" }))
	w.Await(Running("equal", 1))
}

// bookedAs says under which list of the web service a pod is.
func (w *World) bookedAs(pod *corev1.Pod) string {
	nodes, err := w.Books(w.ctx)
	w.check(err)
	for _, node := range nodes {
		for _, a := range node.Allocations {
			if a.Key == string(pod.UID) {
				return "ours on " + node.NodeID
			}
		}
		for _, a := range node.ForeignAllocations {
			if a.Key == string(pod.UID) {
				return "foreign on " + node.NodeID
			}
		}
	}
	return "not booked"
}

// Two schedulers share the nodes, each for pods of its own. Both may choose the same room
// at the same moment; the kubelet then refuses one, and its deployment replaces it.
func twoSchedulers(w *World) {
	neighbour := KubeScheduler("neighbour")
	w.StartNeighbour(neighbour)
	w.AddNodes(4, "4", "16Gi")
	for i := range 2 {
		w.CreateDeployment(fmt.Sprintf("ours-%d", i), 3, Pod{CPU: "1", Memory: "1Gi"})
		w.CreateDeployment(fmt.Sprintf("theirs-%d", i), 3, Pod{CPU: "1", Memory: "1Gi", Scheduler: neighbour.Name()})
	}
	w.Await(Bound("ours-0", 1))
	w.Middle()
	for i := range 2 {
		w.Await(Running(fmt.Sprintf("ours-%d", i), 3))
		w.Await(Running(fmt.Sprintf("theirs-%d", i), 3))
	}
}
