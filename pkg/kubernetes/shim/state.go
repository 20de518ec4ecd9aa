package shim

import (
	"maps"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// A state of a pod is what the API server said of it, with what is worked out of that once. Neither is ever changed.
type state struct {
	pod   *v1.Pod
	takes *si.Resource // what the pod takes on its node
}

func stateOf(pod *v1.Pod) state { return state{pod, pods.Resources(pod)} }

// countsAs reports whether nothing that filters look at differs from another state of the same pod.
func (s state) countsAs(other state) bool {
	a, b := s.pod, other.pod
	return !respecified(a, b) && a.Spec.NodeName == b.Spec.NodeName && (a.DeletionTimestamp == nil) == (b.DeletionTimestamp == nil) &&
		sameResources(s.takes, other.takes)
}

// older reports whether a state of a pod comes before another one. Versions that cannot be
// compared are taken as they come.
func older(pod, known *v1.Pod) bool {
	order, err := resourceversion.CompareResourceVersion(pod.ResourceVersion, known.ResourceVersion)
	return err == nil && order < 0
}

// respecified reports whether something changed that filters look at. The names of claims
// that are made from a template are in the status.
func respecified(a, b *v1.Pod) bool {
	return a != b && (!sameSpec(a, b) || !maps.Equal(a.Labels, b.Labels) ||
		!equality.Semantic.DeepEqual(a.Status.ResourceClaimStatuses, b.Status.ResourceClaimStatuses))
}

// sameSpec reports whether two states of a pod have the same spec. The API server counts its changes, all but that
// the pod gets its node; only pods that were written before Kubernetes 1.33 have no count, and are compared.
func sameSpec(a, b *v1.Pod) bool {
	if a.UID != b.UID || a.Generation == 0 || b.Generation == 0 {
		return equality.Semantic.DeepEqual(a.Spec, b.Spec)
	}
	return a.Generation == b.Generation && a.Spec.NodeName == b.Spec.NodeName
}
