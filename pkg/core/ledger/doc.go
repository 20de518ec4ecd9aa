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
//	application.go  an application and its states
//	gang.go         the placeholders of an application, and the asks that take their places
//	group.go        asks of which so many start together: those of a gang that starts whole, or that name their group
//	part.go         subgroups of a group, each with its own minimum; done.go, what has succeeded, and what stops without a member
//	request.go      an ask or allocation, and the orders of trees; wait.go, what is known of one that was not placed
//	claim.go        what is kept for an ask until it runs, or for a member of a group that was lost; claimbooks.go books it
//	node.go         a node and what is free on it; nodes.go, they come, change and go
//	foreign.go      allocations of other schedulers
//	verify.go       its laws; verifysums.go of sums, verifyclaims.go of claims, verifygangs.go of gangs and groups
//	ledgerview.go   views of it, and an allocation as package preemptor sees it; gangview.go of gangs
package ledger
