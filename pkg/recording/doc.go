// Package recording keeps what partitions are given and what they do, and plays it again.
//
// A Recorder writes, for each partition, every command, every call of Schedule, every answer of the resource manager and
// a digest of what came of it, in files that are segments. The first begins with an exact image of the partition (package
// image). Those of others are made beside the scheduler, by playing what was written. So a Player reaches any moment from the
// beginning of its segment, and says whether the same comes out.
//
//	DIR/PARTITION/BEGAN-NUMBER.recording    BEGAN is when the recording began, NUMBER counts its segments
//	DIR/PARTITION/BEGAN-NUMBER.image        with which the segment begins
//
// Read in this order:
//
//	recorder.go   Recorder and its settings; a goroutine that writes
//	tape.go       one partition that is recorded; asked.go, the answers that it gets
//	segment.go    what a segment begins with, and its frames; writing.go appends to one, and removes old ones
//	images.go     makes images, and finds those of segments
//	directory.go  which segments there are
//	player.go     plays one; given.go gives the answers again; step.go what a step is in a file
//	redact.go     a copy with other names; names.go, which; renaming.go, where they stand
package recording
