// Package group is what starts together: groups of asks of which so many start at once or none does, and gangs,
// whose asks take the places of placeholders. Either n of m start, or nothing is held for them but what is kept
// for the one group whose turn it is.
//
// It finds places and keeps room; what is placed is booked by its caller. Nothing here is safe for use by
// several goroutines.
//
// Read in this order:
//
//	groups.go       which members of groups are held back
//	wake.go         when they are tried again
//	state.go        what groups do: they wait, run, or are below their minimum
//	broken.go       what is below its minimum ends; lost.go what its lost members had is kept meanwhile
//	start.go        they start, or room is kept for one group
//	plan.go         where they are placed, or could be when all has left that may leave
//	domains.go      in which domain, where one is required; tally.go what has room there; parts.go in which of the domains below
//	subgroups.go    which subgroups it has; subgroupsearch.go in which domain each runs; division.go where room may be made for them
//	fill.go         on which nodes
//	room.go         room is made for them by evictions
//	best.go         and where they suit better
//	taskgroups.go   which asks wait for placeholders
//	replace.go      placeholders whose place an ask takes; searches.go how far they were compared
//	verify.go       the laws
package group
