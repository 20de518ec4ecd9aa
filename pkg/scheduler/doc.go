// Package scheduler puts the core behind the scheduler-interface: resource
// managers register, report nodes, applications and allocations, and hear in
// their callbacks what was placed, released and refused.
//
// A partition belongs to one goroutine, its owner. A request is read and
// checked in the goroutine of the caller, appended to the inbox of each
// partition it speaks of, and that is all a caller ever waits for. The owner
// takes everything its inbox holds, applies it, schedules, and appends the
// effects to the outbox of the resource manager. A goroutine per resource
// manager takes them from there, in order, and calls back:
//
//	caller ── request ─► edge ─► inbox ─► owner ─► outbox ─► courier ─► callback
//	                                        │
//	                                        └── Predicates and other questions, once
//	                                            the node has been heard of
//
// What holds for a resource manager:
//
//   - UpdateAllocation, UpdateApplication and UpdateNode only enqueue, and take
//     no lock that is held while a callback runs. They may be called with locks
//     held that the callbacks need, and from within a callback.
//   - Stop, View, Glance, Verify and UpdateConfiguration wait for the owners of partitions.
//     An owner may wait for a callback, so they must not be called from within
//     one, nor with a lock that one needs.
//   - Callbacks come one after the other, in the order in which things were
//     decided. A callback that blocks holds up the callbacks behind it and
//     nothing else.
//   - Predicates is asked about a node only after the callback of every effect
//     on that node has returned. Until then the partition waits, and no other.
//   - A callback may implement more interfaces than it has to: NominationCallback,
//     PredicateSimulator, VictimSelector and DisruptionBudgeter. Preemption is then
//     as good as the resource manager knows its pods. Without them it works as well: a
//     nomination is told as the state RESERVED of an ask, PreemptionPredicates says
//     who could run where without whom, the scheduler chooses victims itself, and
//     there are no budgets.
//   - What is refused is answered with a reason. The one exception are releases
//     and removals, for which the interface has no refusal: what they name is
//     gone either way, and they are logged.
//   - Requests are read, never changed, and nothing of them is kept but strings.
//     Messages in callbacks belong to the callback, but the resources in them
//     are shared and must not be changed.
//   - A panic in a callback is not caught: what the callback left half done
//     cannot be known here. In those of the optional interfaces it is, and in
//     PreemptionPredicates: they are there to know better, and nothing ends
//     if they do not.
//
// Names of partitions are "[resource manager]partition". Requests may say the
// short form, the long form, or nothing for "default"; answers carry the long
// one.
//
// Read in this order:
//
//	scheduler.go     Scheduler: New, the three updates, View, Stop
//	registration.go  a resource manager comes, comes again, reconfigures; load.go
//	edge.go          requests to commands; allocations.go, applications.go, nodes.go
//	inbox.go         what waits for a partition
//	owner.go         the loop; gallery.go, readers who wait for a view; picture.go, what they do for it
//	gate.go          predicates after callbacks
//	capabilities.go  what else a resource manager can do; questions.go asks it
//	outbox.go        what waits for a resource manager
//	courier.go       effects to callbacks; journal.go, the log lines
//	chronicle.go     effects to events; meter.go, how long things take
package scheduler
