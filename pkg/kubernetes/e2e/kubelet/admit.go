package kubelet

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	resources "k8s.io/component-helpers/resource"
)

// The residents are the pods on all nodes, with what they were admitted for. A pod counts
// from its admission until it has ended or is gone. Methods may be called from any goroutine.
type residents struct {
	mu    sync.Mutex
	nodes map[string]map[types.NamespacedName]*resident
}

// A resident is a pod on a node.
type resident struct {
	life
	uid      types.UID
	requests corev1.ResourceList // what it counts for; nothing if it was refused or has ended
}

func newResidents() *residents {
	return &residents{nodes: make(map[string]map[types.NamespacedName]*resident)}
}

// see returns what is known of a pod; when it is seen for the first time, it is admitted
// or refused.
func (r *residents) see(now time.Time, pod *corev1.Pod, room corev1.ResourceList) life {
	r.mu.Lock()
	defer r.mu.Unlock()
	on, key := r.nodes[pod.Spec.NodeName], keyOf(pod)
	if on == nil {
		on = make(map[types.NamespacedName]*resident)
		r.nodes[pod.Spec.NodeName] = on
	}
	known, ok := on[key]
	if !ok || known.uid != pod.UID {
		known = &resident{life: life{bound: now}, uid: pod.UID}
		on[key] = known
		r.admit(known, pod, room)
	}
	if pod.DeletionTimestamp != nil && known.deleted.IsZero() {
		known.deleted = now
	}
	if pod.Status.Phase == corev1.PodRunning && known.started.IsZero() {
		known.started = now
	}
	if ended(pod) {
		known.requests = nil
	}
	known.resizing = pod.Status.Phase == corev1.PodRunning && wantsResize(pod)
	return known.life
}

// vacate has a pod that has ended count no more.
func (r *residents) vacate(pod *corev1.Pod) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.nodes[pod.Spec.NodeName][keyOf(pod)]; known != nil && known.uid == pod.UID {
		known.requests = nil
	}
}

// admit takes a pod that runs already, since a kubelet that starts again keeps its pods.
func (r *residents) admit(known *resident, pod *corev1.Pod, room corev1.ResourceList) {
	if ended(pod) {
		return
	}
	requests := requestsOf(pod)
	if pod.Status.Phase != corev1.PodRunning {
		known.refusal = lacks(requests, r.free(pod, room))
	}
	if known.refusal == "" {
		known.requests = requests
	}
}

// resize counts the new request of a pod if there is room for it, and otherwise returns
// the reason why it has to wait.
func (r *residents) resize(pod *corev1.Pod, room corev1.ResourceList) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.nodes[pod.Spec.NodeName][keyOf(pod)]
	requests := requestsOf(pod)
	switch {
	case known == nil:
		return corev1.PodReasonDeferred
	case lacks(requests, room) != "":
		return corev1.PodReasonInfeasible
	case lacks(requests, r.free(pod, room)) != "":
		return corev1.PodReasonDeferred
	}
	known.requests = requests
	return ""
}

// free is what the others leave of the room on the node of a pod.
func (r *residents) free(pod *corev1.Pod, room corev1.ResourceList) corev1.ResourceList {
	free := room.DeepCopy()
	for key, other := range r.nodes[pod.Spec.NodeName] {
		if key == keyOf(pod) {
			continue
		}
		for name, amount := range other.requests {
			left := free[name]
			left.Sub(amount)
			free[name] = left
		}
	}
	return free
}

// lacks is the reason for which requests do not fit, or nothing. The kinds that are most
// often short come first, so that the reason does not depend on the order of a map.
func lacks(requests, free corev1.ResourceList) string {
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods} {
		if amount := requests[name]; amount.Cmp(free[name]) > 0 {
			return "OutOf" + string(name)
		}
	}
	for name, amount := range requests {
		if amount.Cmp(free[name]) > 0 {
			return "OutOfOther"
		}
	}
	return ""
}

func (r *residents) forget(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, on := range r.nodes {
		delete(on, key)
	}
}

// of lists the pods of a node, in no order.
func (r *residents) of(node string) []types.NamespacedName {
	r.mu.Lock()
	defer r.mu.Unlock()
	var keys []types.NamespacedName
	for key := range r.nodes[node] {
		keys = append(keys, key)
	}
	return keys
}

func requestsOf(pod *corev1.Pod) corev1.ResourceList {
	requests := resources.PodRequests(pod, resources.PodResourcesOptions{})
	requests[corev1.ResourcePods] = one
	return requests
}

func keyOf(pod *corev1.Pod) types.NamespacedName {
	return types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
}
