// Package ledger is what runs where, which queues pay for it, and what is kept: queues, applications,
// nodes and requests of a partition, with every allocation booked twice, on its node and on the
// accounts of its queue and of those above. It decides nothing. What changes is recorded in a change set,
// from which others find out what to try again, and the ledger calls none of them.
//
// Both sides agree, and what is kept is counted. Objects carry numbers, by which other
// packages keep what they know of them in tables of their own.
//
// Read in this order:
//
//	ledger.go       books and unbooks; changes.go records what changes, step.go is one call of Apply or Schedule
//	queue.go        a queue; queueconfig.go brings it in line with its configuration
//	account.go      the limits and the use of a queue; kept.go, how much of it is kept; quotaneed.go, what an ask lacks of it
//	limits.go       limits of users and groups, and of the number of applications
//	application.go  an application; state.go its states
//	gang.go         the placeholders of an application, and the asks that take their places
//	placeholders.go which placeholders may be replaced, and how far a search for one has come
//	group.go        asks of which so many start together: those of a gang that starts whole, or that name their group
//	part.go         subgroups of a group, each with its own minimum; stops.go which of them stop without a member
//	done.go         members of groups that have succeeded
//	orders.go       the functions that sort trees
//	request.go      an ask or allocation; wait.go, what is known of one that was not placed
//	claim.go        what is kept for an ask until it runs; claimbooks.go books it; lost.go, what members of groups had
//	node.go         a node and what is free on it; nodedetails.go, what few nodes have; nodes.go, they come, change and go
//	foreign.go      allocations of other schedulers
//	verify.go       its laws; verifysums.go of sums, verifyclaims.go of claims, verifygangs.go of gangs and groups
//	ledgerview.go   views of it; gangview.go of gangs, candidates.go an allocation as package preemptor sees it
//	unknown.go      resource kinds that asks want and no node has
package ledger
