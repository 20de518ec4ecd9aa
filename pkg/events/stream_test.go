package events_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/events"
)

func subscribe(t testing.TB, h *events.History, client string, recent uint64) *events.Stream {
	s, err := h.Subscribe(start, client, recent)
	assert.NilError(t, err)
	return s
}

// read is what a stream gives at once, or its error.
func read(s *events.Stream, room int) string {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("nothing so far"))
	into := make([]events.Entry, room)
	n, err := s.Read(ctx, into)
	if err != nil {
		return err.Error()
	}
	return shown(into[:n])
}

func TestAStreamBeginsInThePast(t *testing.T) {
	h := newHistory(t, events.Config{Capacity: 3})
	h.Publish(numbered(0, 5))
	all, one, none := subscribe(t, h, "a", 1<<64-1), subscribe(t, h, "a", 1), subscribe(t, h, "a", 0)
	h.Publish(numbered(5, 7))
	assert.Equal(t, read(all, 2), "2:o2 3:o3")
	assert.Equal(t, read(all, 0), "")
	assert.Equal(t, read(all, 9), "4:o4 5:o5 6:o6")
	assert.Equal(t, read(all, 9), "nothing so far")
	assert.Equal(t, read(one, 9), "4:o4 5:o5 6:o6")
	assert.Equal(t, read(none, 9), "5:o5 6:o6")
	h.Publish(numbered(6, 8)) // the first repeats an entry
	assert.Equal(t, read(all, 9), "7:o7")
}

// A stream may be behind by a thousand entries more than the history holds. It
// then ends, makes room for another one, and says why as often as it is asked.
func TestASlowReader(t *testing.T) {
	h := newHistory(t, events.Config{Capacity: 10, StreamsMax: 1})
	s := subscribe(t, h, "a", 0)
	h.Publish(numbered(0, 1010))
	assert.Equal(t, read(s, 1), "0:o0")
	h.Publish(numbered(1010, 1011))
	assert.Equal(t, read(s, 1), "1:o1")
	h.Publish(numbered(1011, 1013))
	for range 2 {
		assert.Equal(t, read(s, 1), "the event stream was read too slowly")
	}
	assert.Equal(t, h.Counters().StreamsSlow, uint64(1))
	again := subscribe(t, h, "a", 2)
	s.Close() // of no effect any more
	assert.Equal(t, read(again, 9), "1011:o1011 1012:o1012")
}

// A stream that is not read any more makes room for another one.
func TestAReaderThatIsGone(t *testing.T) {
	h := newHistory(t, events.Config{Capacity: 10, StreamsMax: 1})
	gone := subscribe(t, h, "a", 0)
	h.Publish(numbered(0, 1010))
	_, err := h.Subscribe(start, "a", 0)
	assert.ErrorIs(t, err, events.ErrTooManyStreams)
	h.Publish(numbered(1010, 1011))
	next := subscribe(t, h, "a", 0)
	assert.Equal(t, read(gone, 1), "the event stream was read too slowly")
	h.Publish(numbered(1011, 3000))
	assert.Equal(t, h.Counters().Streams, 0)
	subscribe(t, h, "a", 0)
	h.Publish(numbered(3000, 5000))
	assert.Equal(t, len(h.Readers()), 0)
	assert.Equal(t, read(next, 1), "the event stream was read too slowly")
}

func TestLimitsOfStreams(t *testing.T) {
	config := events.Config{StreamsMax: 3, StreamsPerClientMax: 2}
	h := newHistory(t, config)
	a1, a2 := subscribe(t, h, "a", 0), subscribe(t, h, "a", 0)
	_, err := h.Subscribe(start, "a", 0)
	assert.ErrorIs(t, err, events.ErrTooManyStreams)
	assert.Error(t, err, "too many event streams: 2 are open from a")
	subscribe(t, h, "b", 0)
	_, err = h.Subscribe(start, "c", 0)
	assert.Error(t, err, "too many event streams: 3 are open")
	assert.Equal(t, h.Counters(), events.Counters{Streams: 3, StreamsOpened: 3, StreamsRefused: 2})

	a1.Close()
	a1.Close()
	subscribe(t, h, "a", 0)
	assert.Equal(t, len(h.Readers()), 3)
	// Lower limits end no stream.
	config.StreamsMax, config.StreamsPerClientMax = 1, 1
	assert.NilError(t, h.Configure(config))
	h.Publish(numbered(0, 1))
	assert.Equal(t, read(a2, 1), "0:o0")
	_, err = h.Subscribe(start, "d", 0)
	assert.Error(t, err, "too many event streams: 3 are open")
}

func TestReadersAreKnown(t *testing.T) {
	h := newHistory(t, events.Config{})
	a, err := h.Subscribe(start, "10.0.0.1", 0)
	assert.NilError(t, err)
	_, err = h.Subscribe(start.Add(time.Minute), "10.0.0.2", 0)
	assert.NilError(t, err)
	assert.DeepEqual(t, h.Readers(), []events.Reader{
		{Client: "10.0.0.1", Since: start}, {Client: "10.0.0.2", Since: start.Add(time.Minute)},
	})
	a.Close()
	assert.Equal(t, len(h.Readers()), 1)
}

// A stream stays open while nothing is recorded, and goes on after that.
func TestStreamsOutliveOff(t *testing.T) {
	h := newHistory(t, events.Config{})
	s := subscribe(t, h, "a", 0)
	assert.NilError(t, h.Configure(events.Config{Disabled: true}))
	h.Publish(numbered(0, 3))
	assert.Equal(t, read(s, 9), "nothing so far")
	assert.NilError(t, h.Configure(events.Config{}))
	h.Publish(numbered(3, 4))
	assert.Equal(t, read(s, 9), "0:o3")
}

func TestAClosedHistory(t *testing.T) {
	h := newHistory(t, events.Config{})
	h.Publish(numbered(0, 2))
	a, b := subscribe(t, h, "a", 9), subscribe(t, h, "b", 9)
	h.Close()
	h.Close()
	assert.Equal(t, read(a, 9), "the event stream is closed")
	assert.Equal(t, read(b, 9), "the event stream is closed")
	_, err := h.Subscribe(start, "a", 0)
	assert.ErrorIs(t, err, events.ErrClosed)
	assert.Equal(t, len(h.Publish(numbered(2, 3))), 0)
	assert.Assert(t, !h.Enabled())
	assert.Equal(t, shown(h.Latest(9).Entries), "0:o0 1:o1")
	assert.Equal(t, h.Counters(), events.Counters{Created: 3, Recorded: 2, Dropped: 1, StreamsOpened: 2})
}

// A Read that waits ends with what comes first: an entry, the end of its
// context, of its stream, or of the history.
func TestWaitingReads(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(h *events.History, s *events.Stream, cancel func())
		want string
	}{
		{"entry", func(h *events.History, _ *events.Stream, _ func()) { h.Publish(numbered(0, 1)) }, "0:o0 <nil>"},
		{"context", func(_ *events.History, _ *events.Stream, cancel func()) { cancel() }, " context canceled"},
		{"stream", func(_ *events.History, s *events.Stream, _ func()) { s.Close() }, " the event stream is closed"},
		{"history", func(h *events.History, _ *events.Stream, _ func()) { h.Close() }, " the event stream is closed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHistory(t, events.Config{})
				s, other := subscribe(t, h, "a", 0), subscribe(t, h, "b", 0)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				got := ""
				go func() {
					into := make([]events.Entry, 9)
					n, err := s.Read(ctx, into)
					got = fmt.Sprint(shown(into[:n]), " ", err)
				}()
				synctest.Wait()
				other.Close() // is nothing to this one
				synctest.Wait()
				assert.Equal(t, got, "")
				c.do(h, s, cancel)
				synctest.Wait()
				assert.Equal(t, got, c.want)
			})
		})
	}
}

// Many writers, readers that wait, readers that look, and changes of the
// configuration at once: every stream that lasts gives every entry once. The
// end of the bubble finds goroutines that are left.
func TestAllAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const rounds, writers, readers = 400, 3, 8
		config := events.Config{Capacity: rounds * writers, Window: -1}
		h := newHistory(t, config)
		store := events.NewStore(100)
		var writing, reading sync.WaitGroup
		for i := range readers {
			s := subscribe(t, h, fmt.Sprint(i), 10)
			reading.Go(func() {
				next := uint64(0)
				into := make([]events.Entry, 1+i)
				for {
					n, err := s.Read(t.Context(), into)
					if err != nil {
						assert.Check(t, errors.Is(err, events.ErrClosed), err)
						break
					}
					for _, e := range into[:n] {
						assert.Check(t, e.ID == next, "%d instead of %d", e.ID, next)
						next++
					}
				}
				assert.Check(t, next == rounds*writers, "%d were read", next)
			})
		}
		for range writers {
			writing.Go(func() {
				for i := range rounds {
					store.Put(h.Publish([]*si.EventRecord{said("o", "", i)}))
				}
			})
		}
		writing.Go(func() {
			for i := range 20 {
				config.Capacity += i
				assert.Check(t, h.Configure(config) == nil)
				page := h.Latest(5)
				for i, e := range page.Entries {
					assert.Check(t, page.Highest-e.ID == uint64(len(page.Entries)-1-i))
				}
				h.Readers()
				h.Counters()
				store.Take()
			}
		})
		writing.Wait()
		synctest.Wait()
		h.Close()
		reading.Wait()
		counters := h.Counters().Plus(store.Counters())
		assert.Equal(t, counters.Recorded, uint64(rounds*writers))
		assert.Equal(t, counters.Stored+counters.NotStored, counters.Recorded)
		assert.Equal(t, counters.Streams, 0)
	})
}
