// Package scenarios is the loads that cores are compared by. Each is played once against one
// core, over the scheduler-interface, and returns figures and what was wrong.
//
// Read in this order:
//
//	scenarios.go   the list, sizes, and the result of a run
//	run.go         what the scenarios share
//	filling.go     empty clusters that are filled, also as they grow
//	full.go        full clusters, where nothing fits and room comes free
//	churn.go       pods and foreign pods that come and go
//	preemption.go  victims
//	refusals.go    asks that predicates refuse
//	trace.go       a real trace
package scenarios
