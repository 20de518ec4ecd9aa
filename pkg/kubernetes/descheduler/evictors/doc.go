// Package evictors has the evict plugins of the descheduler that need nothing but the API
// server.
//
// Read in this order:
//
//	evictors.go    Register, and the arguments
//	eviction.go    Eviction: asks the API server, which respects disruption budgets
//	background.go  evictions that the owner of a pod carries out in its own time
//	delete.go      Delete: deletes the pod, whatever budgets say
//	soft.go        SoftEviction: an annotation, on which the owner acts
package evictors
