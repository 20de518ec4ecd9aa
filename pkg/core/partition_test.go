package core_test

import (
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

var start = time.Unix(1_000_000, 0)

// testKinds is a table in which vcore, memory and pods are numbered in this order.
func testKinds() *resources.Kinds {
	kinds := new(resources.Kinds)
	for _, name := range []string{resources.VCore, resources.Memory, "pods"} {
		if _, err := kinds.Intern(name); err != nil {
			panic(err)
		}
	}
	return kinds
}

// cluster is a partition of equal nodes and leaf queues.
func cluster(nodes, queues int, options core.Options) *core.Partition {
	options.Kinds = testKinds()
	root := core.QueueConfig{Name: "root", Parent: true}
	for i := range queues {
		root.Queues = append(root.Queues, core.QueueConfig{Name: fmt.Sprintf("q%04d", i)})
	}
	p := core.NewPartition(options, core.Config{Name: "default", Root: root})
	for i := range nodes {
		p.Apply(start, core.AddNode{ID: core.NodeID(fmt.Sprintf("n%06d", i)), Capacity: resources.Amounts{16000, 64 << 30, 110}})
	}
	return p
}

func ask(app core.ApplicationID, key string, amounts ...int64) core.AddAllocation {
	return core.AddAllocation{Allocation: &core.Allocation{
		Key: core.AllocationKey(key), Application: app, Amounts: amounts, Created: start,
	}}
}

func placements(fx core.Effects) (placed int) {
	for _, e := range fx {
		if _, ok := e.(core.Placed); ok {
			placed++
		}
	}
	return placed
}

func TestPlacesWhatFits(t *testing.T) {
	p := cluster(3, 2, core.Options{})
	p.Apply(start, core.AddApplication{ID: "a", Queue: "root.q0000"})
	for i := range 50 {
		p.Apply(start, ask("a", fmt.Sprint("k", i), 1000, 1<<30, 1))
		assert.NilError(t, p.Verify())
	}
	fx, more := p.Schedule(start)
	assert.Equal(t, more, false)
	assert.Equal(t, placements(fx), 48)
	assert.NilError(t, p.Verify())
}
