package shimtest

import (
	"fmt"
	"strings"

	apps "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// SchedulerName is the name of the scheduler in tests.
const SchedulerName = "narwhal"

// Quantities reads amounts as people write them: "cpu=500m memory=1Gi". It panics on a text
// that cannot be read.
func Quantities(text string) v1.ResourceList {
	list := v1.ResourceList{}
	for field := range strings.FieldsSeq(text) {
		name, quantity, ok := strings.Cut(field, "=")
		if !ok {
			panic(fmt.Sprintf("shimtest: %q is not name=quantity", field))
		}
		list[v1.ResourceName(name)] = resource.MustParse(quantity)
	}
	return list
}

// NewNode is a node that is ready. It takes 110 pods unless the amounts say otherwise.
func NewNode(name, amounts string) *v1.Node {
	list := Quantities(amounts)
	if _, ok := list[v1.ResourcePods]; !ok {
		list[v1.ResourcePods] = resource.MustParse("110")
	}
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{v1.LabelHostname: name}},
		Status: v1.NodeStatus{
			Capacity: list, Allocatable: list,
			Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}},
		},
	}
}

// NewDaemonSet is a daemonset. Its UID is "uid-", its name and its namespace.
func NewDaemonSet(namespace, name string) *apps.DaemonSet {
	return &apps.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("uid-" + name + "-" + namespace)}}
}

// A PodOption changes a pod before it is made.
type PodOption func(*v1.Pod)

// NewPod is a pod of the namespace default with one container. It is ours, of the
// application "app", unless an option says otherwise. Its UID is "uid-" and its name.
func NewPod(name, amounts string, options ...PodOption) *v1.Pod {
	grace := int64(30)
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: metav1.NamespaceDefault, Name: name, UID: types.UID("uid-" + name),
			Labels: map[string]string{"applicationId": "app", "queue": "root.default"},
		},
		Spec: v1.PodSpec{
			SchedulerName:                 SchedulerName,
			TerminationGracePeriodSeconds: &grace,
			Containers: []v1.Container{{
				Name: "main", Image: "none", Resources: v1.ResourceRequirements{Requests: Quantities(amounts)},
			}},
		},
		Status: v1.PodStatus{Phase: v1.PodPending},
	}
	for _, option := range options {
		option(pod)
	}
	return pod
}

// Foreign makes it a pod of the default scheduler.
func Foreign(pod *v1.Pod) { pod.Spec.SchedulerName = v1.DefaultSchedulerName }

// NoScheduler makes it a pod that names no scheduler, as one that never saw an API server.
func NoScheduler(pod *v1.Pod) { pod.Spec.SchedulerName = "" }

// Static makes it a foreign pod that the kubelet runs from a file.
func Static(pod *v1.Pod) {
	Foreign(pod)
	pod.OwnerReferences = append(pod.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "Node", Name: pod.Spec.NodeName})
}

// On makes it run on a node already.
func On(node string) PodOption {
	return func(pod *v1.Pod) {
		pod.Spec.NodeName = node
		pod.Status.Phase = v1.PodRunning
	}
}

// Application sets its application.
func Application(id string) PodOption {
	return func(pod *v1.Pod) { pod.Labels["applicationId"] = id }
}

// Queue sets its queue.
func Queue(path string) PodOption {
	return func(pod *v1.Pod) { pod.Labels["queue"] = path }
}

// Priority sets its priority.
func Priority(priority int32) PodOption {
	return func(pod *v1.Pod) { pod.Spec.Priority = &priority }
}

// Selects sets its node selector to the host name of a node.
func Selects(node string) PodOption {
	return func(pod *v1.Pod) { pod.Spec.NodeSelector = map[string]string{v1.LabelHostname: node} }
}

// Labelled adds a label.
func Labelled(name, value string) PodOption {
	return func(pod *v1.Pod) { pod.Labels[name] = value }
}

// Gated keeps it from being scheduled.
func Gated(pod *v1.Pod) {
	pod.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "test"}}
}
