// Package replica is what the programs for Kubernetes have in common: each may run as one
// of several replicas, of which one leads.
//
// Read in this order:
//
//	election.go  one of several replicas leads
//	mark.go      the label of the pod that leads
//	probes.go    whether a replica lives and is ready
//	access.go    which clients may read what, by their tokens
//	process.go   its client, namespace, log and version
package replica
