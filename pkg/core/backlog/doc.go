// Package backlog is what waits, and which ask is next. It reads the ledger, and decides which ask is tried, not
// where it is placed.
//
// What is tried next is not searched for but kept: queues, applications, groups of
// asks and nodes are each kept in an order (package order). In every subtree it has
// what a search needs to skip it. Asks that are equal in everything that scheduling
// looks at are of one class. A class that fits no node is parked, and is passed over
// as a whole until there is room for it; so is a queue without quota.
//
// What can run is found, and what cannot is parked. Nothing here is safe for use by several goroutines.
//
// Read in this order:
//
//	backlog.go      asks by class; parks classes
//	class.go        what equal asks have in common; summary.go, what a search needs of a part of the backlog to skip it
//	askgroup.go     the asks of a class in an application, and in a leaf; waitset.go, what waits in a leaf and may preempt
//	waiting.go      applications, queues and asks as the backlog knows them; standing.go, what decides where they stand; askplace.go, which of them is first
//	orders.go       keeps groups, applications and queues in order
//	lines.go        the applications of a leaf that the same limits bind, and those that one account holds back
//	search.go       the first ask that may be tried; choice.go compares queues and applications by it
//	headroom.go     what is left of the quotas for a search
//	why.go          why an ask waits, for readers
//	verify.go       the laws; verifyplaces.go that each stands where it belongs, verifylimits.go what limits hold back
//	nodeorder.go    keeps nodes in order, and finds one with room; rooms.go knows where room is new
//	deviceorder.go  keeps nodes in order for each amounts, where they are tried by their devices; ties.go, which of those that are alike is first
//	ranked.go       searches those orders, class by class of nodes; scarceness.go, what is known of what is scarce
package backlog
