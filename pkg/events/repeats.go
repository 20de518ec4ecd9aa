package events

import (
	"hash/fnv"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
)

// Repeats are the last entries about objects, by the hash of what a record is
// about. Where two collide, the older one is forgotten: then a repeat becomes an
// entry of its own. As all records about the same objects have the same place, an
// entry that is found there is the last one about its object.
type repeats [1 << 13]lastEntry

// A lastEntry is an entry by its ID, with the whole hash: most records repeat
// nothing, and then the entry need not be looked at.
type lastEntry struct {
	hash  uint64
	after uint64 // one more than the ID; zero is none
}

// about is the place of what a record is about, and the hash to be found there.
func (p *repeats) about(record *si.EventRecord) (*lastEntry, uint64) {
	sum := fnv.New64a() // the same on every run
	sum.Write([]byte{byte(record.Type), byte(len(record.ObjectID))})
	sum.Write([]byte(record.ObjectID))
	sum.Write([]byte(record.ReferenceID))
	h := sum.Sum64()
	return &p[(h^h>>32)%uint64(len(p))], h
}

// repeatedBy reports whether a record says the same as the entry, before a
// window ends that begins with the entry.
func (e *Entry) repeatedBy(record *si.EventRecord, window time.Duration) bool {
	first := e.Record
	since := record.TimestampNano - first.TimestampNano
	return since >= 0 && since < int64(window) &&
		first.Type == record.Type && first.ObjectID == record.ObjectID && first.ReferenceID == record.ReferenceID &&
		first.EventChangeType == record.EventChangeType && first.EventChangeDetail == record.EventChangeDetail &&
		first.Message == record.Message && equal(first.Resource, record.Resource)
}

// count counts a record that repeats the entry.
func (e *Entry) count(record *si.EventRecord) {
	e.Count++
	e.LastNano = max(e.LastNano, record.TimestampNano)
}

// equal reports whether two resources name the same quantities.
func equal(a, b *si.Resource) bool {
	if a == b {
		return true
	}
	if len(a.GetResources()) != len(b.GetResources()) {
		return false
	}
	for name, quantity := range a.GetResources() {
		other, ok := b.GetResources()[name]
		if !ok || other.GetValue() != quantity.GetValue() {
			return false
		}
	}
	return true
}
