// Package scheduler puts the core behind the scheduler-interface: resource
// managers register, report nodes, applications and allocations, and hear in
// their callbacks what was placed, released and refused.
//
// A partition belongs to one goroutine, its owner. A request is read and
// checked in the goroutine of the caller, appended to the inbox of each
// partition it speaks of, and that is all a caller ever waits for. The owner
// takes everything its inbox holds, applies it, schedules, and appends what
// happened to the outbox of the resource manager. A goroutine per resource
// manager takes that from there, in order, makes messages of it and calls back:
//
//	caller ─ request ─► conversion ─► inbox ─► owner ─► outbox ─► dispatcher ─► callback
//	                                             │
//	                                             ├── predicate gate: Predicates and other
//	                                             │   questions, after the callbacks about
//	                                             │   the node
//	                                             └── view broker: readers
//
// What holds for a resource manager:
//
//   - UpdateAllocation, UpdateApplication and UpdateNode only enqueue, and take
//     no lock that is held while a callback runs. They may be called with locks
//     held that the callbacks need, and from within a callback.
//   - What waits for one partition is limited by Config.InboxMax: entries of requests,
//     asks that scheduling has not come to, and messages that wait for a
//     callback. Beyond that a request is refused whole with ErrInboxFull, to be sent
//     again later. A request that is larger than the limit is taken when nothing else
//     waits.
//   - An application without groups waits while Config.Resolver, or what usergroupresolver.type of
//     its partition names, is asked for those of its user, and so does everything that is sent
//     about it later, in order. What waits so counts against the limit of the inbox. Nothing else
//     waits, readers neither.
//   - View, Verify, Stop and UpdateConfiguration wait for the owners of partitions.
//     An owner may wait for a callback, so they must not be called from within
//     one, nor with a lock that one needs. They have a way out: a context, or
//     Config.AnswerTimeout.
//   - Snapshot waits for no callback. While a partition does not
//     answer it is the last one, with its age, and Unanswered says for how long.
//   - Callbacks come one after the other, in the order in which things were
//     decided. A callback that blocks holds up the callbacks behind it, questions about
//     the nodes that they concern, and nothing else until the limit is reached.
//   - Predicates is asked about a node only after the callback of every message
//     about that node has returned. Until then the partition waits, and no other.
//   - A callback may implement more interfaces than it has to: PredicateClassifier,
//     PredicateTies, NodesPredicates, NominationCallback, WaitCallback, PredicateSimulator, VictimSelector,
//     ForeignPodEnder, LeastUser and DisruptionBudgeter. Placement is then faster where predicates decide, and preemption
//     as good as the resource manager knows its pods. Without them it works as well: a
//     nomination is told as the state RESERVED of an ask, PreemptionPredicates says
//     what could run where without which allocations, the scheduler chooses victims
//     itself, and there are no budgets.
//   - What is refused is answered with a reason. The one exception are releases
//     and removals, for which the interface has no refusal: they are logged. A release
//     of what is not known, or that names another application than that of the
//     allocation, does nothing and is logged for debugging. One with a key alone
//     names whatever has that key.
//   - Requests are read, never changed, and nothing of them is kept but strings.
//     Messages in callbacks belong to the callback, but the resources and policies
//     in them are shared and must not be changed.
//   - A panic in a callback is caught, logged with its place and counted by the
//     name of the callback. Where it was a question the answer is no; elsewhere
//     it is an error like one that is returned.
//   - An allocation that the resource manager reports as running is not told to it as placed, unless
//     Config.EchoAdopted says that it waits for that.
//
// Names of partitions are "[resource manager]partition". Requests and readers may say the
// short form, the long form, or nothing for "default"; answers carry the long
// one. A reader needs the long one where several resource managers have such a partition.
//
// Read in this order:
//
//	scheduler.go      Scheduler: New, the three updates, Stop; config.go
//	registration.go   a resource manager registers, once or again
//	configuration.go  its partitions change, replacement.go in one step; extraconfig.go, log levels and event limits;
//	                  configured.go keeps the one in effect
//	conversion.go     requests to commands; allocations.go, sharedamounts.go, sharedtags.go, applications.go, nodes.go, namespacequota.go
//	inbox.go          what waits for a partition, and the limit on it
//	owner.go          the loop
//	groups.go         applications wait for the groups of their users; grouplookup.go asks for them
//	predicategate.go  predicates are asked after callbacks; pace.go, how often
//	capabilities.go   what else a resource manager can do; questions.go asks it
//	outbox.go         what waits for a resource manager
//	dispatcher.go     what waits to callbacks; messages.go, events to messages; effectlog.go, the log lines; loggers.go, their levels
//	recorder.go       steps to event records and the archive; meter.go, how long things take
//	readers.go        View, Snapshot, Unanswered, Verify
//	history.go        points of what partitions use, for the archive
//	viewbroker.go     readers wait for the owner and share its views
//	diagnostics.go    the state of a resource manager
package scheduler
