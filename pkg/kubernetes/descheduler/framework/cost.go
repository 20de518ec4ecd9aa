package framework

import (
	"strconv"

	v1 "k8s.io/api/core/v1"
)

// Annotations of a pod that say what its eviction costs, as a whole number of 32 bits. That of
// this project goes before that of Koordinator.
const (
	AnnotationEvictionCost  = "descheduler.narwhal-scheduler.io/eviction-cost"
	KoordinatorEvictionCost = "scheduling.koordinator.sh/eviction-cost"
)

// EvictionCost is what the eviction of a pod costs: of equal pods the one with less goes first,
// and one with the largest number of 32 bits never. What is not there, or cannot be read, is zero.
func EvictionCost(pod *v1.Pod) int32 {
	text, there := pod.Annotations[AnnotationEvictionCost]
	if !there {
		text = pod.Annotations[KoordinatorEvictionCost]
	}
	cost, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return 0
	}
	return int32(cost)
}
