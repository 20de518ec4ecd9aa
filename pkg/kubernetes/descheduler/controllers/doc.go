// Package controllers has plugins of the descheduler that events trigger.
//
// Read in this order:
//
//	nodeproblem.go  NodeProblem: pods leave a node as soon as it has a problem
//	problem.go      the arguments, and what a problem is
package controllers
