// Package nodefit says where pods fit without the scheduler's core: the check that the
// descheduler of Kubernetes calls NodeFit. It is what a descheduler asks that is built without
// a landing.
//
// It knows less than a scheduler: a node that is not cordoned, whose labels and taints the pod
// accepts, which has room for its requests, and where no required anti-affinity is broken,
// neither of the pod nor of those that run. It does not know affinity to pods, spread
// constraints, volumes, host ports, queues, or which of the nodes a scheduler would take. Unlike
// the check of the descheduler of Kubernetes it looks at whole topologies, at what other pods are
// against, and at what was evicted and placed in the cycle before.
//
// Read in this order:
//
//	nodefit.go    Nodes: Fits, Place, PlaceWhere and Book
//	check.go      one pod on one node
//	against.go    anti-affinity between pods
//	elsewhere.go  whether a pod fits on another node, for filters, with any landing
package nodefit
