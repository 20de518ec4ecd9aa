// Package controllers has plugins of the descheduler that events trigger.
//
// Read in this order:
//
//	problem.go      the arguments of NodeProblem, and what a problem is
//	nodeproblem.go  NodeProblem: a node that has a problem is drained; what it hears of
//	run.go          when it looks at the cluster: turns
//	turn.go         one turn: which nodes drain, and what becomes of their pods
//	gangs.go        pods of a gang leave together, or not
//	budgets.go      what disruption budgets allow, and their names
//	tell.go         what is written on the node, events, and the end
package controllers
