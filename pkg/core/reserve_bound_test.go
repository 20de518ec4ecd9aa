package core_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// TestReservationsBeyondReserveTriesMax has the resource manager refuse ten times as many nodes
// as it is asked about for one reservation. It is asked about so many at a time, and in the end
// the node is reserved that it takes.
func TestReservationsBeyondReserveTriesMax(t *testing.T) {
	const nodes = 10*core.ReserveTriesMax + 1
	last := api.NodeID(fmt.Sprintf("n%03d", nodes-1))
	questions := 0
	p := oneQueue(api.Options{Kinds: testKinds(), Feasible: func(key api.AllocationKey, node api.NodeID, _ bool) error {
		if key != "large" || node == last {
			return nil
		}
		questions++
		return errors.New("no")
	}})
	p.Apply(start, api.AddApplication{ID: "a", Queue: "root.q"})
	for i := range nodes {
		n := api.AddNode{ID: api.NodeID(fmt.Sprintf("n%03d", i)), Capacity: []int64{2}}
		p.Apply(start, n)
		runs := ask("a", fmt.Sprint("runs", i), 1)
		runs.Allocation.Node = n.ID
		p.Apply(start, runs)
	}
	p.Apply(start, ask("a", "large", 2))
	now, reserved := start, false
	for range 100 {
		before := questions
		for more := true; more; {
			_, more = p.Schedule(now)
		}
		assert.Assert(t, questions-before <= core.ReserveTriesMax)
		if held, found := ordinaryReservation(p.View()); found {
			assert.Equal(t, held.Key, api.AllocationKey("large"))
			reserved = true
			break
		}
		now = now.Add(time.Second)
	}
	t.Log(reserved, now.Sub(start), questions)
	assert.Assert(t, reserved)
	assert.NilError(t, p.Verify())
}
