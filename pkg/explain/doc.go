// Package explain says why an ask waits, why an allocation is evicted, and what
// would become of other asks or of another configuration.
//
// It reads an api.View, or what was decided, and nothing else, so an answer is about one moment, takes no
// lock and changes nothing. It puts each node into the group of the first reason
// that keeps the ask away, which costs a few comparisons for each node.
//
// Read in this order:
//
//	answer.go   what comes out
//	ask.go      Ask: an ask or an allocation, by its key
//	nodes.go    every node, by the first reason that blocks; domains.go, those to which the group of an ask is bound
//	remedies.go what makes an ask run; asked.go, what the resource manager is asked for that; trial.go, trying it on a copy;
//	            ahead.go, with all that waits, in the order of line.go; raise.go and limits.go, what queues and users may have more;
//	            guaranteed.go, what is guaranteed to them; forgroup.go, groups; moves.go, what may run elsewhere instead
//	lacking.go  what an ask lacks of what is guaranteed to its queues; package guarantee, how queues stand to that
//	quota.go    the queues on the way to the root, and the place in the order; kept.go, what is kept of them for others
//	text.go     the answer for people to read
//	waiting.go  what an ask waits for and what was tried for it, in words; package planned, what was planned
//	overlimits.go  users and groups that would be over their limits
//	whatif.go   WhatIf: what would become of asks, or of another configuration;
//	            whatifdelays.go, after which delays; whatifnodes.go, of nodes; whatifwaiting.go, of all that waits; allowances.go, disruption budgets meanwhile
package explain
