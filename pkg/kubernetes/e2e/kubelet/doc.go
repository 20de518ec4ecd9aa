// Package kubelet plays the kubelets of nodes that do not exist. To the API server they look
// real: nodes are ready and renew leases, pods get addresses, run, end, and are gone some
// time after they were deleted. No container runs.
//
// As a real kubelet, it refuses a pod that does not fit on its node together with the pods
// that are there: the pod fails with reason OutOfcpu, OutOfmemory or OutOfpods. A scheduler
// that is alone and keeps its books right never sees that.
//
// # Annotations
//
// The life of one pod is steered by its annotations. Durations are as Go writes them (1.5s).
//
//	e2e.narwhal/start-after  from the binding until it runs; 0s if not given
//	e2e.narwhal/run-for      from then until it ends; 1s for pods of a job, for ever for others
//	e2e.narwhal/exit-code    it fails if this is not 0, which is the default
//	e2e.narwhal/stop-after   from its deletion until it is gone; a part of its grace period if not given
//
// An annotation that cannot be read makes the pod fail with reason BadAnnotation. The restart
// policy is not read: a pod with run-for ends, and nothing restarts a container.
//
// # In-place resize
//
// A changed request is granted if it fits, and appears in the status of the containers. Else
// the condition PodResizePending says Deferred, or Infeasible if the node is too small
// for the pod alone, which the API server refuses itself if it has the size of the node.
//
// # Files
//
//	kubelet.go  Start, workers, silent nodes
//	node.go     nodes and leases
//	next.go     what a kubelet does next to a pod; pure
//	admit.go    what runs on a node, and whether one more fits
//	status.go   what the status of a pod says; pure
package kubelet
