package events_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/events"
)

func newHistory(t testing.TB, config events.Config) *events.History {
	h, err := events.NewHistory("test", config)
	assert.NilError(t, err)
	return h
}

// said is a record about an object, a number of seconds after the start.
func said(object, message string, at int) *si.EventRecord {
	return &si.EventRecord{
		Type: si.EventRecord_REQUEST, ObjectID: object, Message: message,
		TimestampNano: start.Add(time.Duration(at) * time.Second).UnixNano(),
	}
}

// numbered are records that differ, from one number up to another.
func numbered(from, to int) []*si.EventRecord {
	var records []*si.EventRecord
	for i := from; i < to; i++ {
		records = append(records, said(fmt.Sprint("o", i), "", i))
	}
	return records
}

// shown is entries in short: ID, object, message, and how often.
func shown(entries []events.Entry) string {
	var words []string
	for _, e := range entries {
		word := fmt.Sprintf("%d:%s", e.ID, e.Record.ObjectID+e.Record.Message)
		if e.Count != 1 {
			word += fmt.Sprintf("*%d", e.Count)
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func span(p events.Page) string { return fmt.Sprintf("%d-%d", p.Lowest, p.Highest) }

func TestPages(t *testing.T) {
	h := newHistory(t, events.Config{Capacity: 3})
	empty := h.Query(0, 10)
	assert.Equal(t, span(empty), "0-0")
	assert.Equal(t, len(h.Latest(10).Entries), 0)
	assert.Equal(t, empty.Instance, "test")

	h.Publish(numbered(0, 2))
	assert.Equal(t, shown(h.Query(0, 10).Entries), "0:o0 1:o1")
	assert.Equal(t, shown(h.Latest(10).Entries), "0:o0 1:o1")

	h.Publish(numbered(2, 5))
	assert.Equal(t, span(h.Query(0, 1)), "2-4")
	assert.Equal(t, shown(h.Query(2, 2).Entries), "2:o2 3:o3")
	assert.Equal(t, shown(h.Latest(1).Entries), "4:o4")
	// More than there is, once the ring has wrapped, is all there is.
	assert.Equal(t, shown(h.Latest(100).Entries), "2:o2 3:o3 4:o4")
	// What is not in the history, or not yet, or nothing, is no entries but the range.
	for _, page := range []events.Page{h.Query(1, 9), h.Query(5, 9), h.Query(3, 0), h.Query(1<<64-1, 1<<64-1), h.Latest(0)} {
		assert.Assert(t, page.Entries == nil)
		assert.Equal(t, span(page), "2-4")
	}
	assert.Equal(t, shown(h.Query(4, 1<<64-1).Entries), "4:o4")
}

func TestCapacityMayChange(t *testing.T) {
	h := newHistory(t, events.Config{Capacity: 4})
	h.Publish(numbered(0, 6))
	assert.NilError(t, h.Configure(events.Config{Capacity: 2}))
	assert.Equal(t, shown(h.Latest(9).Entries), "4:o4 5:o5")
	// What was let go of does not come back.
	assert.NilError(t, h.Configure(events.Config{Capacity: 5}))
	assert.Equal(t, shown(h.Latest(9).Entries), "4:o4 5:o5")
	h.Publish(numbered(6, 10))
	assert.Equal(t, shown(h.Latest(9).Entries), "5:o5 6:o6 7:o7 8:o8 9:o9")
}

func TestWrongConfigurations(t *testing.T) {
	wrong := events.Config{Capacity: events.CapacityMax + 1, StreamsMax: -1, StreamsPerClientMax: -2}
	_, err := events.NewHistory("test", wrong)
	assert.Error(t, err, "event history: capacity is 16777217 and must be from 0 to 16777216\n"+
		"streams is -1 and must be from 0 to 16777216\n"+
		"streams per client is -2 and must be from 0 to 16777216")
	h := newHistory(t, events.Config{Capacity: 1})
	h.Publish(numbered(0, 2))
	assert.ErrorContains(t, h.Configure(wrong), "capacity")
	assert.Equal(t, shown(h.Latest(9).Entries), "1:o1")
}

// Switched off and on again, the history goes on where it was.
func TestOffAndOnAgain(t *testing.T) {
	h := newHistory(t, events.Config{})
	for round := range 3 {
		assert.Assert(t, h.Enabled())
		assert.Equal(t, len(h.Publish(numbered(10*round, 10*round+2))), 2)
		assert.NilError(t, h.Configure(events.Config{Disabled: true}))
		assert.Assert(t, !h.Enabled())
		assert.Equal(t, len(h.Publish(numbered(10*round+2, 10*round+5))), 0)
		assert.NilError(t, h.Configure(events.Config{}))
	}
	assert.Equal(t, shown(h.Latest(99).Entries), "0:o0 1:o1 2:o10 3:o11 4:o20 5:o21")
	assert.Equal(t, h.Counters(), events.Counters{Created: 15, Dropped: 9, Recorded: 6})
}

func TestLongMessagesAreCut(t *testing.T) {
	h := newHistory(t, events.Config{})
	long := said("o", strings.Repeat("x", events.MessageMax+1), 0)
	h.Publish([]*si.EventRecord{
		long,
		said("just", strings.Repeat("x", events.MessageMax), 0),
		said("rune", strings.Repeat("x", 1019)+"€€€", 0),
		said("whole", strings.Repeat("x", 1018)+"€€€", 0),
		said("junk", strings.Repeat("\x80", 2000), 0),
	})
	var got []string
	for _, e := range h.Latest(9).Entries {
		m := e.Record.Message
		assert.Assert(t, len(m) <= events.MessageMax && (e.Record.ObjectID == "junk" || utf8.ValidString(m)))
		got = append(got, fmt.Sprintf("%s %d %s", e.Record.ObjectID, len(m), strings.TrimLeft(strings.ToValidUTF8(m, "x"), "x")))
	}
	assert.DeepEqual(t, got, []string{"o 1024 ...", "just 1024 ", "rune 1022 ...", "whole 1024 €...", "junk 1020 ..."})
	assert.Equal(t, len(long.Message), events.MessageMax+1, "the record of others is as it was")
	assert.Equal(t, h.Latest(9).Entries[0].Record.TimestampNano, long.TimestampNano)
}

// Repeats are counted until the window ends, and become no entries.
func TestRepeats(t *testing.T) {
	h := newHistory(t, events.Config{Window: 10 * time.Second})
	news := h.Publish([]*si.EventRecord{
		said("a", " waits", 0), said("b", " waits", 1), said("a", " waits", 2), said("a", " waits", 9),
		said("a", " waits", 10), said("a", " waits", 9), said("a", " waits", 12),
	})
	assert.Equal(t, shown(h.Latest(9).Entries), "0:a waits*3 1:b waits 2:a waits 3:a waits*2")
	assert.Equal(t, len(news), 4)
	assert.Equal(t, news[2].TimestampNano, start.Add(10*time.Second).UnixNano())
	assert.Equal(t, h.Latest(9).Entries[0].LastNano, start.Add(9*time.Second).UnixNano())
	assert.Equal(t, h.Counters(), events.Counters{Created: 7, Recorded: 4, Aggregated: 3})
}

// The latest entry about an object is how things are, so a record is not counted
// past another one about it.
func TestOnlyTheLastEntryIsRepeated(t *testing.T) {
	h := newHistory(t, events.Config{})
	h.Publish([]*si.EventRecord{
		said("n", " open", 0), said("n", " closed", 1), said("n", " open", 2), said("n", " open", 3),
	})
	assert.Equal(t, shown(h.Latest(9).Entries), "0:n open 1:n closed 2:n open*2")
	// Nor past one that was dropped.
	assert.NilError(t, h.Configure(events.Config{Disabled: true}))
	h.Publish([]*si.EventRecord{said("n", " closed", 4)})
	assert.NilError(t, h.Configure(events.Config{}))
	h.Publish([]*si.EventRecord{said("n", " open", 5)})
	assert.Equal(t, shown(h.Latest(9).Entries), "0:n open 1:n closed 2:n open*2 3:n open")
}

// Whatever differs, except the time, makes another record.
func TestWhatIsTheSame(t *testing.T) {
	plain := func() *si.EventRecord { return said("o", "m", 0) }
	with := func(change func(*si.EventRecord)) *si.EventRecord {
		r := plain()
		change(r)
		return r
	}
	resource := func(name string, v int64) *si.Resource {
		return &si.Resource{Resources: map[string]*si.Quantity{name: {Value: v}}}
	}
	for name, other := range map[string]*si.EventRecord{
		"type":      with(func(r *si.EventRecord) { r.Type = si.EventRecord_NODE }),
		"object":    with(func(r *si.EventRecord) { r.ObjectID = "p" }),
		"reference": with(func(r *si.EventRecord) { r.ReferenceID = "p" }),
		"change":    with(func(r *si.EventRecord) { r.EventChangeType = si.EventRecord_ADD }),
		"detail":    with(func(r *si.EventRecord) { r.EventChangeDetail = si.EventRecord_APP_NEW }),
		"message":   with(func(r *si.EventRecord) { r.Message = "n" }),
		"resource":  with(func(r *si.EventRecord) { r.Resource = resource("vcore", 0) }),
	} {
		h := newHistory(t, events.Config{})
		assert.Equal(t, len(h.Publish([]*si.EventRecord{plain(), other})), 2, name)
	}
	h := newHistory(t, events.Config{})
	for _, r := range []*si.Resource{resource("vcore", 1), resource("vcore", 2), resource("memory", 2), resource("memory", 2), nil, {}, resource("vcore", 0), resource("memory", 0)} {
		h.Publish([]*si.EventRecord{with(func(record *si.EventRecord) { record.Resource = r })})
	}
	assert.Equal(t, shown(h.Latest(9).Entries), "0:om 1:om 2:om*2 3:om*2 4:om 5:om")
	never := newHistory(t, events.Config{Window: -1})
	assert.Equal(t, len(never.Publish([]*si.EventRecord{plain(), plain()})), 2)
}

// Records about one object do not come between those about another.
func TestRepeatsInTurns(t *testing.T) {
	h := newHistory(t, events.Config{})
	for i := range 6 {
		r := said("node", "", i)
		r.ReferenceID = []string{"a", "b"}[i%2]
		h.Publish([]*si.EventRecord{r})
	}
	assert.Equal(t, shown(h.Latest(9).Entries), "0:node*3 1:node*3")
}

// A repeat of what is no longer in the history is an entry.
func TestWhatIsForgottenIsNotRepeated(t *testing.T) {
	h := newHistory(t, events.Config{Capacity: 2})
	h.Publish([]*si.EventRecord{said("a", "", 0), said("b", "", 0), said("c", "", 0), said("b", "", 1), said("a", "", 1)})
	assert.Equal(t, shown(h.Latest(9).Entries), "2:c 3:a")
	assert.Equal(t, h.Counters().Aggregated, uint64(1))
}

// Of more objects than are remembered some repeats are entries, but nothing is
// ever counted with what it does not repeat.
func TestManyObjects(t *testing.T) {
	h := newHistory(t, events.Config{})
	latest := map[string]string{}
	published := int64(0)
	for i := range 60_000 {
		object, message := fmt.Sprint("object-", i*i%20_011), fmt.Sprint(i%2)
		latest[object] = message
		h.Publish([]*si.EventRecord{said(object, message, 0)})
		published++
	}
	last := map[string]string{}
	for _, e := range h.Latest(1 << 30).Entries {
		published -= e.Count
		last[e.Record.ObjectID] = e.Record.Message
	}
	assert.Equal(t, published, int64(0))
	assert.DeepEqual(t, last, latest)
	assert.Assert(t, h.Counters().Aggregated > 1000)
}
