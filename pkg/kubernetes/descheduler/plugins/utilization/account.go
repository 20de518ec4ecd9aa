package utilization

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/resource"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// A dimension is a resource of all pods, or of the pods in production only.
type dimension struct {
	name       v1.ResourceName
	production bool
}

// String is the name, with a mark.
func (d dimension) String() string {
	if d.production {
		return "prod " + string(d.name)
	}
	return string(d.name)
}

// An account is what a node has and uses, by dimension. What is used changes with each
// move that is booked.
type account struct {
	node     *v1.Node
	all      []int64
	used     []int64
	known    bool // otherwise the node is left alone
	evicted  int  // pods that left it in this call
	received int  // pods that came in this call
}

// over says whether a node uses more than thresholds in one of the dimensions.
func (a *account) over(thresholds []Percentage, dimensions []int) bool {
	for _, i := range dimensions {
		if above(a.used[i], a.all[i], thresholds[i]) {
			return true
		}
	}
	return false
}

// holds says whether a node stays at or below thresholds with a pod more.
func (a *account) holds(amounts []int64, thresholds []Percentage) bool {
	for i, amount := range amounts {
		if above(a.used[i]+amount, a.all[i], thresholds[i]) {
			return false
		}
	}
	return true
}

// total is the sum of the shares that are in use, by which nodes are ordered. Shares
// are added and not amounts, of which memory would be all that counts.
func (a *account) total(weights []int64) int64 {
	var sum int64
	for i, weight := range weights {
		sum += weight * int64(shareOf(a.used[i], a.all[i], false))
	}
	return sum
}

// amountMax bounds an amount, so that no sum over the pods of a node overflows: a node whose sum is
// negative would look empty. It is a petabyte, or as many thousandths.
const amountMax = int64(1) << 50

// amountOf is one resource of a list, in thousandths for those that come in such parts. What is
// negative is nothing.
func amountOf(list v1.ResourceList, name v1.ResourceName) int64 {
	read := pods.Whole
	if name == v1.ResourceCPU || name == framework.MetricResource {
		read = pods.Milli
	}
	return min(max(read(list[name]), 0), amountMax)
}

// allOf is what a node has of a resource. Of what a query returns, the whole is one.
func allOf(node *v1.Node, name v1.ResourceName) int64 {
	if name == framework.MetricResource {
		return 1000
	}
	return amountOf(node.Status.Allocatable, name)
}

// requestsOf is what a pod requests, and that it is one pod. Scratch is a map that is used
// again, as this is asked of every pod of the cluster.
func requestsOf(pod *v1.Pod, dimensions []dimension, scratch v1.ResourceList) []int64 {
	requests := requestsIn(pod, scratch)
	amounts := make([]int64, len(dimensions))
	for i, d := range dimensions {
		switch {
		case d.production && !inProduction(pod):
		case d.name == v1.ResourcePods:
			amounts[i] = 1
		default:
			amounts[i] = amountOf(requests, d.name)
		}
	}
	return amounts
}

// requestsIn are the requests of a pod. Those of a single container with nothing beside it are
// read where they stand; others are summed up in scratch.
func requestsIn(pod *v1.Pod, scratch v1.ResourceList) v1.ResourceList {
	if spec := &pod.Spec; len(spec.Containers) == 1 && len(spec.InitContainers) == 0 && spec.Resources == nil && spec.Overhead == nil {
		return spec.Containers[0].Resources.Requests
	}
	return resource.PodRequests(pod, resource.PodResourcesOptions{Reuse: scratch})
}

// Priorities and label of pods in production.
const (
	priorityClassLabel = "koordinator.sh/priority-class"
	productionLeast    = 9000
	productionMost     = 9999
)

// inProduction says whether a pod is of the class of production. The label goes before
// the priority.
func inProduction(pod *v1.Pod) bool {
	if class, ok := pod.Labels[priorityClassLabel]; ok {
		return class == "koord-prod"
	}
	p := pod.Spec.Priority
	return p != nil && *p >= productionLeast && *p <= productionMost
}
