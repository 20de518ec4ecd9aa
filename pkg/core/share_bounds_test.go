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

// TestSharingOnManyNodes: asks of two sizes share victims also where there are ten times as many nodes
// as are looked at for all that wait (sharedNodesMax, bestNodesMax): each allocation of eight makes
// room for one of three and one of five, and a plan is made for each ask and not for each node.
func TestSharingOnManyNodes(t *testing.T) {
	const nodes, pairs = 100, 40
	p := core.NewPartition(api.Options{Kinds: testKinds()}, api.Config{
		Name: "default", Preemption: api.PreemptionConfig{Priority: api.StrictlyLower},
		Root: api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{{Name: "q"}}},
	})
	p.Apply(start, api.AddApplication{ID: "a", Queue: "root.q"})
	for i := range nodes {
		id := api.NodeID(fmt.Sprintf("n%03d", i))
		p.Apply(start, api.AddNode{ID: id, Capacity: resources.Amounts{16}})
		for j := range 2 {
			runs := ask("a", fmt.Sprintf("runs-%03d-%d", i, j), 8)
			runs.Allocation.Node = id
			p.Apply(start, runs)
		}
	}
	now := start.Add(10 * time.Second)
	for i := range pairs {
		for _, size := range []int64{3, 5} {
			waits := ask("a", fmt.Sprintf("waits-%d-%02d", size, i), size)
			waits.Allocation.Priority = 1
			p.Apply(now, waits)
		}
	}
	untilQuiet(t, p, now, 30*time.Second)
	victims := 0
	for _, n := range p.View().Nodes {
		victims += len(n.Evictions)
	}
	assert.Equal(t, victims, pairs)
	assert.Assert(t, p.View().Preempted.Plans <= 4*pairs, "%d plans", p.View().Preempted.Plans)
}
