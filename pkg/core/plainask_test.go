package core_test

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
)

// busyPartition has two leaf queues with two applications each, some allocations, and room
// on each of three nodes. No ask waits.
func busyPartition() *core.Partition {
	p := core.NewPartition(core.Options{Kinds: testKinds()}, core.Config{
		Name: "default", Root: core.QueueConfig{Name: "root", Queues: []core.QueueConfig{{Name: "left"}, {Name: "right"}}},
	})
	for i := range 3 {
		p.Apply(start, core.AddNode{ID: core.NodeID(fmt.Sprint("n", i)), Capacity: []int64{10, 10, 10}})
	}
	for _, queue := range []string{"left", "right"} {
		for i := range 2 {
			app := core.ApplicationID(fmt.Sprint(queue, i))
			p.Apply(start, core.AddApplication{ID: app, Queue: core.QueuePath("root." + queue)})
			p.Apply(start, ask(app, fmt.Sprint(app, "-runs"), 1, 1, 1))
		}
	}
	p.Schedule(start)
	return p
}

// TestPlainAsk places one ask, or stops before that. The difference in coverage between the two
// is the way of the ask: package tidy counts its files.
func TestPlainAsk(t *testing.T) {
	t.Run("before", func(*testing.T) { busyPartition() })
	t.Run("placed", func(t *testing.T) {
		p := busyPartition()
		p.Apply(start, ask("left0", "plain", 2, 2, 2))
		fx, _ := p.Schedule(start)
		assert.Equal(t, placements(fx), 1)
	})
}
