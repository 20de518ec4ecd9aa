package framework

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Workload names what makes a pod anew after it is evicted: its controller.
type Workload struct {
	Namespace, Kind, Name string
}

// String is namespace/Kind/name.
func (w Workload) String() string { return w.Namespace + "/" + w.Kind + "/" + w.Name }

// StandIn is the pod that is expected in place of one that is evicted: equal in all that
// scheduling looks at, and on a node.
func StandIn(pod *v1.Pod, node string) *v1.Pod {
	s := pod.DeepCopy()
	s.UID = StandInUID(pod)
	s.Name += standInSuffix
	s.DeletionTimestamp = nil
	s.Spec.NodeName = node
	s.Status = v1.PodStatus{Phase: v1.PodPending, ResourceClaimStatuses: s.Status.ResourceClaimStatuses}
	return s
}

// StandInUID is the UID of the StandIn of a pod.
func StandInUID(pod *v1.Pod) types.UID { return pod.UID + standInSuffix }

// standInSuffix tells a stand-in from the pod that it replaces.
const standInSuffix = "-replacement"

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
