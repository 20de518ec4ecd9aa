// Package question asks the resource manager what only it knows: whether an ask may run on a node, with
// or without some of what runs there, and what its asks have in common. It paces what it asks, and decides
// what is asked next.
//
// An answer holds for the class of the ask and its node, until the node changes. Nothing here is safe for use by
// several goroutines; the functions of api.Options are called by the goroutine that uses it.
//
// Read in this order:
//
//	predicates.go   questions to the resource manager; beside.go about two asks on one node
//	feasible.go     the first node with room that it accepts
//	refused.go      classes refused on every node; verify.go the laws
//	simulations.go  nodes without victims, and neededelsewhere.go what an ask needs on another node
package question
