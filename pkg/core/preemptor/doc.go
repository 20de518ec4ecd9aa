// Package preemptor says which allocations make room for an ask on a node, or,
// where a queue uses more than its max, which of its allocations go.
//
// Why somebody should make room is the trigger: the ask must run on this node
// (RequiredNode), it is more important (Priority), it is due to its queue
// (Guarantee), or there is no ask and a max was lowered (Quota). There is one way
// of choosing victims, and a trigger is a row of a table (trigger.go): which
// filters apply, the order of candidates, the strategies, and what is compared
// between nodes.
//
// Plan is a pure function over plain data: it changes nothing, keeps nothing
// and reads no clock, and its answer does not depend on the order of the
// candidates. Only Node.Fits, if given, asks the resource manager. In this order
// it
//
//   - works out what must be freed: per kind the ask, less what is free, less
//     what those hold that are on their way out already; and the quota that is
//     short, for which the candidates of other nodes count too (need.go);
//   - filters out who is never a victim, each with its reason (filter.go);
//   - says at once if all of the others together are not enough;
//   - waits until the reservation is old enough;
//   - puts them into classes and in order, the gentlest first (class.go, rank.go);
//   - asks the strategies, one after the other, until one of them chooses.
//
// The strategies are single (one victim about as large as the ask), multiple
// (largest first, then sparing whoever is not needed), minimal, which is the
// exact optimum: the gentlest worst class, then the lowest highest priority,
// then the fewest victims, then the least killed beyond the need; and reprieve:
// all go, and the most important come back first.
//
// Nobody takes from a queue what is guaranteed to it, or to a queue above it:
// what victims hold stays within the surplus of every Floor. Budgets say how many
// of a group may go at once; what they are worth is configured. A Planner makes
// many plans with the same memory, and its Assess says what a plan would cost, so
// that the best of many nodes is planned for.
//
// Read in this order:
//
//	candidate.go    what goes in: Ask, Node, Candidate, Floor, Budget
//	config.go       Config, Strategy
//	trigger.go      the triggers
//	plan.go         Plan, Planner
//	need.go         what must be freed
//	filter.go       who is never a victim
//	class.go        the classes
//	rank.go         the order of candidates, and what they weigh
//	floor.go, budget.go                  guarantees and budgets
//	single.go, multiple.go, minimal.go   the strategies
//	reprieve.go, fewest.go               and the one that goes by importance
//	candidates.go, accept.go             victims that the resource manager chooses
//	cost.go                              what is compared between nodes
//	decision.go, tell.go, explain.go     what comes out
//	search.go, found.go, bound.go        the search behind minimal
package preemptor
