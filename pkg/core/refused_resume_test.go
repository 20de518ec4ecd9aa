package core_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
)

// Questions are broken off after a hundred refusals. Meanwhile every node is freed. They
// go on where they stopped all the same, so that the one node which takes the ask is
// found, and no node is asked more often than it was freed.
func TestPausedQuestionsGoOnAlthoughNodesAreFreed(t *testing.T) {
	const nodes, stretch = 500, 100
	refused, asked := 0, map[core.NodeID]int{}
	p := cluster(nodes, 1, core.Options{
		Feasible: func(key core.AllocationKey, node core.NodeID, _ bool) error {
			if key != "picky" || node == "n000450" {
				return nil
			}
			refused++
			asked[node]++
			return errors.New("no")
		},
		Pace: func(q core.Question) time.Duration {
			if q == core.FirstQuestion || refused < stretch {
				return 0
			}
			return time.Millisecond
		},
	})
	p.Apply(start, core.AddApplication{ID: "a", Queue: "root.q0000"})
	for i := range nodes {
		p.Apply(start, core.AddAllocation{Allocation: &core.Allocation{
			Key: core.AllocationKey(fmt.Sprint("small-", i)), Application: "a",
			Amounts: []int64{1, 1, 1}, Created: start, Node: core.NodeID(fmt.Sprintf("n%06d", i)),
		}})
	}
	p.Apply(start, ask("a", "picky", 1000, 1<<30, 1))
	now := start
	run := func() (placed bool) {
		refused = 0
		for {
			fx, more := p.Schedule(now)
			placed = placed || placements(fx) > 0
			if !more {
				now = now.Add(2 * time.Millisecond)
				return placed
			}
		}
	}
	assert.Assert(t, !run())
	for i := range nodes {
		p.Apply(now, core.ReleaseAllocation{Application: "a", Key: core.AllocationKey(fmt.Sprint("small-", i)), Termination: si.TerminationType_STOPPED_BY_RM})
	}
	rounds := 0
	for !run() {
		rounds++
		assert.Assert(t, rounds < 12, "not placed after %d rounds: %d nodes of %d asked", rounds, len(asked), nodes)
	}
	for node, times := range asked {
		assert.Assert(t, times <= 2, "%s: %d", node, times)
	}
}
