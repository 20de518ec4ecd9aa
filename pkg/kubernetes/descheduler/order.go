package descheduler

import (
	"cmp"

	v1 "k8s.io/api/core/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
)

// less is the order of a profile without a sort plugin: what harms least goes first. That
// is by priority, class of service, age with the youngest first, and name.
func less(a, b *v1.Pod) bool {
	return cmp.Or(
		cmp.Compare(corev1helpers.PodPriority(a), corev1helpers.PodPriority(b)),
		cmp.Compare(service(a), service(b)),
		b.CreationTimestamp.Compare(a.CreationTimestamp.Time),
		cmp.Compare(a.Namespace, b.Namespace),
		cmp.Compare(a.Name, b.Name),
		cmp.Compare(a.UID, b.UID),
	) < 0
}

// service orders the classes of service: best effort, burstable, guaranteed.
func service(pod *v1.Pod) int {
	switch pod.Status.QOSClass {
	case v1.PodQOSGuaranteed:
		return 2
	case v1.PodQOSBurstable:
		return 1
	default:
		return 0
	}
}
