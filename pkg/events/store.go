package events

import (
	"sync"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
)

// DefaultStoreMax is how many records a store holds where nothing is configured.
const DefaultStoreMax = 1000

// A Store holds the records that a resource manager has not been given yet. Those
// that come while it is full are dropped and counted. It may be used by any number of goroutines.
type Store struct {
	mu       sync.Mutex
	most     int
	records  []*si.EventRecord
	counters Counters
}

// NewStore makes a store for so many records; less than one means DefaultStoreMax.
func NewStore(most int) *Store {
	s := new(Store)
	s.Bound(most)
	return s
}

// Bound changes how many records may wait; less than one means DefaultStoreMax.
// What waits already stays.
func (s *Store) Bound(most int) {
	if most < 1 {
		most = DefaultStoreMax
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.most = most
}

// Put adds records, as many of the first as there is room for. The slice stays
// with the caller.
func (s *Store) Put(records []*si.EventRecord) {
	if len(records) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := min(len(records), max(s.most-len(s.records), 0))
	s.records = append(s.records, records[:n]...)
	s.counters.Stored += uint64(n)
	s.counters.NotStored += uint64(len(records) - n)
}

// Take empties the store. The slice belongs to the caller, the records in it to
// all their readers; it is nil if there are none.
func (s *Store) Take() []*si.EventRecord {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.records
	s.records = nil
	s.counters.Collected += uint64(len(taken))
	return taken
}

// Counters are what was counted so far.
func (s *Store) Counters() Counters {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counters
}
