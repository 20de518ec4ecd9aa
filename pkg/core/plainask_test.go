package core_test

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// busyPartition has two leaf queues with two applications each, some allocations, and room
// on each of three nodes. No ask waits.
func busyPartition() *core.Partition {
	p := core.NewPartition(api.Options{Kinds: testKinds()}, api.Config{
		Name: "default", Root: api.QueueConfig{Name: "root", Queues: []api.QueueConfig{{Name: "left"}, {Name: "right"}}},
	})
	for i := range 3 {
		p.Apply(start, api.AddNode{ID: api.NodeID(fmt.Sprint("n", i)), Capacity: []int64{10, 10, 10}})
	}
	for _, queue := range []string{"left", "right"} {
		for i := range 2 {
			app := api.ApplicationID(fmt.Sprint(queue, i))
			p.Apply(start, api.AddApplication{ID: app, Queue: api.QueuePath("root." + queue)})
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
