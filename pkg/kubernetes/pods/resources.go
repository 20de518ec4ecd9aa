package pods

import (
	"math"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/common"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	helpers "k8s.io/component-helpers/resource"
)

// Resources are the amounts that a pod takes on its node, as the kubelet counts them:
// containers, or init containers if one of them needs more, with side-cars beside both;
// amounts of the whole pod where it states them; overhead; and while it is resized in
// place, the most of what is wanted, allocated and in use. Beside the amounts asked for,
// each pod takes one of the kind "pods".
//
// CPU is in thousandths under the name "vcore", every other kind in its unit.
func Resources(pod *v1.Pod) *si.Resource {
	requests := helpers.PodRequests(pod, helpers.PodResourcesOptions{
		UseStatusResources: statusCounts(pod),
		InPlacePodLevelResourcesVerticalScalingEnabled: true,
		UseDRANodeAllocatableResourceClaimStatus:       true,
	})
	amounts := Amounts(requests)
	amounts.Resources[string(v1.ResourcePods)] = &si.Quantity{Value: 1}
	return amounts
}

// statusCounts reports whether a kubelet has said something of what a pod has. Where none has, its spec says all, which takes
// a third of the time to find out.
func statusCounts(pod *v1.Pod) bool {
	s := &pod.Status
	return len(s.ContainerStatuses)+len(s.InitContainerStatuses) > 0 || s.Resources != nil || s.AllocatedResources != nil || helpers.IsPodResizeInfeasible(pod)
}

// Amounts are a list of resources in the names and units of the scheduler-interface.
// Quantities beyond 2^63-1, or below its negative, stay there.
func Amounts(list v1.ResourceList) *si.Resource {
	amounts := &si.Resource{Resources: make(map[string]*si.Quantity, len(list)+1)}
	for name, quantity := range list {
		if name == v1.ResourceCPU {
			amounts.Resources[common.CPU] = &si.Quantity{Value: Milli(quantity)}
		} else {
			amounts.Resources[string(name)] = &si.Quantity{Value: Whole(quantity)}
		}
	}
	return amounts
}

// Milli is a quantity in thousandths, or the bound of 64 bits that it is beyond.
func Milli(quantity resource.Quantity) int64 {
	return within(quantity, math.MaxInt64/1000, quantity.MilliValue)
}

// Whole is a quantity in its unit, or the bound of 64 bits that it is beyond: a sum of quantities may be
// larger than any of them can be.
func Whole(quantity resource.Quantity) int64 {
	return within(quantity, math.MaxInt64, quantity.Value)
}

// within is a value of a quantity if that is at most so far from zero; beyond it, the methods
// of a quantity overflow.
func within(quantity resource.Quantity, largest int64, value func() int64) int64 {
	switch {
	case quantity.CmpInt64(largest) > 0:
		return math.MaxInt64
	case quantity.CmpInt64(-largest) < 0:
		return -math.MaxInt64
	}
	return value()
}
