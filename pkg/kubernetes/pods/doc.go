// Package pods says what pods, nodes and namespaces of Kubernetes are in messages of the
// scheduler-interface. Everything here is a pure function: it reads objects, changes none
// of them, and knows no API server. Safe for concurrent use.
//
//	resources.go    amounts as the kubelet counts them; resize.go those of pods that are to grow
//	pods.go         which pods are scheduled here, which have ended, what owns them
//	application.go  the application a pod belongs to: ID, queue, user
//	groups.go       task groups; podgroup.go pod groups
//	placeholder.go  the pods that hold room for the members of task groups
//	allocation.go   asks, allocations, and those of other schedulers
//	tags.go         what has no field of its own; selector.go which labels of nodes a pod needs
//	nodes.go        nodes
//	reservations.go pods that keep a place for others
//	namespaces.go   quotas of namespaces
//	budgets.go      which budgets pods have, and which pods the eviction API takes without a look at them
//	missed.go       what informers say of objects that are gone
package pods
