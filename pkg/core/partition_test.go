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
func cluster(nodes, queues int, options api.Options) *core.Partition {
	options.Kinds = testKinds()
	root := api.QueueConfig{Name: "root", Parent: true}
	for i := range queues {
		root.Queues = append(root.Queues, api.QueueConfig{Name: fmt.Sprintf("q%04d", i)})
	}
	p := core.NewPartition(options, api.Config{Name: "default", Root: root})
	for i := range nodes {
		p.Apply(start, api.AddNode{ID: api.NodeID(fmt.Sprintf("n%06d", i)), Capacity: resources.Amounts{16000, 64 << 30, 110}})
	}
	return p
}

func ask(app api.ApplicationID, key string, amounts ...int64) api.AddAllocation {
	return api.AddAllocation{Allocation: &api.Allocation{
		Key: api.AllocationKey(key), Application: app, Amounts: amounts, Created: start,
	}}
}

func placements(fx api.Effects) (placed int) {
	for _, e := range fx {
		if _, ok := e.(api.Placed); ok {
			placed++
		}
	}
	return placed
}

func TestPlacesWhatFits(t *testing.T) {
	p := cluster(3, 2, api.Options{})
	p.Apply(start, api.AddApplication{ID: "a", Queue: "root.q0000"})
	for i := range 50 {
		p.Apply(start, ask("a", fmt.Sprint("k", i), 1000, 1<<30, 1))
		assert.NilError(t, p.Verify())
	}
	fx, more := p.Schedule(start)
	assert.Equal(t, more, false)
	assert.Equal(t, placements(fx), 48)
	assert.NilError(t, p.Verify())
}
