// Package nodefit is a landing for tests that need no core: it knows labels, taints, requests and
// required anti-affinity, with what was evicted and placed in the cycle before.
//
//	nodefit.go  Nodes: Place and Book
//	check.go    one pod on one node
//	against.go  anti-affinity between pods
package nodefit
