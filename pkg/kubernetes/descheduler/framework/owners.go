package framework

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Workload names what makes a pod anew after it is evicted: its controller.
type Workload struct {
	Namespace, Kind, Name string
}

// String is namespace/Kind/name.
func (w Workload) String() string { return w.Namespace + "/" + w.Kind + "/" + w.Name }

// WorkloadOf returns the controller of a pod; false where it has none. A pod with
// owners of which none is marked as the controller belongs to the first.
func WorkloadOf(pod *v1.Pod) (Workload, bool) {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil && len(pod.OwnerReferences) > 0 {
		owner = &pod.OwnerReferences[0]
	}
	if owner == nil {
		return Workload{}, false
	}
	return Workload{Namespace: pod.Namespace, Kind: owner.Kind, Name: owner.Name}, true
}
