package core_test

import (
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// TestArrivalsAskAboutTheirNodes: a pod may need one beside it that is placed later. So
// where something arrives, the resource manager is asked again about the asks that it refused
// there: about each node once, and about no other node. Each ask is asked about all those nodes
// together, so that the best is chosen, and beyond 64 of them the next ask follows a second later.
func TestArrivalsAskAboutTheirNodes(t *testing.T) {
	const nodes, arrivals, classes = 700, 640, 3
	asked := 0
	p := cluster(nodes, 1, api.Options{
		ReserveDelay: -1,
		Simulate: func(api.AllocationKey, api.NodeID, []api.AllocationKey, []api.AllocationKey) error {
			asked++
			return errTaint
		},
	})
	p.Apply(start, api.AddApplication{ID: "a", Queue: "root.q0000"})
	pod := func(now time.Time, key string, node int, cores int64, priority int32) {
		a := ask("a", key, cores, 1<<30, 1)
		a.Allocation.Priority = priority
		if node >= 0 {
			a.Allocation.Node = api.NodeID(fmt.Sprintf("n%06d", node))
		}
		p.Apply(now, a)
	}
	for i := range nodes {
		pod(start, fmt.Sprint("low", i), i, 8000, 0)
	}
	for i := range classes {
		pod(start, fmt.Sprint("refused", i), -1, 12_000+int64(i), 5)
	}
	now := untilQuiet(t, p, start, time.Minute)
	assert.Assert(t, asked >= nodes*classes, "%d questions", asked)
	untilQuiet(t, p, now, time.Hour)
	before := asked

	now = now.Add(2 * time.Hour)
	for i := range arrivals { // two on each node are one reason to ask
		pod(now, fmt.Sprint("arrived", i), i, 1000, 10)
		pod(now, fmt.Sprint("another", i), i, 1000, 10)
	}
	each := before / (nodes * classes) // questions about an ask on a node
	for seconds := 1; asked < before+each*classes*arrivals; seconds++ {
		p.Schedule(now)
		assert.Assert(t, asked-before <= seconds*each*arrivals, "%d questions in %d seconds", asked-before, seconds)
		assert.Assert(t, seconds <= classes, "%d questions in %d seconds", asked-before, seconds)
		now = now.Add(time.Second)
	}
	untilQuiet(t, p, now, time.Hour)
	assert.Equal(t, asked, before+each*classes*arrivals)
}
