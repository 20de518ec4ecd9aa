package tidy_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func ask(app api.ApplicationID, key string, amounts ...int64) api.AddAllocation {
	return api.AddAllocation{Allocation: &api.Allocation{
		Key: api.AllocationKey(key), Application: app, Amounts: amounts, Created: start,
	}}
}

// busyPartition has two leaf queues with two applications each, some allocations, and room
// on each of three nodes. No ask waits.
func busyPartition(t *testing.T) *core.Partition {
	t.Helper()
	kinds := new(resources.Kinds)
	for _, name := range []string{resources.VCore, resources.Memory, "pods"} {
		_, err := kinds.Intern(name)
		assert.NilError(t, err)
	}
	p := core.NewPartition(api.Options{Kinds: kinds}, api.Config{
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
// is the way of the ask: TestWayOfAnAsk counts its files.
func TestPlainAsk(t *testing.T) {
	t.Run("before", func(t *testing.T) { busyPartition(t) })
	t.Run("placed", func(t *testing.T) {
		p := busyPartition(t)
		p.Apply(start, ask("left0", "plain", 2, 2, 2))
		fx, _ := p.Schedule(start)
		placed := slices.ContainsFunc(fx, func(e api.Event) bool { p, is := e.(api.Placed); return is && p.Allocation.Key == "plain" })
		assert.Assert(t, placed, "%v", fx)
	})
}
