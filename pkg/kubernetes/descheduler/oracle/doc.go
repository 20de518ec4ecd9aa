// Package oracle has no code of its own: its tests compare the descheduler with a model of
// it. The model says what docs/descheduler.md says, written again without a look at the
// program, and as simply as possible. The program and the model get the same random worlds,
// each a small cluster and a policy, and each difference is a fault in one of the two or in
// the document.
//
// A few hundred worlds are played by default. More of them, and others, are played with
//
//	ORACLE_FIRST=1000 ORACLE_WORLDS=10000 go test -timeout 2h ./descheduler/oracle
//
// in pkg/kubernetes: ORACLE_WORLDS is the number of worlds of each test, and ORACLE_FIRST the
// seed of the first one. A test that fails prints the seed and the smallest world that it
// found with the same difference.
//
// Read in this order:
//
//	cases_test.go       worlds of two or three nodes with what once was wrong in them
//	world_test.go       a world: objects and a policy
//	policy_test.go      the policy, and its text
//	run_test.go         the descheduler at work in a world, and the API server
//	objects_test.go     what nodes and pods say of themselves
//	model_test.go       the model: what a cluster is, and where a pod fits
//	affinity_test.go    the model: affinity between pods, and spread constraints
//	protection_test.go  the model: which pods DefaultEvictor keeps
//	budgets_test.go     the model: disruption budgets
//	wants_test.go       the model: which pods a plugin at deschedule takes
//	checker_test.go     a report of a cycle against the model: each eviction
//	limits_test.go      the same: limits, rates and cool-downs
//	reasons_test.go     the same: the reason of each eviction
//	balance_test.go     the same: evictions of plugins at balance
//	remaining_test.go   the same: pods that plugins at deschedule should have taken
//	answers_test.go     the same: what /why and the table say
//	random_test.go      random worlds
//	random_pods_test.go, random_policies_test.go  their pods and policies
//	shrink_test.go      the smallest world with the same difference
//	cycle_test.go       the tests of one cycle
//	order_test.go       the tests of the order in which pods are taken
//	cycles_test.go      the test of several cycles, in which pods take their time to end
//	settled_test.go     the tests of what is left to do after a cycle
package oracle
