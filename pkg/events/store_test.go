package events_test

import (
	"reflect"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/events"
)

func TestStore(t *testing.T) {
	s := events.NewStore(3)
	assert.Assert(t, s.Take() == nil)
	records := numbered(0, 5)
	s.Put(records[:2])
	s.Put(records[2:])
	taken := s.Take()
	assert.DeepEqual(t, lines(taken), lines(records[:3]))
	assert.Equal(t, s.Counters(), events.Counters{Stored: 3, NotStored: 2, Collected: 3})
	// What was taken is not touched by what comes.
	s.Put(records[4:])
	assert.DeepEqual(t, lines(taken), lines(records[:3]))
	assert.DeepEqual(t, lines(s.Take()), lines(records[4:]))
}

func TestBoundsOfAStore(t *testing.T) {
	s := events.NewStore(0)
	s.Put(numbered(0, events.DefaultStoreMax+1))
	s.Bound(2) // what waits stays
	s.Put(numbered(0, 1))
	assert.Equal(t, s.Counters(), events.Counters{Stored: 1000, NotStored: 2})
	assert.Equal(t, len(s.Take()), 1000)
	s.Put(numbered(0, 3))
	assert.Equal(t, len(s.Take()), 2)
}

// No counter is left out of a sum.
func TestCountersAddUp(t *testing.T) {
	var one events.Counters
	fields := reflect.ValueOf(&one).Elem()
	for i := range fields.NumField() {
		if f := fields.Field(i); f.CanInt() {
			f.SetInt(int64(i + 1))
		} else {
			f.SetUint(uint64(i + 1))
		}
	}
	two := reflect.ValueOf(one.Plus(one))
	for i := range two.NumField() {
		got := two.Field(i)
		if got.CanInt() {
			assert.Equal(t, got.Int(), int64(2*(i+1)))
		} else {
			assert.Equal(t, got.Uint(), uint64(2*(i+1)))
		}
	}
}
