package events

// Counters are what histories and stores have counted since they were made;
// Streams is how many there are now.
//
//	Created   = Dropped + Recorded + Aggregated, of a history
//	Collected <= Stored, of a store
type Counters struct {
	Created    uint64 // records published
	Dropped    uint64 // of them while the history was disabled
	Recorded   uint64 // of them that became entries
	Aggregated uint64 // of them that were counted with an entry

	Stored    uint64 // records put into a store
	NotStored uint64 // records for which it had no room
	Collected uint64 // records taken out of it

	Streams        int    // that are open
	StreamsOpened  uint64 // so far
	StreamsRefused uint64 // because of a limit
	StreamsSlow    uint64 // that ended because they were read too slowly
}

// Plus is what two have counted together.
func (c Counters) Plus(other Counters) Counters {
	return Counters{
		Created:        c.Created + other.Created,
		Dropped:        c.Dropped + other.Dropped,
		Recorded:       c.Recorded + other.Recorded,
		Aggregated:     c.Aggregated + other.Aggregated,
		Stored:         c.Stored + other.Stored,
		NotStored:      c.NotStored + other.NotStored,
		Collected:      c.Collected + other.Collected,
		Streams:        c.Streams + other.Streams,
		StreamsOpened:  c.StreamsOpened + other.StreamsOpened,
		StreamsRefused: c.StreamsRefused + other.StreamsRefused,
		StreamsSlow:    c.StreamsSlow + other.StreamsSlow,
	}
}

// Counters are what was counted so far.
func (h *History) Counters() Counters {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.endSlow()
	counters := h.counters
	counters.Streams = len(h.streams)
	return counters
}
