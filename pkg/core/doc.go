// Package core is the scheduler without its surroundings: one partition, its
// queues, applications, nodes and allocations.
//
// A Partition is a ledger. Every allocation is booked twice, on the node it
// runs on and on the accounts of its queue and the queues above, and Verify
// says whether the two sides agree. Foreign allocations, which another
// scheduler placed, are booked on the node only. Apply and Schedule change the
// ledger and return Effects, what the resource manager must be told; nothing
// here reads a clock, takes a lock, starts a goroutine or logs.
//
// What is tried next is not searched for but kept: queues, applications, asks
// and nodes each stand in an order (package order) that carries, for every
// subtree, what a search needs to skip it. Asks of equal amounts have a shape in
// common; a shape that fits no node, or not the quota of a queue, is passed
// over as a whole until a node or that queue changes. So a placement costs the
// logarithm of everything, and an ask that cannot run costs nothing.
//
// Read in this order:
//
//	partition.go     Apply, Schedule, Due
//	command.go       what can be asked of a partition; effects.go what it answers
//	config.go        what it is built with
//	account.go       limits, use, pending
//	queue.go         a queue and its place; queues.go the tree and its changes
//	application.go   an application and its place; applications.go its life
//	allocation.go    what runs, immutable; request.go what is known of it
//	allocations.go   asks, adoption, resizing, release; foreign.go those of others
//	node.go          a node and its place; nodes.go its life
//	backlog.go       what waits below; shapes.go what asks have in common
//	schedule.go      who is next, and where it goes
//	aside.go         asks that the resource manager refused everywhere
//	reservations.go  asks that are bound to one node
//	preempt.go       making room on such a node, with package preemptor; who goes
//	hunt.go          when asks that may run anywhere have room made; loop.go not for ever
//	seek.go          where; ground.go the nodes by what room costs there
//	quarry.go        a node as the preemptor sees it; consult.go what is asked about it
//	entitle.go       who may take from whom: queues, priorities, guarantees
//	nominations.go   asks with a node in view
//	quota.go         queues that give back what is beyond their max
//	timers.go        what becomes due; hints.go asks that only nodes could help
//	view.go          what others may read; views.go and draft.go how it is made; restore.go and back
//	verify.go        the laws; verify_preemption.go those of promises
package core
