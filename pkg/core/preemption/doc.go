// Package preemption is room that is kept for an ask until it runs, and room that is made for it by
// evictions. It makes and ends claims, looks for the node where room costs least, has victims evicted, and has
// queues give back what they use beyond their max. Which victims make room on one node is package preemptor.
//
// Each victim is needed and lawful, and for a claim or for a max. Nothing here is safe for use by several
// goroutines.
//
// Read in this order:
//
//	claims.go       claims are made and end; slots.go says which asks have one for which nothing is evicted,
//	                places.go in how many places they fit
//	attempts.go     when an attempt is made for an ask; unfinished.go how it goes on later
//	findnode.go     the node where room costs least
//	nearest.go      what a failed attempt is told as, and the node that came nearest
//	nodecosts.go    what room costs on every node; costcache.go keeps it up to date, costlimits.go says how much of it
//	elsewhere.go    allocations on other nodes that free quota, in groups
//	behind.go       asks that wait behind one, and what room costs for all of them
//	share.go        the node for an ask where those behind are of other sizes
//	victiminput.go  a node as package preemptor sees it; groupinput.go what it is told of groups, minimum.go how many of
//	                them must run
//	guarantees.go   how priorities and guarantees of two queues compare
//	renominations.go asks that were nominated before a restart
//	evictions.go    victims, until they have ended
//	groupattempt.go room for asks that start together, and groupsets.go in which nodes; grouproom.go and groupanew.go find it, groupcost.go what it costs
//	retries.go      when failed attempts are repeated
//	quotas.go       queues that use more than their max
//	settling.go     the time after a start in which nothing is evicted
//	hints.go        asks that only more nodes can help
//	verify.go       the laws
package preemption
