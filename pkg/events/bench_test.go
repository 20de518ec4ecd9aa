package events_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/events"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// To publish costs no memory: neither for new entries nor for repeats, with
// streams or without.
func TestPublishingMakesNoGarbage(t *testing.T) {
	for _, streams := range []int{0, 1, 64} {
		h := newHistory(t, events.Config{Capacity: 100, StreamsPerClientMax: 64})
		for range streams {
			subscribe(t, h, "a", 0)
		}
		records := numbered(0, 10)
		batch := make([]*si.EventRecord, len(records))
		assert.Equal(t, testing.AllocsPerRun(50, func() {
			copy(batch, records)
			h.Publish(batch)
		}), 0.0)
		assert.Equal(t, h.Counters().Aggregated, uint64(50*10))
		at := 0
		assert.Equal(t, testing.AllocsPerRun(50, func() {
			copy(batch, records)
			for _, r := range records {
				r.Message = []string{"on", "off"}[at%2]
			}
			at++
			h.Publish(batch)
		}), 0.0)
	}
}

// BenchmarkPublish is one record at a time, with streams that are read by
// goroutines which wait whenever they have read everything.
func BenchmarkPublish(b *testing.B) {
	for _, streams := range []int{0, 1, 64} {
		b.Run(fmt.Sprint("streams=", streams), func(b *testing.B) {
			h := newHistory(b, events.Config{StreamsPerClientMax: 64})
			for range streams {
				s := subscribe(b, h, "a", 0)
				go func() {
					into := make([]events.Entry, 256)
					for {
						if _, err := s.Read(context.Background(), into); err != nil {
							return
						}
					}
				}()
			}
			defer h.Close()
			records := numbered(0, 1<<14)
			batch := make([]*si.EventRecord, 1)
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				batch[0] = records[i%len(records)]
				batch[0].TimestampNano += 1 << 40
				h.Publish(batch)
			}
		})
	}
}

// BenchmarkPlacements is what a placement costs from the event to the history:
// batches of 256, as one call of Schedule makes them.
func BenchmarkPlacements(b *testing.B) {
	kinds := new(resources.Kinds)
	recorder := events.NewRecorder(kinds)
	h := newHistory(b, events.Config{})
	_, err := kinds.Intern(resources.VCore)
	assert.NilError(b, err)
	one := resources.Amounts{1}
	const batch = 256
	steps := make([]events.Step, 64)
	for i := range steps {
		steps[i].Now = start
		for j := range batch {
			steps[i].Effects = append(steps[i].Effects, api.Placed{Allocation: &api.Allocation{
				Key:         api.AllocationKey(fmt.Sprintf("8f1d7c3e-0000-4000-8000-%012d", i*batch+j)),
				Application: api.ApplicationID(fmt.Sprint("app-", i)), Node: api.NodeID(fmt.Sprintf("node-%05d", j)), Amounts: one,
			}})
		}
	}
	var records []*si.EventRecord
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; i += batch {
		step := steps[i/batch%len(steps)]
		records = recorder.Record(records[:0], step)
		h.Publish(records)
	}
}

// BenchmarkQuery is a page of the largest usual size.
func BenchmarkQuery(b *testing.B) {
	h := newHistory(b, events.Config{})
	h.Publish(numbered(0, events.DefaultCapacity))
	for _, count := range []uint64{100, 10_000, 100_000} {
		b.Run(fmt.Sprint("count=", count), func(b *testing.B) {
			for range b.N {
				h.Latest(count)
			}
		})
	}
}
