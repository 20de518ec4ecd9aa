package core_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A program that has its own loop drives a partition directly: commands and
// times in, effects out.
func Example() {
	kinds := new(resources.Kinds)
	amounts := func(vcore int64) resources.Amounts {
		a, _ := kinds.Amounts(map[string]int64{"vcore": vcore})
		return a
	}
	now := time.Unix(0, 0)
	p := core.NewPartition(api.Options{Kinds: kinds}, api.Config{
		Name: "default",
		Root: api.QueueConfig{Name: "root", Queues: []api.QueueConfig{{Name: "team"}}},
	})
	p.Apply(now, api.AddNode{ID: "node-1", Capacity: amounts(4000)})
	p.Apply(now, api.AddApplication{ID: "app", Queue: "root.team"})
	for _, key := range []api.AllocationKey{"pod-1", "pod-2", "pod-3"} {
		p.Apply(now, api.AddAllocation{Allocation: &api.Allocation{
			Key: key, Application: "app", Amounts: amounts(1500), Created: now,
		}})
	}

	effects, _ := p.Schedule(now)
	for _, e := range effects {
		if placed, ok := e.(api.Placed); ok {
			fmt.Println(placed.Key, "runs on", placed.Node)
		}
	}
	for _, ask := range p.View().Applications[0].Asks {
		fmt.Println(ask.Key, "waits:", ask.Reason)
	}
	fmt.Println("broken laws:", p.Verify())
	// Output:
	// pod-1 runs on node-1
	// pod-2 runs on node-1
	// pod-3 waits: no node has room
	// broken laws: <nil>
}

// Feasible brings in what only the resource manager knows.
func ExampleOptions_feasible() {
	kinds := new(resources.Kinds)
	one, _ := kinds.Amounts(map[string]int64{"vcore": 1000})
	p := core.NewPartition(api.Options{
		Kinds: kinds,
		Feasible: func(_ api.AllocationKey, node api.NodeID, _ bool) error {
			if node == "node-1" {
				return errors.New("node has a taint")
			}
			return nil
		},
	}, api.Config{Name: "default", Root: api.QueueConfig{Name: "root", Queues: []api.QueueConfig{{Name: "team"}}}})
	now := time.Unix(0, 0)
	p.Apply(now, api.AddNode{ID: "node-1", Capacity: one})
	p.Apply(now, api.AddNode{ID: "node-2", Capacity: one})
	p.Apply(now, api.AddApplication{ID: "app", Queue: "root.team"})
	p.Apply(now, api.AddAllocation{Allocation: &api.Allocation{Key: "pod", Application: "app", Amounts: one, Created: now}})
	effects, _ := p.Schedule(now)
	for _, e := range effects {
		if placed, ok := e.(api.Placed); ok {
			fmt.Println(placed.Key, "runs on", placed.Node)
		}
	}
	// Output: pod runs on node-2
}
