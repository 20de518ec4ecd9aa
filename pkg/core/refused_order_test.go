package core_test

import (
	"errors"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// TestFreedRoomGoesByTheOrderOfQueues: room on a node goes to the ask that is first in the order
// of the queues, also where asks were refused on all other nodes before. The other one is older,
// or of a higher priority that its queue hides.
func TestFreedRoomGoesByTheOrderOfQueues(t *testing.T) {
	const guaranteed = 2000
	leaf := func(name string, p api.QueueProperties) api.QueueConfig {
		return api.QueueConfig{Name: name, Guaranteed: []int64{guaranteed}, Properties: p}
	}
	tests := []struct {
		name   string
		queues []api.QueueConfig
		first  api.QueuePath // of the ask that should run
		other  api.QueuePath // of the older one
		above  int32         // how much higher its priority is
	}{
		{
			name:   "the queue that uses less",
			queues: []api.QueueConfig{leaf("idle", api.QueueProperties{}), leaf("busy", api.QueueProperties{})},
			first:  "root.idle", other: "root.busy",
		},
		{
			name: "the queue below one that uses less",
			queues: []api.QueueConfig{
				{Name: "team", Parent: true, Queues: []api.QueueConfig{leaf("idle", api.QueueProperties{})}}, leaf("busy", api.QueueProperties{}),
			},
			first: "root.team.idle", other: "root.busy",
		},
		{
			name: "the queue with the higher offset",
			queues: []api.QueueConfig{
				leaf("important", api.QueueProperties{PriorityOffset: 10}), leaf("busy", api.QueueProperties{}),
			},
			first: "root.important", other: "root.busy", above: 9,
		},
		{
			name:   "the queue that uses less, as the other hides its priorities",
			queues: []api.QueueConfig{leaf("idle", api.QueueProperties{}), leaf("busy", api.QueueProperties{PriorityFence: true})},
			first:  "root.idle", other: "root.busy", above: 9,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := core.NewPartition(api.Options{
				Kinds: testKinds(), ReserveDelay: -1,
				Feasible: func(_ api.AllocationKey, node api.NodeID, _ bool) error {
					if node == "other" {
						return errors.New("no")
					}
					return nil
				},
			}, api.Config{Name: "default", Root: api.QueueConfig{Name: "root", Parent: true, Queues: test.queues}, Preemption: api.PreemptionConfig{Disabled: true}})
			p.Apply(start, api.AddNode{ID: "n", Capacity: []int64{2000}})
			p.Apply(start, api.AddNode{ID: "other", Capacity: []int64{2000}})
			p.Apply(start, api.AddApplication{ID: "a", Queue: test.other})
			p.Apply(start, api.AddApplication{ID: "b", Queue: test.first})
			for _, key := range []string{"stays", "ends"} {
				runs := ask("a", key, 1000)
				runs.Allocation.Node = "n"
				p.Apply(start, runs)
			}
			older, younger := ask("a", "older", 1000), ask("b", "younger", 1000)
			older.Allocation.Priority = test.above
			younger.Allocation.Created = start.Add(time.Second)
			p.Apply(start, older)
			p.Apply(start, younger)
			now := untilQuiet(t, p, start, 10*time.Second)
			p.Apply(now, api.ReleaseAllocation{Application: "a", Key: "ends"})
			var ran []api.AllocationKey
			for more := true; more; {
				var fx api.Effects
				fx, more = p.Schedule(now)
				for _, e := range fx {
					if placed, ok := e.(api.Placed); ok {
						ran = append(ran, placed.Key)
					}
				}
			}
			assert.DeepEqual(t, ran, []api.AllocationKey{"younger"})
			assert.NilError(t, p.Verify())
		})
	}
}

// TestRefusedClassesStandInAnOrder: those without an ask that may be tried come after all others,
// wherever they were.
func TestRefusedClassesStandInAnOrder(t *testing.T) {
	p := oneQueue(api.Options{Kinds: testKinds()})
	p.Apply(start, api.AddApplication{ID: "a", Queue: "root.q"})
	for i, key := range []string{"first", "second", "third"} {
		a := ask("a", key, 1)
		a.Allocation.Created = start.Add(time.Duration(i) * time.Second)
		p.Apply(start, a)
	}
	for _, keys := range [][]api.AllocationKey{
		{"", "third", "second", "first"}, {"third", "", "first", "second"}, {"second", "first", "", "third"}, {"first", "third", "second", ""},
	} {
		assert.DeepEqual(t, p.RefusedInOrder(keys...), []api.AllocationKey{"first", "second", "third", ""})
	}
}
