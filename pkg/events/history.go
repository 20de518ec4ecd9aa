package events

import (
	"fmt"
	"sync"
	"unicode/utf8"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
)

// MessageMax is the most bytes of a message. A longer one is cut, and ends with
// three dots.
const MessageMax = 1024

// selectAtOnce is how many entries are copied at once to select from them.
const selectAtOnce = 4096

// A History is the latest entries, numbered. It may be used by any number of
// goroutines; each holds its lock for no longer than it takes to copy what is
// read.
type History struct {
	instance string

	mu       sync.Mutex
	config   Config // with defaults
	ring     ring
	repeats  repeats
	streams  []*Stream // that are open, oldest first
	clients  map[string]int
	changed  chan struct{} // closed when there is something new; nil if no stream waits
	closed   bool
	counters Counters
}

// NewHistory makes an empty history. Instance is in every page, so that a reader
// notices that IDs have begun anew: it should be another text in every process.
func NewHistory(instance string, config Config) (*History, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("event history: %w", err)
	}
	config = config.withDefaults()
	return &History{
		instance: instance, config: config, ring: newRing(config.Capacity), clients: map[string]int{},
	}, nil
}

// Configure changes the limits. What is in the history stays, the newest if not
// all of it.
func (h *History) Configure(config Config) error {
	if err := config.Validate(); err != nil {
		return fmt.Errorf("event history: %w", err)
	}
	config = config.withDefaults()
	h.mu.Lock()
	defer h.mu.Unlock()
	if config.Capacity != h.config.Capacity {
		h.ring = h.ring.resized(config.Capacity)
	}
	if config.Disabled != h.config.Disabled {
		h.repeats = repeats{} // what is dropped may have been another last word
	}
	h.config = config
	return nil
}

// Config is the limits in force, with what holds where nothing was configured.
func (h *History) Config() Config {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.config
}

// Enabled reports whether what is published is kept.
func (h *History) Enabled() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.config.Disabled && !h.closed
}

// Instance is another text in every process.
func (h *History) Instance() string { return h.instance }

// Publish adds records, in order; they must not be changed any more. It returns
// those that became entries, in the slice that it was given: a record that repeats
// the last one about its object is counted with it, and none becomes an entry
// while the history is disabled. It makes no allocation, however many streams
// there are.
func (h *History) Publish(records []*si.EventRecord) (added []*si.EventRecord) {
	added = records[:0]
	h.mu.Lock()
	h.counters.Created += uint64(len(records))
	if h.config.Disabled || h.closed {
		h.counters.Dropped += uint64(len(records))
		h.mu.Unlock()
		return added
	}
	for _, record := range records {
		record = cut(record)
		if h.keep(record) {
			added = append(added, record)
		}
	}
	h.counters.Recorded += uint64(len(added))
	h.counters.Aggregated += uint64(len(records) - len(added))
	var wake chan struct{}
	if len(added) > 0 {
		wake, h.changed = h.changed, nil
	}
	h.mu.Unlock()
	if wake != nil {
		close(wake)
	}
	return added
}

// keep makes an entry of a record, or counts it with the one it repeats.
func (h *History) keep(record *si.EventRecord) bool {
	last, hash := h.repeats.about(record)
	if last.hash == hash && last.after > h.ring.lowest { // it is in the history
		if e := h.ring.at(last.after - 1); e.repeatedBy(record, h.config.Window) {
			e.count(record)
			return false
		}
	}
	*last = lastEntry{hash, h.ring.add(record) + 1}
	return true
}

// A Page is a piece of the history, and how much there is.
type Page struct {
	Instance        string
	Lowest, Highest uint64  // IDs of the first and last entry there is; both zero if there is none
	Entries         []Entry // nil if there is none of those asked for
}

// Query is at most count entries from an ID on. It has none if the ID is not in
// the history.
func (h *History) Query(start, count uint64) Page {
	return h.page(count, func(uint64) uint64 { return start })
}

// Select is at most count of the entries from an ID on that are wanted, the first of them. The lock is not held all
// the time, so that what is published meanwhile may be among them, and what is forgotten meanwhile is not.
func (h *History) Select(start, count uint64, wanted func(Entry) bool) Page {
	var found []Entry
	for {
		page := h.page(selectAtOnce, func(uint64) uint64 { return max(start, h.ring.lowest) })
		for _, e := range page.Entries {
			if uint64(len(found)) < count && wanted(e) {
				found = append(found, e)
			}
		}
		if len(page.Entries) == 0 || uint64(len(found)) >= count {
			page.Entries = found
			return page
		}
		start = page.Entries[len(page.Entries)-1].ID + 1
	}
}

// Latest is the last count entries, or all there are.
func (h *History) Latest(count uint64) Page {
	return h.page(count, h.latest)
}

// latest is the ID from which on there are count entries, or all there are.
func (h *History) latest(count uint64) uint64 {
	return h.ring.next - min(count, h.ring.next-h.ring.lowest)
}

// page copies at most count entries from the one that start names, given how many
// there will be. What they are copied into is made without the lock.
func (h *History) page(count uint64, start func(count uint64) uint64) Page {
	h.mu.Lock()
	count = min(count, h.ring.next-h.ring.lowest)
	h.mu.Unlock()
	entries := make([]Entry, count)

	h.mu.Lock()
	defer h.mu.Unlock()
	page := Page{Instance: h.instance}
	if h.ring.next == 0 {
		return page
	}
	page.Lowest, page.Highest = h.ring.lowest, h.ring.next-1
	if from := start(count); from >= page.Lowest && from <= page.Highest && count > 0 {
		page.Entries = entries[:h.ring.copy(entries, from)]
	}
	return page
}

// Close ends all streams and drops what is published from now on. What is in
// the history can still be read.
func (h *History) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for len(h.streams) > 0 {
		h.end(h.streams[0], ErrClosed)
	}
	h.stir()
}

// stir wakes the streams that wait for something new.
func (h *History) stir() {
	if h.changed != nil {
		close(h.changed)
		h.changed = nil
	}
}

// cut is a record with a message that is not too long. One that is too long
// is shared, so it is replaced.
func cut(record *si.EventRecord) *si.EventRecord {
	if len(record.Message) <= MessageMax {
		return record
	}
	const dots = "..."
	end := MessageMax - len(dots)
	for end > MessageMax-len(dots)-utf8.UTFMax && !utf8.RuneStart(record.Message[end]) {
		end--
	}
	return &si.EventRecord{
		Type: record.Type, ObjectID: record.ObjectID, Message: record.Message[:end] + dots,
		TimestampNano: record.TimestampNano, EventChangeType: record.EventChangeType,
		EventChangeDetail: record.EventChangeDetail, ReferenceID: record.ReferenceID, Resource: record.Resource,
	}
}
