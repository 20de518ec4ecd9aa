package shim

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// Feasibility knows where a pod may run: selectors, affinity, taints, ports, volumes,
// devices. It has a cache of the cluster, which the context feeds: nodes, and every pod
// that has its node, an assumed one too. All methods may be called from any goroutine.
//
// It may have methods more: WaitForSync, for which Start waits, and those of
// claimReferences.
//
// It is package feasibility; the interface is here so that a test can stand in for it.
type Feasibility interface {
	SetNode(node *v1.Node)
	RemoveNode(name string)
	// SetPod takes a pod whose spec.nodeName is set, in place of an older state of it.
	SetPod(pod *v1.Pod)
	RemovePod(pod *v1.Pod)

	// Check returns nil if a pod may run on a node, else the reason.
	Check(pod *v1.Pod, node string) error
	// CheckNodes is Check for several nodes, an answer for each.
	CheckNodes(pod *v1.Pod, nodes []string) []error
	// CheckWith is Check with pods added to the node and removed from it in thought. The
	// error may have a method Unresolvable() bool.
	CheckWith(pod *v1.Pod, node string, add, remove []*v1.Pod) error
	// Class is equal for pods that are treated alike; empty if that is not certain.
	Class(pod *v1.Pod) string

	// Reserve takes the volumes and devices of a pod on a node, Unreserve gives them back,
	// and PreBind makes them ready, which can take minutes.
	Reserve(ctx context.Context, pod *v1.Pod, node string) error
	Unreserve(ctx context.Context, pod *v1.Pod, node string)
	PreBind(ctx context.Context, pod *v1.Pod, node string) error
}

// A Feasibility may know that pods share the claims of devices of their pod group.
type sharedClaims interface {
	SetPodGroup(group pods.PodGroup)
	RemovePodGroup(namespace, name string)
	// SharedTopology is the label of nodes of which all pods run in one value that share claims with a pod; empty for none.
	SharedTopology(pod *v1.Pod) string
}

// A Feasibility may know how many devices serve extended resources on a node, that is, of what kubelets do not offer.
type deviceCounts interface {
	Devices(node string) map[string]int64
}

// A Feasibility may know whether a pod still keeps devices from others: its claims are given back after it has ended.
type devicesKeeper interface {
	KeepsDevices(pod *v1.Pod) bool
}

// A Feasibility whose answers depend on more than nodes and pods may implement claimReferences.
// Pods that wait and refer to what has changed are then tried again, and not only when the
// core tries everything again after a while.
type claimReferences interface {
	// References names what a pod refers to.
	References(pod *v1.Pod) []string
	// RefusedEverywhere is why a pod may run on no node, whatever nodes there are, such as that a claim is not there;
	// nil if it may run on some.
	RefusedEverywhere(pod *v1.Pod) error
	// FreeClaims takes devices that nothing uses from a claim of a pod that waits, if they keep it from nodes where it
	// could run. Watch tells of the claim then.
	FreeClaims(ctx context.Context, pod *v1.Pod) error
	// Watch has a function called with the name of what has changed, from any goroutine.
	Watch(changed func(name string)) error
}
