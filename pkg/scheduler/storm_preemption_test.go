package scheduler_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler/schedulertest"
)

// Every node is full of pods of a low priority, and 100 asks of a high one are refused
// whatever is evicted. An ask of another queue that fits waits for two attempts at most:
// the one that is under way, and one in the batch in which it is placed. Each takes two
// questions for each node, which is 20 ms.
func TestAStormOfRefusedPreemption(t *testing.T) {
	s := new(storm)
	options := s.options()
	options.Plain = false
	options.PredicatesWith = func(args *scheduler.PredicatesWithArgs) error { return s.answer(args.AllocationKey) }
	bubble(t, options, func(t *testing.T, m *schedulertest.MockScheduler) {
		s.MockScheduler = m
		m.AddApplication("stormy", "root.stormy")
		m.AddApplication("calm", "root.calm")
		for i := range 500 {
			id := fmt.Sprintf("node-%03d", i)
			assert.NilError(t, m.UpdateNodeOf(node(id, si.NodeInfo_CREATE, "vcore=100 pods=10")))
			for j := range 4 {
				low := s.asks("calm", fmt.Sprintf("low-%d-%d", i, j), 1)[0]
				low.NodeID, low.ResourcePerAlloc = id, schedulertest.Resource("vcore=24")
				assert.NilError(t, m.Send(low))
			}
		}
		m.Settle()
		storm := s.asks("stormy", "storm", 100)
		for _, a := range storm {
			a.Priority, a.ResourcePerAlloc = 10, schedulertest.Resource("vcore=30")
		}
		s.began = time.Now()
		assert.NilError(t, m.Send(storm...))
		var most time.Duration
		for i := range 100 {
			most = max(most, s.latency(t, "calm", fmt.Sprint("calm-", i)))
			time.Sleep(time.Duration(i%7) * time.Millisecond)
		}
		t.Logf("%d questions in %v, at most %v", s.asked(), time.Since(s.began), most)
		assert.Assert(t, most <= 41*time.Millisecond, "%v", most)
	})
}
