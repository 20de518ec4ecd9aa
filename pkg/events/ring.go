package events

import (
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
)

// An Entry is one place in the history. Count and LastNano are what they were
// when the entry was read: they grow while the record is repeated.
type Entry struct {
	ID       uint64
	Record   *si.EventRecord // shared, never changed
	Count    int64           // how many records it stands for, at least one
	LastNano int64           // the latest time of them
}

// A ring holds the latest entries.
//
//	entry i is in slots[i % len(slots)], for kept <= i < next
//	kept <= lowest <= next <= lowest + capacity
//	next <= kept + len(slots), len(slots) = capacity + slack
//
// What is between kept and lowest is no longer history, but there for streams
// that are on their way through it.
type ring struct {
	slots    []Entry
	capacity int
	kept     uint64
	lowest   uint64
	next     uint64
}

// slack is how many entries a stream may be behind, beyond the whole history.
const slack = 1000

func newRing(capacity int) ring {
	return ring{slots: make([]Entry, capacity+slack), capacity: capacity}
}

// add makes an entry of a record, and returns its ID.
func (r *ring) add(record *si.EventRecord) uint64 {
	id := r.next
	*r.at(id) = Entry{ID: id, Record: record, Count: 1, LastNano: record.TimestampNano}
	r.next++
	r.bound()
	return id
}

// bound lets go of what is beyond the capacity.
func (r *ring) bound() {
	r.lowest = max(r.lowest, r.next-min(r.next, uint64(r.capacity)))
	r.kept = max(r.kept, r.next-min(r.next, uint64(len(r.slots))))
}

// at is the slot of an entry that is kept.
func (r *ring) at(id uint64) *Entry { return &r.slots[id%uint64(len(r.slots))] }

// copy fills a slice with entries from one on that is kept, or the next to come.
func (r *ring) copy(into []Entry, from uint64) int {
	n := min(uint64(len(into)), r.next-from)
	for i := range n {
		into[i] = *r.at(from + i)
	}
	return int(n)
}

// resized is a ring of another capacity with the latest entries.
func (r *ring) resized(capacity int) ring {
	other := newRing(capacity)
	other.kept, other.lowest, other.next = r.kept, r.lowest, r.next
	other.bound()
	for id := other.kept; id < other.next; id++ {
		*other.at(id) = *r.at(id)
	}
	return other
}
