package preferences

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/resource"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// requestsOf is what a pod requests, as kube-scheduler counts it for scores.
func requestsOf(pod *v1.Pod) amounts {
	of := (&framework.PodInfo{Pod: pod}).CalculateResource()
	return amounts{of.Non0CPU, of.Non0Mem}
}

// requestAlike reports whether two states of a pod surely request the same. Most changes of a pod leave that as it is, and a look
// costs a small part of working it out, and no memory. It leaves out what cannot change.
func requestAlike(a, b *v1.Pod) bool {
	return !requestsOddly(a) && !requestsOddly(b) &&
		slices.EqualFunc(a.Spec.Containers, b.Spec.Containers, containersAlike) &&
		slices.EqualFunc(a.Spec.InitContainers, b.Spec.InitContainers, containersAlike) &&
		slices.EqualFunc(a.Status.ContainerStatuses, b.Status.ContainerStatuses, statusesAlike) &&
		slices.EqualFunc(a.Status.InitContainerStatuses, b.Status.InitContainerStatuses, statusesAlike)
}

// requestsOddly reports whether more than containers decides what a pod requests, which is seldom.
func requestsOddly(pod *v1.Pod) bool {
	return pod.Spec.Resources != nil || len(pod.Status.NodeAllocatableResourceClaimStatuses) > 0 || resource.IsPodResizeInfeasible(pod)
}

func containersAlike(a, b v1.Container) bool {
	return listsAlike(a.Resources.Requests, b.Resources.Requests)
}

func statusesAlike(a, b v1.ContainerStatus) bool {
	if a.Name != b.Name || (a.Resources == nil) != (b.Resources == nil) {
		return false
	}
	return a.Resources == nil || listsAlike(a.Resources.Requests, b.Resources.Requests) && listsAlike(a.AllocatedResources, b.AllocatedResources)
}

// listsAlike reports whether two lists say the same of CPU and memory.
func listsAlike(a, b v1.ResourceList) bool {
	for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
		x, has := a[name]
		if y, alsoHas := b[name]; has != alsoHas || x.Cmp(y) != 0 {
			return false
		}
	}
	return true
}
