// Package topology divides nodes into domains by their attributes, such as racks and blocks, and knows how many asks
// fit in each.
//
// It reads the ledger and decides nothing. What is not asked for costs nothing: without levels, and as long as
// nothing asks what fits where, it is not active, and changes of nodes are not looked at. Nothing here is safe for use by several
// goroutines.
//
// Read in this order:
//
//	domain.go     domains, and what runs there
//	topology.go   which nodes are in which; level.go, by which keys
//	slots.go      how many asks fit
//	verify.go     the laws
package topology
