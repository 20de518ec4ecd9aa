package eviction

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

// Elsewhere returns framework.ErrNowhere unless a pod can run on another node than its own, of those
// that a selector takes. The landing of the handle says so, whichever it is: with all that it looks at,
// and what evictions of this cycle take there.
func Elsewhere(handle framework.Handle, pod *v1.Pod, selector labels.Selector) error {
	snapshot := handle.Snapshot()
	_, err := handle.Landing().Place(pod, framework.Choice{Reserved: true, Accept: func(name string) error {
		node := snapshot.Node(name)
		if node == nil || name == pod.Spec.NodeName || !selector.Matches(labels.Set(node.Labels)) {
			return framework.ErrNowhere
		}
		return nil
	}})
	if err != nil {
		return framework.ErrNowhere
	}
	return nil
}
