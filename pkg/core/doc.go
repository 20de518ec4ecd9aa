// Package core is the scheduler without its surroundings: one partition, its
// queues, applications, nodes and allocations.
//
// A Partition is a ledger (package ledger). Every allocation is booked twice, on the node it
// runs on and on the accounts of its queue and the queues above, and Verify
// says whether the two sides agree. Foreign allocations, which another
// scheduler placed, are booked on the node only, and so is what was to end on a node
// that is not ready. Apply and Schedule change the
// ledger and return Effects, the events that say what was done; nothing
// here reads a clock, takes a lock, starts a goroutine or logs.
//
// What is tried next is not searched for but kept (package backlog). A placement
// costs the logarithm of the number of nodes, queues, applications and
// classes, and an ask that cannot run costs nothing.
//
// A command changes the ledger, which records the change and calls nothing. Schedule
// begins with react, which decides from the recorded changes what is tried again. Then
// it places bound asks and ordinary asks, one by one, and reacts after each.
//
// What goes in and comes out is data: package api. Package ledger has what runs where, and which queues pay
// for it; package backlog what waits, and which ask is next; package question the answers of the resource manager.
// Package preemption keeps room and makes it, and package group has what starts together. This package is the
// loop that joins them. Begin with partition.go and schedule.go.
//
//	partition.go    Apply, Schedule, Due, and what carries out each command; doc.go is this page
//	applications.go commands about applications; allocations.go about asks and allocations
//	placing.go      the queue of an application by rules, and queues that are made for it
//	queues.go       the tree of queues as it is configured
//	nodes.go        commands about nodes; configure.go a new configuration
//	moves.go        how asks and applications change from one state to another
//	react.go        changes of the ledger become orders and retries: the only place
//	schedule.go     one call of Schedule: which ask is placed on which node
//	appbackoff.go   counts the asks of an application that failed
//	bound.go        asks that are bound to one node come before the others
//	required.go     asks that may run on one node only; requiredplan.go makes room for
//	                them, trials.go knows what was found out
//	members.go      members of groups are as their groups say
//	gangs.go        when a gang runs, and what ends when its placeholders time out
//	views.go        makes what other goroutines may read
//	walk.go         what waits, step by step, for a reader that tells people why
//	restore.go      a partition made from a view
//	verify.go       asks the parts whether their laws hold, and checks that whatever waits is woken
package core
