// Package events tells what happened lately, object by object.
//
// A Scribe turns what a partition did into event records. A History keeps the
// latest of them in a ring, numbered, and hands them to whoever asks: as a page,
// or as a Stream that begins in the past and goes on. A Store holds them for the
// callback of a resource manager. Nothing here starts a goroutine or reads a
// clock:
//
//	core.Partition ─ Step ─► Scribe ─ records ─► History ─► Query, Latest, Stream
//	                                                └─ fresh ones ─► Store ─► SendEvent
//
// What holds:
//
//   - The records of a step alone say what the step did to the books: who reads
//     all of them knows what runs where and what waits.
//   - IDs begin at zero, are given in order and never again. A History keeps the
//     latest ones without a gap, whatever its capacity is changed to.
//   - A record that says again what was last said about its object is counted
//     with the one before, for as long as a window. So the latest entry about an
//     object always tells how things are.
//   - A Stream gives every entry from its first on exactly once, in order, or
//     ends with a reason. A reader can be slow or gone: it costs the writer
//     nothing, and other readers nothing.
//   - Records are shared by all who read them. Nobody changes one.
//
// One goroutine uses a Scribe. A History and a Store may be used by any number.
// For one resource manager, the goroutine that makes the callbacks writes
//
//	records = scribe.Tell(records[:0], step)
//	store.Put(history.Publish(records))
//
// for each step, before the effects of the step are given away: messages in
// callbacks belong to the callback. While the history is disabled, Follow takes
// the place of Tell, so that nothing is made for nobody.
//
// Read in this order:
//
//	scribe.go        Step, Scribe: from effects to records
//	applications.go  what is told of applications; allocations.go, asks and allocations
//	queues.go        what a configuration changes; nodes.go, what the root has
//	config.go        the limits of a History
//	history.go       History: Publish, Query, Latest, Configure
//	ring.go          the latest entries; repeats.go, what is said again
//	stream.go        Stream: Subscribe, Read
//	store.go         what waits for a resource manager
//	counters.go      what was counted
package events
