// Package archive keeps what partitions have been: the lives of applications,
// those that ended and those that were rejected too, the last plans to make room
// and what came of them, and how much there was minute by minute.
//
//	core.Partition ─ events.Step ─► Book ─► Life, Plan, counts ─► readers
//	                                 └─ in an Archive, by partition
//
// What holds:
//
//   - A book follows from the steps of its partition alone, in their order, and
//     from the time at which it is read: nothing here reads a clock or starts a
//     goroutine.
//   - Everything is bounded. What has ended is forgotten by number and by age;
//     what goes on is as much as the partition holds.
//   - A step costs a look-up for each allocation that begins or ends, however much
//     is kept.
//   - What readers get is never changed. Both sides hold the lock of a book for as
//     long as it takes to write a step or to copy what changed.
//
// One goroutine writes a book, any number read it.
//
// Read in this order:
//
//	config.go       the bounds
//	archive.go      Archive: the books of all partitions
//	book.go         Book: from steps to what is kept
//	life.go         Life: an application from its first day to its last
//	allocations.go  what runs, and what it used in the end
//	waits.go        why asks waited
//	plans.go        Plan: who was told to go, for whom, and what came of it
//	plan.go         what a plan says
//	counts.go       how much there was, minute by minute
package archive
