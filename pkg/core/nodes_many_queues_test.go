package core_test

import (
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

func manyQueues(n int) api.Config {
	root := api.QueueConfig{Name: "root", Parent: true}
	for i := range n {
		root.Queues = append(root.Queues, api.QueueConfig{Name: fmt.Sprint("q", i), Max: resources.Limits{1000}})
	}
	return api.Config{Name: "default", Root: root}
}

func BenchmarkNodeComesWithManyQueues(b *testing.B) {
	p := core.NewPartition(api.Options{Kinds: testKinds()}, manyQueues(49_000))
	now := start
	for i := 0; b.Loop(); i++ {
		p.Apply(now, api.AddNode{ID: api.NodeID(fmt.Sprint("n", i)), Capacity: resources.Amounts{1000, 1000}})
		p.Schedule(now)
		now = now.Add(time.Millisecond)
	}
}

// A node that comes costs a look at each queue that nothing uses, and no garbage for it: ten
// times as many queues make no more.
func TestNodesComeWithManyQueues(t *testing.T) {
	garbage := func(queues int) float64 {
		p := core.NewPartition(api.Options{Kinds: testKinds()}, manyQueues(queues))
		i := 0
		return testing.AllocsPerRun(20, func() {
			i++
			p.Apply(start, api.AddNode{ID: api.NodeID(fmt.Sprint("n", i)), Capacity: resources.Amounts{1000, 1000}})
			p.Schedule(start)
		})
	}
	few, many := garbage(490), garbage(4900)
	assert.Assert(t, many <= few+2, "%v and %v", few, many)
}
