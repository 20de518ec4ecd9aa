package scheduler_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/common"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler/schedulertest"
)

// Every node is full of pods of a low priority, and equal asks of a high one are refused
// whatever is evicted. At any moment of that an ask of another queue that fits is placed
// within ten milliseconds. Only nodes that have changed are asked about again, in a tenth
// of the time.
func TestAStormOfRefusedPreemption(t *testing.T) {
	if testing.Short() {
		t.Skip("large, and played without the race detector")
	}
	for _, alike := range []bool{false, true} {
		t.Run(fmt.Sprint("alike=", alike), func(t *testing.T) { stormOfRefusedPreemption(t, alike) })
	}
}

func stormOfRefusedPreemption(t *testing.T, alike bool) {
	s := new(storm)
	asked, twice := map[string]bool{}, 0
	options := s.options()
	options.Plain = false
	options.PredicatesWith = func(args *scheduler.PredicatesWithArgs) error {
		text := fmt.Sprint(args)
		if asked[text] {
			twice++
		}
		asked[text] = true
		return s.answer(args.AllocationKey)
	}
	const pods = 40
	classes := pods
	if alike {
		options.PredicateClass = func(key string) string { return key[:4] }
		classes = 1
	}
	bubble(t, options, func(t *testing.T, m *schedulertest.MockScheduler) {
		s.MockScheduler = m
		s.addNodes(t)
		var low []*si.Allocation
		for i := range stormNodes {
			for j := range 4 {
				a := s.asks("calm", fmt.Sprintf("low-%d-%d", i, j), 1)[0]
				a.NodeID, a.ResourcePerAlloc = fmt.Sprintf("node-%03d", i), schedulertest.Resource("vcore=24")
				low = append(low, a)
			}
		}
		assert.NilError(t, m.Send(low...))
		m.Settle()
		storm := s.asks("stormy", "storm", pods)
		for _, a := range storm {
			a.Priority, a.ResourcePerAlloc = 10, schedulertest.Resource("vcore=30")
		}
		s.began = time.Now()
		assert.NilError(t, m.Send(storm...))
		var most time.Duration
		const calm = 1000
		for i := range calm {
			most = max(most, s.latency(t, "calm", fmt.Sprint("calm-", i)))
			time.Sleep(time.Duration(i%97) * time.Millisecond / 7)
		}
		m.Advance(5 * time.Minute) // one ask after the other is tried where nodes have changed
		t.Logf("%d questions, %d twice, the other queue at most %v", len(asked), twice, most)
		assert.Assert(t, most <= 10*time.Millisecond, "%v", most)
		took := time.Duration(twice) * stormQuestion // on nodes on which something arrived
		assert.Assert(t, took <= time.Since(s.began)/10, "%v of %v", took, time.Since(s.began))
		assert.Assert(t, len(asked) >= 2*stormNodes*classes, "%d", len(asked))

		before := s.asked()
		m.Advance(5 * time.Minute)
		assert.Equal(t, s.asked(), before)
		m.Release("calm", "low-7-0-0")
		m.Advance(10 * time.Minute) // all nodes have changed since the last attempt
		before = s.asked()
		m.Release("calm", "low-8-0-0") // three questions, and 16 about reservations
		m.Advance(time.Minute)
		again := s.asked() - before
		assert.Assert(t, again > 0 && again <= 19*classes, "%d", again)
	})
}

// A thousand agents, each for a node of its own, are refused there. At any moment of that
// an ask of another queue is placed within ten milliseconds, and all are asked about.
func TestAStormOfRefusedAgents(t *testing.T) {
	const agents = 1000
	s := new(storm)
	bubble(t, s.options(), func(t *testing.T, m *schedulertest.MockScheduler) {
		s.MockScheduler = m
		s.addNodes(t)
		storm := s.asks("stormy", "storm", agents)
		for i, a := range storm {
			a.AllocationTags = map[string]string{common.DomainYuniKorn + common.KeyRequiredNode: fmt.Sprintf("node-%03d", i%stormNodes)}
		}
		s.began = time.Now()
		assert.NilError(t, m.Send(storm...))
		var most time.Duration
		for i := 0; s.asked() < agents; i++ {
			most = max(most, s.latency(t, "calm", fmt.Sprint("calm-", i)))
			time.Sleep(time.Duration(i%97) * time.Millisecond / 7)
			assert.Assert(t, time.Since(s.began) < 30*time.Second, "%d questions", s.asked())
		}
		t.Logf("took %v, the other queue at most %v", time.Since(s.began), most)
		assert.Assert(t, most <= 10*time.Millisecond, "%v", most)
	})
}
