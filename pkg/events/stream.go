package events

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Why there is no stream, or no more.
var (
	ErrTooManyStreams = errors.New("too many event streams")
	ErrTooSlow        = errors.New("the event stream was read too slowly")
	ErrClosed         = errors.New("the event stream is closed")
)

// A Stream gives the entries of a history one after the other. It has no buffer
// of its own: what it has not given yet is in the history, and when that has
// gone on for so long that an entry it should give is no longer there, it ends.
//
//	what it gave and will give is every entry from its first on, once
//	it is open, in the list of the history, until it has ended
type Stream struct {
	history *History
	client  string
	since   time.Time
	next    uint64 // the entry that it gives next
	ended   error
}

// Subscribe opens a stream that begins with the last recent entries, or all there
// are, and goes on with those to come. Streams are counted by client against the
// limit per client: that should be where the reader really is, such as the host of
// its address, not what it says of itself. The stream must be closed.
func (h *History) Subscribe(now time.Time, client string, recent uint64) (*Stream, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.endSlow()
	switch {
	case h.closed:
		return nil, ErrClosed
	case len(h.streams) >= h.config.StreamsMax:
		h.counters.StreamsRefused++
		return nil, fmt.Errorf("%w: %d are open", ErrTooManyStreams, len(h.streams))
	case h.clients[client] >= h.config.StreamsPerClientMax:
		h.counters.StreamsRefused++
		return nil, fmt.Errorf("%w: %d are open from %s", ErrTooManyStreams, h.clients[client], client)
	}
	s := &Stream{history: h, client: client, since: now, next: h.latest(recent)}
	h.streams = append(h.streams, s)
	h.clients[client]++
	h.counters.StreamsOpened++
	return s, nil
}

// endSlow ends the streams that are too far behind. Each would find out when it
// is read next; those that are never read again must not count for long.
func (h *History) endSlow() {
	for _, s := range slices.Clone(h.streams) {
		h.endIfSlow(s)
	}
}

func (h *History) endIfSlow(s *Stream) {
	if s.ended == nil && s.next < h.ring.kept {
		h.counters.StreamsSlow++
		h.end(s, ErrTooSlow)
	}
}

// end takes a stream off the list, once.
func (h *History) end(s *Stream, why error) {
	if s.ended != nil {
		return
	}
	s.ended = why
	at := slices.Index(h.streams, s)
	h.streams = slices.Delete(h.streams, at, at+1)
	if h.clients[s.client]--; h.clients[s.client] == 0 {
		delete(h.clients, s.client)
	}
}

// Read waits for at least one entry and copies what there is, as far as there is
// room. It returns ErrTooSlow or ErrClosed once the stream has ended, and the
// error of the context, after which it can be called again. With no room it
// returns zero.
func (s *Stream) Read(ctx context.Context, into []Entry) (int, error) {
	for {
		n, changed, err := s.take(into)
		if changed == nil {
			return n, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
}

// take copies what there is. If that is nothing so far, it returns what will be
// closed when it is worth while to look again.
func (s *Stream) take(into []Entry) (n int, changed <-chan struct{}, err error) {
	h := s.history
	h.mu.Lock()
	defer h.mu.Unlock()
	h.endIfSlow(s)
	if s.ended != nil {
		return 0, nil, s.ended
	}
	n = h.ring.copy(into, s.next)
	s.next += uint64(n)
	if n > 0 || len(into) == 0 {
		return n, nil, nil
	}
	if h.changed == nil {
		h.changed = make(chan struct{})
	}
	return 0, h.changed, nil
}

// Close ends the stream. A Read that waits returns ErrClosed. Closing again does
// nothing.
func (s *Stream) Close() {
	s.history.mu.Lock()
	defer s.history.mu.Unlock()
	s.history.end(s, ErrClosed)
	s.history.stir()
}

// A Reader is the client of a stream, and when the stream was opened.
type Reader struct {
	Client string
	Since  time.Time
}

// Readers are those of the streams that are open, oldest first.
func (h *History) Readers() []Reader {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.endSlow()
	readers := make([]Reader, len(h.streams))
	for i, s := range h.streams {
		readers[i] = Reader{s.client, s.since}
	}
	return readers
}
