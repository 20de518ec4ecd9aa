// Package kubernetes runs the scheduler on Kubernetes. It is a Go module of its own, so
// that a program which imports the scheduler core does not have its versions of k8s.io
// moved.
//
//	pods             what a pod, a node and a namespace say, in messages of the scheduler-interface; pure
//	feasibility      where a pod may run: the filter plugins of kube-scheduler over a cache of the cluster
//	outoftree        plugins of the scheduling framework that are compiled in beside these
//	shim             informers to requests, responses to bindings and deletions
//	command          the program narwhal-scheduler, of these
//	cmd              narwhal-scheduler and kubectl-narwhal
//	e2e              scenarios against a real API server
//
// Shim imports pods and feasibility; those two know nothing of each other.
package kubernetes
