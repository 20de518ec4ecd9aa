package tidy_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/tidy/tour"
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

// TestPlainAsk places one ask. Compiled by TestTours, it prints the functions that are entered for it.
func TestPlainAsk(t *testing.T) {
	p := busyPartition(t)
	tour.Take()
	p.Apply(start, ask("left0", "plain", 2, 2, 2))
	fx, _ := p.Schedule(start)
	show("plain")
	assert.DeepEqual(t, placed(fx), []api.AllocationKey{"plain"})
}

// TestAskWithVictims has an ask evict what runs on the node that it requires, and places it when that has ended.
func TestAskWithVictims(t *testing.T) {
	p := busyPartition(t)
	needed := ask("left0", "daemonset", 10, 10, 10)
	needed.Allocation.Required, needed.Allocation.Priority = "n0", 10
	tour.Take()
	p.Apply(start, needed)
	now := start
	var all []api.AllocationKey
	for range 3 {
		fx, _ := p.Schedule(now)
		for _, e := range fx {
			if victim, is := e.(*api.EvictionRequested); is {
				p.Apply(now, api.ReleaseAllocation{Application: victim.Allocation.Application, Key: victim.Allocation.Key})
			}
		}
		all = append(all, placed(fx)...)
		if due, ok := p.Due(); ok {
			now = due
		}
	}
	show("with victims")
	assert.DeepEqual(t, all, []api.AllocationKey{"daemonset"})
}

// TestGang has a member take the place of a placeholder.
func TestGang(t *testing.T) {
	p := busyPartition(t)
	member := ask("gang", "member", 1, 1, 1)
	member.Allocation.TaskGroup = "workers"
	placeholder := ask("gang", "placeholder", 1, 1, 1)
	placeholder.Allocation.TaskGroup, placeholder.Allocation.Placeholder = "workers", true
	tour.Take()
	p.Apply(start, api.AddApplication{ID: "gang", Queue: "root.left", Placeholders: []int64{1, 1, 1}})
	p.Apply(start, placeholder)
	fx, _ := p.Schedule(start)
	assert.DeepEqual(t, placed(fx), []api.AllocationKey{"placeholder"})
	p.Apply(start, member)
	p.Schedule(start)
	fx = p.Apply(start, api.ReleaseAllocation{Application: "gang", Key: "placeholder", Termination: si.TerminationType_PLACEHOLDER_REPLACED})
	show("gang")
	assert.DeepEqual(t, placed(fx), []api.AllocationKey{"member"})
}

func placed(fx api.Effects) (keys []api.AllocationKey) {
	for _, e := range fx {
		if p, is := e.(api.Placed); is {
			keys = append(keys, p.Allocation.Key)
		}
	}
	return keys
}

// show prints a tour, of which there is one only where the core is compiled for that.
func show(name string) {
	for _, s := range tour.Take() {
		fmt.Println("tour", strings.ReplaceAll(name, " ", "-"), s.File, s.From)
	}
}
