// Package migration is the plugin MigrationController: it moves a pod by having a place
// reserved for its replacement first, and evicts the pod only when the place is certain.
//
// What is wished and how far it is stands in an object PodMigrationJob (pmj) for each pod. The
// plugin makes them as the evict plugin of a profile, and users may make them. As a controller it
// takes them through their steps:
//
//	waits ─► passed ─► Running ─► reservation created ─► scheduled ─► pod evicted
//	                                                                      │
//	Succeeded ◄─ replacement ready ◄─ runs on the node ◄─ reservation taken
//
// A reservation is a pod of ours that does nothing. The scheduler places it like any other, and
// hands its place over to the replacement; package pods says how. So a migration that finds no
// place evicts nothing and ends as Aborted.
//
// There is no memory beside the objects: each step looks at what is there, does what is missing
// and notes it. A process that ends at any moment leaves a job with which the next one goes on:
// names of reservations follow from the job, evictions name the UID of the pod, and that a pod
// is about to be evicted is written before it is. A job that ends deletes its reservation first.
// As a second net a reservation is owned by its job and ends with its time to live by itself.
//
// Read in this order:
//
//	job.go          Job: what is wished, and how far it is
//	args.go         Args: the arguments of the plugin; limits.go, numbers and percentages
//	plugin.go       Controller: the plugin; a job is made, and ends
//	filter.go       which pods are never migrated
//	arbitrate.go    which jobs may begin now; order.go, which is first
//	steps.go        the state machine
//	group.go        jobs that evict together, or not
//	reservation.go  the reservation of a job; nodeaffinity.go, where it may run
//	withdraw.go     a job that is not wanted any more; what one waits for
//	takeback.go     jobs of an earlier policy
//	evict.go        the three ways to end a pod
//	look.go         pods, from the informer or the API server
//	run.go          events, the queue of jobs, and the end of old ones
//	store.go        jobs in the API server
package migration
