package entrypoint

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"
)

func priority(p int32) func(*si.Allocation) { return func(a *si.Allocation) { a.Priority = p } }

// evicted is how many allocations the scheduler wanted ended.
func (s *shim) evicted() int {
	return strings.Count(strings.Join(s.told(), "\n"), si.TerminationType_PREEMPTED_BY_SCHEDULER.String())
}

// TestPriorityAloneEvictsNothing: in a leaf without a guarantee more important asks wait until what runs has ended, as with
// YuniKorn. A configuration may say otherwise.
func TestPriorityAloneEvictsNothing(t *testing.T) {
	for preemption, victims := range map[string]int{"": 0, "preemption: {preemption_priority: strict}, ": 3} {
		config := "partitions: [{" + preemption + "queues: [{name: root, submitacl: '*', queues: [{name: one}]}]}]"
		run(t, config, func(t *testing.T, s *shim) {
			s.addApplication("app-1", "root.one")
			for i := range 4 {
				s.ask("app-1", fmt.Sprint("low-", i), 1)
			}
			s.addApplication("app-2", "root.one")
			for i := range 3 {
				s.ask("app-2", fmt.Sprint("high-", i), 1, priority(100))
			}
			s.pass(10 * time.Minute)
			assert.Equal(t, s.evicted(), victims)
		})
	}
}

// TestGuaranteeEvictsAsBefore: what is guaranteed to a queue is taken from those that have more than is guaranteed to them.
func TestGuaranteeEvictsAsBefore(t *testing.T) {
	const config = `partitions: [{queues: [{name: root, submitacl: '*', queues: [
		{name: one}, {name: two, resources: {guaranteed: {vcore: 2}}}]}]}]`
	run(t, config, func(t *testing.T, s *shim) {
		s.addApplication("app-1", "root.one")
		for i := range 4 {
			s.ask("app-1", fmt.Sprint("one-", i), 1)
		}
		s.addApplication("app-2", "root.two")
		for i := range 3 {
			s.ask("app-2", fmt.Sprint("two-", i), 1)
		}
		s.pass(10 * time.Minute)
		assert.Equal(t, s.evicted(), 2)
	})
}
