package pods

import (
	"math"
	"strconv"
	"strings"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	v1 "k8s.io/api/core/v1"
	scheduling "k8s.io/api/scheduling/v1"
	helpers "k8s.io/component-helpers/resource"
)

// IsDeferred reports whether a running pod is to be resized in place, and its node has no room for that now. The kubelet
// tries again by itself.
func IsDeferred(pod *v1.Pod) bool {
	return IsBound(pod) && pod.Status.Phase == v1.PodRunning && helpers.IsPodResizeDeferred(pod)
}

// Allocated are the amounts that a pod has on its node, whatever it asks for now.
func Allocated(pod *v1.Pod) *si.Resource {
	has := *pod
	// What a pod asks for does not count where the node can never give it.
	has.Status.Conditions = []v1.PodCondition{{Type: v1.PodResizePending, Reason: v1.PodReasonInfeasible}}
	return Resources(&has)
}

// ofGrowth is in the key of an ask for the growth of a pod, between the key of the pod and the number of the ask.
const ofGrowth = "-growth-"

// GrowingPod is the key of the pod for the growth of which there is an ask of a key; empty for all other keys.
func GrowingPod(key string) string {
	pod, _, ok := strings.Cut(key, ofGrowth)
	if !ok {
		return ""
	}
	return pod
}

// Growth is the ask for amounts by which a pod that runs is to grow, on its node. It comes just after the pod in
// importance: so it may take from what is less important than the pod, and from neither its equals nor itself.
// The number tells asks of one pod apart.
func Growth(pod *v1.Pod, applicationID string, class *scheduling.PriorityClass, amounts *si.Resource, number int) *si.Allocation {
	ask := Ask(pod, amounts, applicationID, class)
	ask.AllocationKey += ofGrowth + strconv.Itoa(number)
	ask.TaskGroupName, ask.Placeholder = "", false
	ask.AllocationTags[TagRequired] = pod.Spec.NodeName
	delete(ask.AllocationTags, TagTerminating)
	if ask.Priority == math.MinInt32 {
		ask.PreemptionPolicy = &si.PreemptionPolicy{AllowPreemptSelf: true} // nothing is less important
		return ask
	}
	ask.Priority--
	return ask
}
