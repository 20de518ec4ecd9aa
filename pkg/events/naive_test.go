package events_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/events"
)

// naive is a history that keeps everything and looks through all of it.
type naive struct {
	entries []events.Entry // entry i has ID i
	lowest  int
	config  events.Config
	since   int // entries before are not repeated any more
}

func (n *naive) publish(records []*si.EventRecord) {
	if n.config.Disabled {
		return
	}
	for _, r := range records {
		if e := n.lastAbout(r); e != nil && e.Record.Message == r.Message &&
			r.TimestampNano >= e.Record.TimestampNano && r.TimestampNano-e.Record.TimestampNano < int64(n.config.Window) {
			e.Count++
			e.LastNano = max(e.LastNano, r.TimestampNano)
			continue
		}
		n.entries = append(n.entries, events.Entry{ID: uint64(len(n.entries)), Record: r, Count: 1, LastNano: r.TimestampNano})
		n.lowest = max(n.lowest, len(n.entries)-n.config.Capacity)
	}
}

func (n *naive) lastAbout(r *si.EventRecord) *events.Entry {
	for i, e := range slices.Backward(n.entries[max(n.lowest, n.since):]) {
		if e.Record.ObjectID == r.ObjectID {
			return &n.entries[max(n.lowest, n.since)+i]
		}
	}
	return nil
}

func (n *naive) configure(c events.Config) {
	if c.Disabled != n.config.Disabled {
		n.since = len(n.entries)
	}
	n.config = c
	n.lowest = max(n.lowest, len(n.entries)-c.Capacity)
}

func (n *naive) query(start, count uint64) []events.Entry {
	if start < uint64(n.lowest) || start >= uint64(len(n.entries)) || count == 0 {
		return nil
	}
	rest := n.entries[start:]
	return rest[:min(count, uint64(len(rest)))]
}

func (n *naive) latest(count uint64) []events.Entry {
	return n.query(uint64(len(n.entries))-min(count, uint64(len(n.entries)-n.lowest)), count)
}

// follower is a stream and what it must give next.
type follower struct {
	stream *events.Stream
	next   int
}

// twins are a history and the naive one, which live through the same.
type twins struct {
	chance
	t         *testing.T
	h         *events.History
	n         naive
	at        int // seconds
	followers []*follower
	given     int // entries, by streams
	slow      int // streams that were
}

func (w *twins) config() events.Config {
	return events.Config{
		Capacity: 1 + w.IntN(12)*w.IntN(12), Window: time.Duration(1+w.IntN(6)) * time.Second,
		Disabled: w.IntN(4) == 0, StreamsMax: 5, StreamsPerClientMax: 5,
	}
}

func newTwins(t *testing.T, c chance) *twins {
	w := &twins{chance: c, t: t}
	w.n.config = w.config()
	w.h = newHistory(t, w.n.config)
	return w
}

func (w *twins) live(steps int) {
	for range steps {
		w.at += w.IntN(4) - w.IntN(2)
		switch w.IntN(8) {
		case 0:
			c := w.config()
			w.n.configure(c)
			assert.NilError(w.t, w.h.Configure(c))
		case 1:
			w.subscribe()
		case 2:
			w.follow()
		default:
			w.publish(1 + w.IntN(20))
		}
		w.compare()
	}
}

func (w *twins) publish(count int) {
	if w.IntN(40) == 0 {
		count *= 70 // beyond what a stream may be behind
	}
	records := make([]*si.EventRecord, count)
	for i := range records {
		records[i] = said(fmt.Sprint("o", w.IntN(9)), fmt.Sprint(" ", w.IntN(2)), w.at)
	}
	before := len(w.n.entries)
	w.n.publish(records)
	news := w.h.Publish(slices.Clone(records))
	assert.Equal(w.t, len(news), len(w.n.entries)-before)
	for i, r := range news {
		assert.Assert(w.t, r == w.n.entries[before+i].Record)
	}
}

func (w *twins) subscribe() {
	if len(w.followers) == 5 {
		w.followers[0].stream.Close()
		w.followers = w.followers[1:]
	}
	recent := uint64(w.IntN(40))
	s, err := w.h.Subscribe(start, "c", recent)
	assert.NilError(w.t, err)
	w.followers = append(w.followers, &follower{s, len(w.n.entries) - len(w.n.latest(recent))})
}

// follow reads a stream, if there is something to read.
func (w *twins) follow() {
	if len(w.followers) == 0 {
		return
	}
	i := w.IntN(len(w.followers))
	f := w.followers[i]
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	into := make([]events.Entry, 1+w.IntN(300))
	n, err := f.stream.Read(ctx, into)
	switch {
	case errors.Is(err, events.ErrTooSlow):
		assert.Assert(w.t, len(w.n.entries)-f.next > 1000, "it was only %d behind", len(w.n.entries)-f.next)
		w.followers = slices.Delete(w.followers, i, i+1)
		w.slow++
	case f.next == len(w.n.entries):
		assert.ErrorIs(w.t, err, context.Canceled)
	default:
		assert.NilError(w.t, err)
		assert.DeepEqual(w.t, plain(into[:n]), plain(w.n.entries[f.next:f.next+n]))
		f.next += n
		w.given += n
	}
}

func (w *twins) compare() {
	huge := []uint64{1<<64 - 1, 1 << 63}
	number := func() uint64 {
		if w.IntN(6) == 0 {
			return huge[w.IntN(2)]
		}
		return uint64(max(0, w.n.lowest-3+w.IntN(20)))
	}
	at, count := number(), number()
	page := w.h.Query(at, count)
	assert.DeepEqual(w.t, plain(page.Entries), plain(w.n.query(at, count)))
	if len(w.n.entries) > 0 {
		assert.Equal(w.t, page.Lowest, uint64(w.n.lowest))
		assert.Equal(w.t, page.Highest, uint64(len(w.n.entries)-1))
	}
	assert.DeepEqual(w.t, plain(w.h.Latest(count).Entries), plain(w.n.latest(count)))
	c := w.h.Counters()
	assert.Equal(w.t, c.Created, c.Dropped+c.Recorded+c.Aggregated)
	assert.Equal(w.t, c.Recorded, uint64(len(w.n.entries)))
}

// plain are entries that can be compared; equal records are the same one.
func plain(entries []events.Entry) []string {
	out := make([]string, len(entries))
	for i, e := range entries {
		out[i] = fmt.Sprintf("%d %p %d %d", e.ID, e.Record, e.Count, e.LastNano)
	}
	return out
}

func TestHistoryIsAsTheNaiveOne(t *testing.T) {
	if testing.Short() {
		t.Skip("large, and played without the race detector")
	}
	given, slow := 0, 0
	for seed := range uint64(40) {
		w := newTwins(t, rand.New(rand.NewPCG(seed, 2)))
		w.live(150)
		given, slow = given+w.given, slow+w.slow
	}
	assert.Assert(t, given > 1000 && slow > 5, "%d entries given, %d streams too slow", given, slow)
}

func FuzzHistory(f *testing.F) {
	f.Add([]byte("\x05\x05\x01\x01\x00\x03\x04\x09\x01\x02\x03\x01\x01\x02\x00\x00\x07"))
	f.Fuzz(func(t *testing.T, data []byte) {
		newTwins(t, &bytesChance{data}).live(min(len(data), 200))
	})
}

func FuzzQuery(f *testing.F) {
	f.Add(uint64(0), uint64(0), uint8(3), uint8(7))
	f.Add(uint64(1<<64-1), uint64(1<<64-1), uint8(1), uint8(200))
	f.Fuzz(func(t *testing.T, at, count uint64, capacity, published uint8) {
		config := events.Config{Capacity: 1 + int(capacity)}
		h, n := newHistory(t, config), naive{config: config}
		records := numbered(0, int(published))
		n.publish(records)
		h.Publish(records)
		assert.DeepEqual(t, plain(h.Query(at, count).Entries), plain(n.query(at, count)))
		assert.DeepEqual(t, plain(h.Latest(count).Entries), plain(n.latest(count)))
	})
}
