package nodefit

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

// Elsewhere returns framework.ErrNowhere unless a pod can run on another node than its own, of those
// that a selector takes. The landing of the handle says so, whichever it is: with all that it looks at,
// and what evictions of this cycle take there.
func Elsewhere(handle framework.Handle, pod *v1.Pod, selector labels.Selector) error {
	snapshot, landing := handle.Snapshot(), handle.Landing()
	isOther := func(node *v1.Node) bool {
		return node != nil && node.Name != pod.Spec.NodeName && selector.Matches(labels.Set(node.Labels))
	}
	if name, err := landing.Place(pod); err == nil && isOther(snapshot.Node(name)) {
		return nil
	}
	for _, node := range snapshot.Nodes() {
		if isOther(node) && landing.Fits(pod, node.Name) == nil {
			return nil
		}
	}
	return framework.ErrNowhere
}
