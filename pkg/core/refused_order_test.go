package core_test

import (
	"errors"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
)

// TestFreedRoomGoesByTheOrderOfQueues: room on a node goes to the ask that is first in the order
// of the queues, also where asks were refused on all other nodes before. The other one is older,
// or of a higher priority that its queue hides.
func TestFreedRoomGoesByTheOrderOfQueues(t *testing.T) {
	const guaranteed = 2000
	leaf := func(name string, p core.QueueProperties) core.QueueConfig {
		return core.QueueConfig{Name: name, Guaranteed: []int64{guaranteed}, Properties: p}
	}
	tests := []struct {
		name   string
		queues []core.QueueConfig
		first  core.QueuePath // of the ask that should run
		other  core.QueuePath // of the older one
		above  int32          // how much higher its priority is
	}{
		{
			name:   "the queue that uses less",
			queues: []core.QueueConfig{leaf("idle", core.QueueProperties{}), leaf("busy", core.QueueProperties{})},
			first:  "root.idle", other: "root.busy",
		},
		{
			name: "the queue below one that uses less",
			queues: []core.QueueConfig{
				{Name: "team", Parent: true, Queues: []core.QueueConfig{leaf("idle", core.QueueProperties{})}}, leaf("busy", core.QueueProperties{}),
			},
			first: "root.team.idle", other: "root.busy",
		},
		{
			name: "the queue with the higher offset",
			queues: []core.QueueConfig{
				leaf("important", core.QueueProperties{PriorityOffset: 10}), leaf("busy", core.QueueProperties{}),
			},
			first: "root.important", other: "root.busy", above: 9,
		},
		{
			name:   "the queue that uses less, as the other hides its priorities",
			queues: []core.QueueConfig{leaf("idle", core.QueueProperties{}), leaf("busy", core.QueueProperties{PriorityFence: true})},
			first:  "root.idle", other: "root.busy", above: 9,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := core.NewPartition(core.Options{
				Kinds: testKinds(), ReserveDelay: -1,
				Feasible: func(_ core.AllocationKey, node core.NodeID, _ bool) error {
					if node == "other" {
						return errors.New("no")
					}
					return nil
				},
			}, core.Config{Name: "default", Root: core.QueueConfig{Name: "root", Parent: true, Queues: test.queues}, Preemption: core.PreemptionConfig{Disabled: true}})
			p.Apply(start, core.AddNode{ID: "n", Capacity: []int64{2000}})
			p.Apply(start, core.AddNode{ID: "other", Capacity: []int64{2000}})
			p.Apply(start, core.AddApplication{ID: "a", Queue: test.other})
			p.Apply(start, core.AddApplication{ID: "b", Queue: test.first})
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
			p.Apply(now, core.ReleaseAllocation{Application: "a", Key: "ends"})
			var ran []core.AllocationKey
			for more := true; more; {
				var fx core.Effects
				fx, more = p.Schedule(now)
				for _, e := range fx {
					if placed, ok := e.(core.Placed); ok {
						ran = append(ran, placed.Key)
					}
				}
			}
			assert.DeepEqual(t, ran, []core.AllocationKey{"younger"})
			assert.NilError(t, p.Verify())
		})
	}
}

// TestRefusedClassesStandInAnOrder: those without an ask that may be tried come after all others,
// wherever they were.
func TestRefusedClassesStandInAnOrder(t *testing.T) {
	p := oneQueue(core.Options{Kinds: testKinds()})
	p.Apply(start, core.AddApplication{ID: "a", Queue: "root.q"})
	for i, key := range []string{"first", "second", "third"} {
		a := ask("a", key, 1)
		a.Allocation.Created = start.Add(time.Duration(i) * time.Second)
		p.Apply(start, a)
	}
	for _, keys := range [][]core.AllocationKey{
		{"", "third", "second", "first"}, {"third", "", "first", "second"}, {"second", "first", "", "third"}, {"first", "third", "second", ""},
	} {
		assert.DeepEqual(t, p.RefusedInOrder(keys...), []core.AllocationKey{"first", "second", "third", ""})
	}
}
