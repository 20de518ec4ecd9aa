// Package simulation has no code of its own: its tests play the whole descheduler in
// clusters in memory. All plugins, the evict plugin, and the scheduler's core that says
// where pods land are the real ones; the API server, the controllers and the scheduler
// are played. Where pods are migrated, the scheduler is the real one too.
//
// Read in this order:
//
//	world_test.go     one cluster: cycles, evictions, and the pods made anew
//	random_test.go    random clusters
//	policies_test.go  random policies
//	laws_test.go      what must be true of any cycle
//	gangs_test.go     the same of gangs and of the guarantees of queues
//	closed_test.go    the closed loop that tries it
//	renewals_test.go  what a second cycle may still move
//	kubescheduler_test.go, loop_test.go  the same with kube-scheduler, which says where pods run
//	hot_test.go, coolable_test.go  nodes that use too much, and which of them evictions can help at all
//	loadaware_test.go  the same nodes where the scheduler goes by measured use too
//	migrating_world_test.go, migrating_test.go  the same with migrations and the real scheduler
//	acceptance_test.go  which tests show what is asked for
package simulation
