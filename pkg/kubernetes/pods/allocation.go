package pods

import (
	"strconv"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	v1 "k8s.io/api/core/v1"
	scheduling "k8s.io/api/scheduling/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
)

// Ask is a pod that waits, in an application, for amounts that are mostly its Resources; they are not copied. The class of
// its priority may be nil; an annotation of it can say that its pods are not to be preempted.
func Ask(pod *v1.Pod, amounts *si.Resource, applicationID string, class *scheduling.PriorityClass) *si.Allocation {
	return &si.Allocation{
		AllocationKey:    Key(pod),
		ApplicationID:    applicationID,
		AllocationTags:   CreateTagsForTask(pod, false),
		ResourcePerAlloc: amounts,
		Priority:         corev1helpers.PodPriority(pod),
		TaskGroupName:    GroupName(pod),
		Placeholder:      IsPlaceholder(pod),
		PreemptionPolicy: preemptionPolicy(pod, class),
	}
}

// CreateAllocationForForeignPod is a pod that another scheduler gave its node, with its Resources, which are not copied.
func CreateAllocationForForeignPod(pod *v1.Pod, amounts *si.Resource) *si.Allocation {
	return &si.Allocation{
		AllocationKey:    Key(pod),
		NodeID:           pod.Spec.NodeName,
		AllocationTags:   CreateTagsForTask(pod, true),
		ResourcePerAlloc: amounts,
		Priority:         corev1helpers.PodPriority(pod),
	}
}

// preemptionPolicy is nil where everything is allowed, which is what nothing stated means.
func preemptionPolicy(pod *v1.Pod, class *scheduling.PriorityClass) *si.PreemptionPolicy {
	policy := &si.PreemptionPolicy{AllowPreemptSelf: true, AllowPreemptOther: true}
	if never := pod.Spec.PreemptionPolicy; never != nil && *never == v1.PreemptNever {
		policy.AllowPreemptOther = false
	}
	if IsReservation(pod) && pod.Annotations[AnnotationReservationPreempts] != "true" {
		policy.AllowPreemptOther = false
	}
	if class != nil {
		if allowed, err := strconv.ParseBool(class.Annotations[tagOptOut]); err == nil {
			policy.AllowPreemptSelf = allowed
		}
	}
	if policy.AllowPreemptSelf && policy.AllowPreemptOther {
		return nil
	}
	return policy
}
