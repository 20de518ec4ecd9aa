// Package simulator plays a workload on a cluster in virtual time: the real
// core.Partition, a virtual resource manager that answers it, and pods that
// arrive, run and end.
//
// Run pops an event, sets the time, applies what the resource manager sends,
// schedules until nothing more fits, and hands the effects back. Random values
// come from generators with a seed and time from the events, so the same scenario
// and seed give the same bytes of every output. The resource manager keeps
// books of its own, from the messages alone; with Options.Verify they are
// compared with those of the core after every moment, and the laws of the core
// are checked after every step.
//
// Read in this order:
//
//	scenario.go       what can happen from outside, as data
//	run.go            the loop: events, commands, effects, deadlines
//	events.go         what is planned, by time
//	simulation.go     what the parts of a cluster share: time, chance, the way to
//	                  the core, and the faults on it
//	cluster.go        the virtual resource manager: effects in; predicates.go, its
//	                  answers to questions
//	applications.go   what the core knows of the applications
//	pods.go           the life of a pod; release.go, how it ends and its
//	                  successor is asked for
//	preemption.go     evictions and nominations
//	budgets.go        how many pods may be down at once
//	plans.go          the plans, from nominations and views
//	changes.go        limits and queues that are reconfigured during a run; restart.go, a
//	                  scheduler that begins anew
//	nodes.go          nodes that join, fail, return and drain; daemonsets
//	foreign.go        pods of other schedulers
//	gangs.go          placeholders, and the pods that take their places;
//	                  groups.go, pods that start together without them
//	devices.go        which GPU a pod gets
//	workload.go       arrivals, of workloads and of a trace
//	random.go         random streams; times, counts and rates as texts
//	meter.go          quantities over virtual time, exactly
//	books.go          what the resource manager takes to be booked
//	result.go         what comes out; summarise.go fills it in, and
//	                  preemption_result.go what is about preemption
//	tables.go         what came out as tables, preemption_tables.go of preemption;
//	                  text.go prints them, summary.go one screen of them
//	quantity.go       quantities and times for people
//	parse.go          the scenario file; reader.go, parse_cluster.go,
//	                  parse_work.go, queues.go; problem.go is what is wrong in it
//	openb.go          the openb trace
//	examples.go       scenarios that come with the package
//	remote.go         the cluster before a scheduler to which messages are under
//	                  way; crossing.go, messages that cross; delays.go, delays
//	                  when time is fast
//
// Package live plays it in real time.
//
// Package report makes a page with plots of a Result.
package simulator
