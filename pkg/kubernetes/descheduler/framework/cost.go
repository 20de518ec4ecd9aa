package framework

import (
	"errors"
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
// and one with the largest number of 32 bits never. What is not there, or cannot be read, is zero,
// and what is beyond 32 bits is the bound of these.
func EvictionCost(pod *v1.Pod) int32 {
	if _, there := pod.Annotations[AnnotationEvictionCost]; there {
		return costOf(pod, AnnotationEvictionCost)
	}
	return costOf(pod, KoordinatorEvictionCost)
}

// DeletionCost is the cost that ReplicaSets look at when they have too many pods, read as EvictionCost.
func DeletionCost(pod *v1.Pod) int32 { return costOf(pod, v1.PodDeletionCost) }

func costOf(pod *v1.Pod, annotation string) int32 {
	cost, err := strconv.ParseInt(pod.Annotations[annotation], 10, 32)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0
	}
	return int32(cost)
}
