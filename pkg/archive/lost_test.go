package archive

import (
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
)

// TestLostWork: a victim loses what it held for as long as it ran, until it ends or, while it runs,
// until it was chosen; and it has the priority of its own beside that which decided.
func TestLostWork(t *testing.T) {
	s := newStage(t, Config{})
	s.begin("a")
	victim := s.allocation("a", "v")
	victim.Priority = 5
	s.do(api.Placed{Allocation: victim})
	s.now = s.now.Add(90 * time.Second)
	foreign := &api.Allocation{Key: "f", Node: "n", Origin: api.Foreign, Created: s.now.Add(-time.Minute)}
	candidate := preemptor.Candidate{Key: "v", Priority: -95, Amounts: s.size}
	s.do(
		&api.PreemptionPlanned{Key: "k", Node: "n", Plan: &preemptor.Decision{Reason: preemptor.Chosen, Victims: []preemptor.Victim{
			{Candidate: candidate}, {Candidate: preemptor.Candidate{Key: "f", Amounts: s.size}, Class: preemptor.Foreign},
		}}},
		&api.EvictionRequested{Allocation: victim, For: "k"}, &api.EvictionRequested{Allocation: foreign, For: "k"})
	of := func(key api.AllocationKey) string {
		v := s.Plans()[0].Victim(key)
		return fmt.Sprint(v.Ran(), v.Lost(), v.Priority, v.OwnPriority)
	}
	assert.Equal(t, of("v"), "1m30s [900] -95 5")
	assert.Equal(t, of("f"), "1m0s [600] 0 0", "another scheduler placed it, so it began when it was created")
	s.now = s.now.Add(30 * time.Second)
	assert.Equal(t, of("v"), "1m30s [900] -95 5", "while it runs it does not grow")
	s.do(&api.Ended{Allocation: victim, Cause: api.CausePreempted, Evicted: true})
	assert.Equal(t, of("v"), "2m0s [1200] -95 5")
	var unknown Victim
	assert.Equal(t, unknown.Ran(), time.Duration(0))
}
