// Package preemptor says which allocations of one node make room for an ask
// that must run there, such as one of a daemonset.
//
// Plan is a pure function over plain data: it changes nothing, keeps nothing
// and reads no clock, and its answer does not depend on the order of the
// candidates. In this order it
//
//   - works out what must be freed, per kind: the ask, less what is free, less
//     what those hold that are on their way out already;
//   - filters out who is never a victim, each with its reason (filter.go);
//   - puts the others into classes and in order, the gentlest first (class.go,
//     rank.go);
//   - says at once if all of them together are not enough;
//   - waits until the reservation is old enough;
//   - asks the strategies, one after the other, until one of them chooses.
//
// The strategies are single (one victim about as large as the ask), multiple
// (largest first, then sparing whoever is not needed) and minimal, which is the
// exact optimum: the gentlest worst class, then the lowest highest priority,
// then the fewest victims, then the least killed beyond the need.
//
// Read in this order:
//
//	candidate.go    what goes in: Ask, Node, Candidate
//	config.go       Config, Strategy
//	plan.go         Plan
//	filter.go       who is never a victim
//	class.go        the classes
//	rank.go         the order of candidates, and what they weigh
//	single.go, multiple.go, minimal.go   the strategies
//	decision.go, explain.go              what comes out
//	search.go, found.go, bound.go        the search behind minimal
package preemptor
