package core_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// besideGroups is a partition of full nodes, of 20 each, in which sixteen groups of one size wait: gangs
// that start whole, or asks that name a group.
func besideGroups(gangs bool, nodes, size int) *core.Partition {
	const groups, each = 16, 20
	p := core.NewPartition(api.Options{Kinds: testKinds(), ReserveDelay: -1, BatchMax: 10_000}, api.Config{Name: "default", Root: api.QueueConfig{
		Name: "root", Parent: true, Queues: []api.QueueConfig{{Name: "q", Properties: api.QueueProperties{GangWhole: gangs}}},
	}})
	p.Apply(start, api.AddApplication{ID: "a", Queue: "root.q"})
	for i := range nodes {
		p.Apply(start, api.AddNode{ID: api.NodeID(fmt.Sprintf("n%03d", i)), Capacity: resources.Amounts{each}})
		fill(p, start, i, each)
	}
	for i := range groups {
		addGroup(p, api.ApplicationID(fmt.Sprintf("group-%02d", i)), size, gangs)
	}
	return p
}

// fullBesideGroups is one of a thousand nodes and groups of two thousand that were tried.
func fullBesideGroups(gangs bool) (*core.Partition, time.Time) {
	p, now := besideGroups(gangs, 1000, 2000), start
	for range 30 {
		now = now.Add(time.Second)
		schedule(p, now)
	}
	return p, now
}

// addGroup adds a group of so many asks, all of which start together: the placeholders of a gang, or asks that
// name it.
func addGroup(p *core.Partition, id api.ApplicationID, size int, gang bool) {
	add := api.AddApplication{ID: id, Queue: "root.q"}
	if gang {
		add.Placeholders = resources.Amounts{int64(size)}
	}
	p.Apply(start, add)
	for j := range size {
		member := ask(id, fmt.Sprintf("%s-%04d", id, j), 1)
		if member.Allocation.Placeholder = gang; gang {
			member.Allocation.TaskGroup = "workers"
		} else {
			member.Allocation.Tags = quorumTags(string(id), size)
		}
		p.Apply(start, member)
	}
}

// fill has a node full.
func fill(p *core.Partition, now time.Time, i int, each int64) {
	runs := ask("a", fmt.Sprintf("runs-%03d", i), each)
	runs.Allocation.Node = api.NodeID(fmt.Sprintf("n%03d", i))
	p.Apply(now, runs)
}

func schedule(p *core.Partition, now time.Time) {
	for more := true; more; {
		_, more = p.Schedule(now)
	}
}

// BenchmarkGroups measures what a freed node costs beside groups that do not fit, and what it costs to try
// all of them, as once a minute.
func BenchmarkGroups(b *testing.B) {
	for _, kind := range []string{"gang", "named"} {
		p, now := fullBesideGroups(kind == "gang")
		for _, every := range []time.Duration{1100 * time.Millisecond, 61 * time.Second} {
			b.Run(fmt.Sprintf("%s/every=%v", kind, every), func(b *testing.B) {
				for i := range b.N {
					p.Apply(now, api.ReleaseAllocation{Application: "a", Key: api.AllocationKey(fmt.Sprintf("runs-%03d", i%1000))})
					now = now.Add(every)
					schedule(p, now)
					fill(p, now, i%1000, 20)
					schedule(p, now)
				}
			})
		}
	}
}
