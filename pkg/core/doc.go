// Package core is the scheduler without its surroundings: one partition, its
// queues, applications, nodes and allocations.
//
// A Partition is a ledger. Every allocation is booked twice, on the node it
// runs on and on the accounts of its queue and the queues above, and Verify
// says whether the two sides agree. Foreign allocations, which another
// scheduler placed, are booked on the node only, and so is what was to end on a node
// that is not ready. Apply and Schedule change the
// ledger and return Effects, the events that say what was done; nothing
// here reads a clock, takes a lock, starts a goroutine or logs.
//
// What is tried next is not searched for but kept: queues, applications, groups of
// asks and nodes are each kept in an order (package order). In every subtree it has
// what a search needs to skip it. Asks that are equal in everything that scheduling
// looks at are of one class. A class that fits no node is parked, and is passed over
// as a whole until there is room for it; so is a queue without quota. A placement
// therefore costs the logarithm of the number of nodes, queues, applications and
// classes, and an ask that cannot run costs nothing.
//
// A command changes the ledger, which records the change and calls nothing. Schedule
// begins with react, which decides from the recorded changes what is tried again. Then
// it places bound asks and ordinary asks, one by one, and reacts after each.
//
// What goes in and comes out is data: package api. Read in this order. The partition joins the four parts that
// follow it:
//
//	partition.go    Apply, Schedule, Due, and what carries out each command; doc.go is this page
//	applications.go commands about applications; allocations.go about asks and allocations
//	placing.go      the queue of an application by rules, and queues that are made for it
//	nodes.go        commands about nodes; configure.go a new configuration
//	moves.go        how asks and applications change from one state to another
//	react.go        changes of the ledger become orders and retries: the only place
//	schedule.go     one call of Schedule: which ask is placed on which node
//	feasible.go     the first node with room that predicates accept
//	bound.go        asks that are bound to one node come before the others
//	required.go     asks that may run on one node only; requiredplan.go makes room for them
//	views.go        makes what other goroutines may read
//	walk.go         what waits, step by step, for a reader that tells people why
//	restore.go      a partition made from a view
//	verifier.go     what is counted anew, and the first law that is broken
//	verify.go       checks the laws; verify_claims.go that what is kept is counted, can be used, and
//	                that whatever waits is woken; verify_preemption.go those of preemption,
//	                verify_backlog.go what is noted of asks that wait, verify_gangs.go gangs,
//	                verify_limits.go limits
//
// Ledger: what runs where, and which queues pay for it.
//
//	ledger.go       books and unbooks, and records what changes
//	prioritycounts.go how many there are of each priority
//	queue.go        a queue; queues.go the tree of queues
//	account.go      the limits and the use of a queue
//	claim.go        what is kept for an ask until it runs, on its node and of its quota
//	limits.go       limits of users and groups, and of the number of applications
//	application.go  an application and its groups of asks; state.go its states
//	gang.go         the placeholders of an application, and the asks that take their places
//	request.go      an ask or allocation, and what is known of it
//	node.go         a node and what is free on it
//	foreign.go      allocations of other schedulers
//	unknown.go      resource kinds that asks want and no node has
//	sort.go         sorts by key
//
// Backlog: what waits, and which ask is next.
//
//	backlog.go      asks by class; parks classes
//	class.go        what equal asks have in common, and the summaries of parts of the backlog
//	search.go       the first ask that may be tried; choice.go compares queues and applications by it
//	lines.go        the applications of a leaf that the same limits bind, and those that one account holds back
//	headroom.go     what is left of the quotas for a search
//	orders.go       keeps groups, applications and queues in order
//	nodeorder.go    keeps nodes in order, finds one with room, and knows where room is new
//	deviceorder.go  keeps nodes in order for each amounts, where they are tried by their devices
//	settling.go     the time after a start in which nothing is evicted
//	predicates.go   questions to the resource manager
//	refusals.go     its answers for a class; refused.go classes refused on every node, and
//	                askplace.go which of them is first
//	claims.go       claims are made and end, claimbooks.go books them; slots.go says which asks have one
//	                for which nothing is evicted, places.go in how many places they fit
//	guard.go        pauses of what repeats itself; appbackoff.go counts the failures of an application
//	hints.go        asks that only more nodes can help
//
// Gangs: asks that are placed together.
//
//	gangs.go        which asks wait for placeholders, and what ends with them
//	gangends.go     what ends when placeholders time out, and what runs when one has ended
//	placeholders.go which placeholders may be replaced, and how far a search for one has come
//	replace.go      placeholders whose place an ask takes
//	gangview.go     gangs for readers
//	group.go        asks of which so many start together: those of a gang that starts whole, or that name their group
//	groups.go       when they are tried
//	groupstart.go   they start, or room is kept for one group
//	groupplan.go    where they are placed, or could be when all has left that may leave
//
// Preemption: evictions that make room.
//
//	attempts.go     when an attempt is made for an ask; unfinished.go how it goes on later
//	simulations.go  what the resource manager said of nodes without victims, and neededelsewhere.go
//	                of what an ask needs on another node
//	findnode.go     the node where room costs least
//	nearest.go      what a failed attempt is told as, and the node that came nearest
//	nodecosts.go    what room costs on every node; costcache.go keeps it up to date, costlimits.go says how much of it
//	elsewhere.go    allocations on other nodes that free quota, in groups
//	behind.go       asks that wait behind one, and what room costs for all of them
//	share.go        the node for an ask where those behind are of other sizes
//	victiminput.go  a node as package preemptor sees it; candidates.go an allocation
//	guarantees.go   how priorities and guarantees of two queues compare
//	renominations.go asks that were nominated before a restart
//	evictions.go    victims, until they have ended
//	retries.go      when failed attempts are repeated
//	quotas.go       queues that use more than their max
//
// Timers: package timers keeps them.
//
//	due.go          what a timer is for
package core
