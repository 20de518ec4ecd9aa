// Package archive keeps what partitions have been: records of applications, of those
// that ended and those that were rejected too, the last plans to make room and what
// came of them, how much there was minute by minute, and what queues used, what waited
// and what was placed in the last hours.
//
//	core.Partition ─ events.Step ─► Book ─► ApplicationRecord, Plan, counts ─► readers
//	                                 └─ in an Archive, by partition
//
// What holds:
//
//   - A book follows from the steps of its partition, in their order, from the views
//     that it is given as samples, and from the time at which it is read: nothing here
//     reads a clock or starts a goroutine.
//   - Everything is bounded. Records of the past are forgotten by number and by age;
//     of what goes on, applications and nodes are kept, and of allocations the lives of some.
//   - An event costs a look-up of its application and at most one of its queue, however
//     much is kept.
//   - What readers get is never changed. Both sides hold the lock of a book for as
//     long as it takes to observe a step, to copy what changed or to sample all queues.
//
// One goroutine writes a book, any number read it.
//
// Read in this order:
//
//	config.go       the bounds
//	archive.go      Archive: the books of all partitions
//	book.go         Book: from steps to records
//	application.go  ApplicationRecord: an application from its first day to its last
//	usage.go        what allocations used in the end
//	pending.go      why asks waited
//	lives.go        Life: how long an ask waited for what, and what happened to it; runs.go, how long others ran
//	plans.go        plans to make room, and what came of them
//	plan.go         Plan: what is kept of one
//	arrivals.go     asks that came lately, by user and queue
//	accounts.go     work by queue, user and day; accountrows.go, as it is kept beyond the process
//	changes.go      configurations, nodes and starts
//	counts.go       how much there was, minute by minute
//	history.go      points of the last hours, of the cluster and of each queue
//	sample.go       the points of all queues at one time
package archive
