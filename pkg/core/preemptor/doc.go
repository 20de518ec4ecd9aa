// Package preemptor says which allocations make room for an ask on a node, or, if
// a queue uses more than its max, which of its allocations are released.
//
// The reason for a preemption is its trigger: the ask must run on this node
// (RequiredNode), it has a higher priority (Priority), its queue uses less than
// is guaranteed to it (Guarantee), or a max was lowered and there is no ask
// (Quota). Victims are chosen in one way for all triggers. A trigger is a row of
// a table (trigger.go): the order of candidates, the
// strategies, and how plans on different nodes are compared; what it may harm is
// another table (harm.go).
//
// Plan is a pure function over plain data: it changes nothing, keeps nothing and
// reads no clock, and its result does not depend on the order of the candidates.
// Only Node.Fits, if given, asks the resource manager. Plan works in these steps:
//
//   - compute what must be freed: per kind the ask, minus what is free, minus
//     what releasing allocations hold; and what the quota lacks,
//     for which candidates of other nodes count too (need.go);
//   - filter out allocations that are never victims, each with its reason (filter.go);
//   - return at once if all of the others together are not enough;
//   - return until the reservation is old enough;
//   - put the candidates into classes and in order, the least important first (class.go, rank.go);
//   - run the strategies, one after the other, until one of them selects victims;
//     those of a required node work within the lowest limit of class and priority
//     that allows victims (limit.go).
//
// The strategies are single (one victim about as large as the ask), multiple
// (largest first, then drop those that are not needed), minimal, which is the
// optimum: the lowest limit (limit.go), then the fewest victims, then the least excess; and
// reprieve: no victims of less importance. One search is behind both of these. It looks for
// victims in an order of harm, and says so if it was stopped.
//
// Preemption never takes from a queue what is guaranteed to it or to a queue
// above it: what victims hold stays within the surplus of every Floor. Only for a
// required node a floor is broken if there are no other victims. Budgets
// say how many of a group may be removed at once; how strictly is configured. A
// Planner makes many plans with the same memory. Its Cost says what a plan would
// cost, so that the full plan is made for the best of many nodes only.
//
// Read in this order:
//
//	candidate.go    the input: Ask, Node, Candidate, Floor, Budget
//	config.go       Config, Strategy
//	trigger.go      the triggers
//	harm.go         what each of them may harm
//	plan.go         Plan, Planner
//	need.go         what must be freed
//	filter.go       which allocations are never victims
//	class.go        the classes
//	rank.go         the order of candidates, and their weights
//	floor.go, budget.go    guarantees and budgets
//	limit.go               what all victims keep
//	lawful.go              which may go together
//	single.go, multiple.go the strategies of the design
//	exact.go               minimal and reprieve
//	search.go, bounds.go   the search behind them
//	candidates.go, accept.go             victims that the resource manager chooses
//	share.go                             victims that asks which wait together share
//	lot.go                               how asks are packed, and the node that is best for all
//	cost.go                              how plans on different nodes compare
//	decision.go, report.go   the output; package explain puts it into words
//	group.go        groups that stop without victims
//	needed.go       candidates that the ask needs beside it
//	questions.go    what the resource manager is asked
package preemptor
