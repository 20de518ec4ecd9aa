// Package events keeps what happened lately, as records about objects.
//
// A Recorder turns what a partition did into event records. A History keeps the
// latest of them in a ring, numbered, and gives them to readers: as a page, or as
// a Stream that begins in the past and goes on. A Store holds them for the callback
// of a resource manager. Nothing here starts a goroutine or reads a clock:
//
//	core.Partition ─ Step ─► Recorder ─ records ─► History ─► Query, Latest, Stream
//	                                                  └─ new ones ─► Store ─► SendEvent
//
// What holds:
//
//   - The records of a step follow from its events alone. A reader of all records
//     knows what runs where and what waits; only other amounts of an ask or
//     allocation are not recorded.
//   - IDs begin at zero, are given in order and never again. A History keeps the
//     latest ones without a gap, whatever its capacity is changed to.
//   - A record that repeats the last one about its object is counted with it,
//     for as long as a window. So the latest entry about an object always tells how
//     things are.
//   - A Stream gives every entry from its first on exactly once, in order, or ends
//     with a reason. A slow reader costs the writer nothing, and other readers
//     nothing.
//   - Records are shared by all readers and never changed.
//
// A Recorder belongs to one goroutine. A History and a Store may be used by any
// number. For one resource manager, the goroutine that makes the callbacks writes
//
//	records = recorder.Record(records[:0], step)
//	store.Put(history.Publish(records))
//
// for each step. While the history is disabled, Skip takes the place of Record.
//
// Read in this order:
//
//	recorder.go      Step, Recorder: from steps to records
//	records.go       the records of one event: Records, Notice
//	allocations.go   records of asks, allocations and nodes; applications.go, of applications
//	queues.go        what a configuration changes; limits.go, users and groups; shared.go, amounts as messages; expired.go
//	config.go        the limits of a History
//	history.go       History: Publish, Query, Latest, Configure
//	ring.go          the latest entries; repeats.go, records that repeat an entry
//	stream.go        Stream: Subscribe, Read
//	store.go         what waits for a resource manager
//	counters.go      what was counted
package events
