package e2e

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resources "k8s.io/component-helpers/resource"
)

// A BookedNode is a node as the web service of the scheduler shows it.
type BookedNode struct {
	NodeID             string   `json:"nodeID"`
	Allocations        []Booked `json:"allocations"`
	ForeignAllocations []Booked `json:"foreignAllocations"`
	IsReserved         bool     `json:"isReserved"` // for an ask that fits no node now
}

// Booked is an allocation in it.
type Booked struct {
	Key      string           `json:"allocationKey"`
	Resource map[string]int64 `json:"resource"`
	NodeID   string           `json:"nodeId"`
}

// bookedKinds are the kinds of the books, and what they count in.
var bookedKinds = []struct {
	kind   string
	amount func(corev1.ResourceList) int64
}{
	{"vcore", func(l corev1.ResourceList) int64 { return l.Cpu().MilliValue() }},
	{"memory", func(l corev1.ResourceList) int64 { return l.Memory().Value() }},
}

// differences lists where the books of a scheduler differ from the pods of the API server,
// sorted. The law: every pod that has a node and has not ended is booked once, on that
// node, with what it requests; as an allocation if the scheduler placed it, as a foreign
// one otherwise; and nothing else is booked.
func differences(nodes []BookedNode, pods []*corev1.Pod, schedulers ...string) []string {
	ours, foreign := make(map[string]Booked), make(map[string]Booked)
	var found []string
	for _, node := range nodes {
		for _, a := range node.Allocations {
			found = append(found, book(ours, a, node.NodeID)...)
		}
		for _, a := range node.ForeignAllocations {
			found = append(found, book(foreign, a, node.NodeID)...)
		}
	}
	for _, pod := range pods {
		if pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		books := foreign
		if slices.Contains(schedulers, pod.Spec.SchedulerName) {
			books = ours
		}
		found = append(found, differencesOf(books, pod)...)
		delete(books, string(pod.UID))
	}
	for _, books := range []map[string]Booked{ours, foreign} {
		for _, a := range slices.Collect(maps.Values(books)) {
			found = append(found, fmt.Sprintf("%s is booked on %s and is no pod there", a.Key, a.NodeID))
		}
	}
	slices.Sort(found)
	return found
}

func book(books map[string]Booked, a Booked, node string) []string {
	var found []string
	if earlier, ok := books[a.Key]; ok {
		found = append(found, fmt.Sprintf("%s is booked twice, on %s and %s", a.Key, earlier.NodeID, node))
	}
	a.NodeID = node
	books[a.Key] = a
	return found
}

func differencesOf(books map[string]Booked, pod *corev1.Pod) []string {
	a, ok := books[string(pod.UID)]
	if !ok {
		return []string{fmt.Sprintf("pod %s on %s is not booked (%s)", pod.Name, pod.Spec.NodeName, pod.UID)}
	}
	var found []string
	if a.NodeID != pod.Spec.NodeName {
		found = append(found, fmt.Sprintf("pod %s is on %s and booked on %s", pod.Name, pod.Spec.NodeName, a.NodeID))
	}
	requests := resources.PodRequests(pod, resources.PodResourcesOptions{})
	for _, k := range bookedKinds {
		if want := k.amount(requests); a.Resource[k.kind] != want {
			found = append(found, fmt.Sprintf("pod %s requests %s %d and is booked with %d", pod.Name, k.kind, want, a.Resource[k.kind]))
		}
	}
	return found
}
