package lifetime

import (
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/eviction"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/order"
)

// containers are the statuses of the containers of a pod that a plugin looks at.
func containers(pod *v1.Pod, init, ephemeral bool) []v1.ContainerStatus {
	all := slices.Clone(pod.Status.ContainerStatuses)
	if init {
		all = append(all, pod.Status.InitContainerStatuses...)
	}
	if ephemeral {
		all = append(all, pod.Status.EphemeralContainerStatuses...)
	}
	return all
}

// reasons are why the pod, and its containers, are in their state.
func reasons(pod *v1.Pod, statuses []v1.ContainerStatus) sets.Set[string] {
	found := sets.New[string]()
	if pod.Status.Reason != "" {
		found.Insert(pod.Status.Reason)
	}
	for _, c := range statuses {
		if c.State.Waiting != nil && c.State.Waiting.Reason != "" {
			found.Insert(c.State.Waiting.Reason)
		}
		if c.State.Terminated != nil && c.State.Terminated.Reason != "" {
			found.Insert(c.State.Terminated.Reason)
		}
	}
	return found
}

// exited says whether a container ended with one of the codes.
func exited(statuses []v1.ContainerStatus, codes []int32) bool {
	return slices.ContainsFunc(statuses, func(c v1.ContainerStatus) bool {
		return c.State.Terminated != nil && slices.Contains(codes, c.State.Terminated.ExitCode)
	})
}

// oldestFirst orders pods by when they were made; names decide between equal ones.
func oldestFirst(a, b *v1.Pod) int {
	if c := a.CreationTimestamp.Time.Compare(b.CreationTimestamp.Time); c != 0 {
		return c
	}
	return order.ByName(a, b)
}

// evictOldest evicts the pods of nodes that are meant, the oldest first. The reason has a
// place for their age.
func evictOldest(run *eviction.Run, nodes []*v1.Node, reason string, meant func(*v1.Pod, time.Time) bool) *framework.Status {
	now := run.Snapshot().Now()
	pods := podsOf(run.Snapshot(), nodes, func(pod *v1.Pod) bool { return meant(pod, now) })
	slices.SortFunc(pods, oldestFirst)
	for _, pod := range pods {
		if run.Removable(pod) {
			run.Evict(pod, fmt.Sprintf(reason, duration.HumanDuration(ageOf(pod, now))))
		}
	}
	return run.Status()
}

// podsOf are the pods of nodes that a plugin selects, in the order of the nodes.
func podsOf(snapshot *framework.Snapshot, nodes []*v1.Node, selected func(*v1.Pod) bool) []*v1.Pod {
	var pods []*v1.Pod
	for _, node := range nodes {
		for _, pod := range snapshot.PodsOn(node.Name) {
			if selected(pod) {
				pods = append(pods, pod)
			}
		}
	}
	return pods
}
