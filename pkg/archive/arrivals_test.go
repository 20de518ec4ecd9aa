package archive

import (
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// arrive has asks come of an application, which are as old as they say.
func (s *stage) arrive(id api.ApplicationID, age time.Duration, keys ...api.AllocationKey) {
	for _, key := range keys {
		s.do(api.AskAdded{Allocation: &api.Allocation{Application: id, Key: key, Created: s.now.Add(-age)}})
	}
}

// TestArrivals: an ask counts for its user and queue, in the minute in which it comes and in the
// four after it, whatever becomes of it and of its application.
func TestArrivals(t *testing.T) {
	s := newStage(t, Config{})
	s.now = s.now.Truncate(time.Minute)
	s.do(&api.ApplicationAccepted{ID: "a", Queue: "root.a", User: "ada", Groups: []string{"dev"}},
		&api.ApplicationAccepted{ID: "b", Queue: "root.b", User: "bob"}, &api.ApplicationAccepted{ID: "c", Queue: "root.a", User: "bob"})
	s.arrive("b", 0, "b-1")
	s.arrive("a", 0, "a-1", "a-2")
	s.now = s.now.Add(2 * time.Minute)
	s.arrive("a", 0, "a-3")
	s.arrive("c", time.Minute, "c-1")
	s.do(&api.ApplicationGone{ID: "c"})
	for after, want := range map[time.Duration]string{
		0:               "[{ada [dev] root.a 3} {bob [] root.a 1} {bob [] root.b 1}]",
		2 * time.Minute: "[{ada [dev] root.a 3} {bob [] root.a 1} {bob [] root.b 1}]",
		3 * time.Minute: "[{ada [dev] root.a 1} {bob [] root.a 1}]",
		5 * time.Minute: "[]",
	} {
		assert.Equal(t, fmt.Sprint(s.Arrivals(s.now.Add(after))), want, after)
	}
	s.now = s.now.Add(3 * time.Minute)
	s.arrive("b", 0, "b-2")
	assert.Equal(t, fmt.Sprint(s.Arrivals(s.now)), "[{ada [dev] root.a 1} {bob [] root.a 1} {bob [] root.b 1}]")
	s.now = s.now.Add(time.Hour)
	s.do()
	assert.Equal(t, len(s.arrivals.by), 0, "what is not counted is not kept")
}

// TestArrivalsAreNew: neither an old ask that comes again after a restart nor an allocation that
// could not be bound is one that came.
func TestArrivalsAreNew(t *testing.T) {
	s := newStage(t, Config{})
	s.begin("a")
	s.arrive("a", 5*time.Minute, "old")
	assert.Equal(t, len(s.Arrivals(s.now)), 0)
	s.arrive("a", 0, "new")
	s.place("a", "new")
	s.do(&api.Ended{Allocation: s.allocation("a", "new"), Cause: api.CauseBindFailed}, api.AskAdded{Allocation: &api.Allocation{Application: "a", Key: "new", Created: s.now}})
	assert.Equal(t, s.Arrivals(s.now)[0].Asks, 1)
	s.arrive("a", 0, "new") // as one of its own
	assert.Equal(t, s.Arrivals(s.now)[0].Asks, 2)
}

// TestArrivalsAreBounded: users beyond the most that are kept count as one without a name.
func TestArrivalsAreBounded(t *testing.T) {
	s := newStage(t, Config{})
	for i := range arrivalsMax + 3 {
		id := api.ApplicationID(fmt.Sprint(i))
		s.do(&api.ApplicationAccepted{ID: id, Queue: "root.a", User: string(id)})
		s.arrive(id, 0, "k")
	}
	all := s.Arrivals(s.now)
	assert.Equal(t, len(all), arrivalsMax+1)
	assert.DeepEqual(t, all[0], Arrivals{Asks: 3})
}
