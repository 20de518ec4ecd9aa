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

// besideGroups is a partition of full nodes, of 20 each, in which sixteen groups of one size wait: gangs
// that start whole, or asks that name a group.
func besideGroups(gangs bool, nodes, size int) *core.Partition {
	const groups, each = 16, 20
	p := core.NewPartition(api.Options{Kinds: testKinds(), ReserveDelay: -1, BatchMax: 10_000}, api.Config{Name: "default", Root: api.QueueConfig{
		Name: "root", Parent: true, Queues: []api.QueueConfig{{Name: "q", Properties: api.QueueProperties{GangWhole: gangs}}},
	}})
	p.Apply(start, api.AddApplication{ID: "a", Queue: "root.q"})
	for i := range nodes {
		p.Apply(start, api.AddNode{ID: api.NodeID(fmt.Sprintf("n%03d", i)), Capacity: resources.Amounts{int64(each)}})
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

// evictedByGroup is a partition of full nodes with so many pods each, which run by themselves or in groups of so many, and a
// group of asks, each as large as a node.
func evictedByGroup(nodes, each, inGroups, asks int) *core.Partition {
	return answeredByGroup(api.Options{}, nodes, each, inGroups, asks)
}

// answeredByGroup is the same with a resource manager that answers.
func answeredByGroup(options api.Options, nodes, each, inGroups, asks int) *core.Partition {
	options.Kinds, options.BatchMax = testKinds(), 256
	p := core.NewPartition(options, api.Config{Name: "default", Root: api.QueueConfig{
		Name: "root", Parent: true, Queues: []api.QueueConfig{{Name: "q"}},
	}})
	p.Apply(start, api.AddApplication{ID: "low", Queue: "root.q"})
	p.Apply(start, api.AddApplication{ID: "high", Queue: "root.q"})
	for i := range nodes {
		p.Apply(start, api.AddNode{ID: api.NodeID(fmt.Sprintf("n%04d", i)), Capacity: resources.Amounts{int64(each)}})
	}
	for i := range nodes * each {
		low := ask("low", fmt.Sprintf("low-%05d", i), 1)
		low.Allocation.Node, low.Allocation.Priority = api.NodeID(fmt.Sprintf("n%04d", i/each)), int32(i/each*31%5)
		if low.Allocation.Created = start.Add(-time.Duration(i*7919%nodes) * time.Second); inGroups > 0 {
			low.Allocation.Tags = quorumTags(fmt.Sprint("low-", i/inGroups), inGroups)
		}
		p.Apply(start, low)
	}
	schedule(p, start)
	for i := range asks {
		high := ask("high", fmt.Sprintf("high-%03d", i), int64(each))
		high.Allocation.Priority, high.Allocation.Tags = 100, quorumTags("high", asks)
		p.Apply(start, high)
	}
	return p
}

// BenchmarkGroupEvicts measures how long it takes to find a thousand victims for a group of a hundred asks.
func BenchmarkGroupEvicts(b *testing.B) {
	for _, inGroups := range []int{0, 20, 100} {
		b.Run(fmt.Sprint("in-groups=", inGroups), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				p := evictedByGroup(5000, 10, inGroups, 100)
				b.StartTimer()
				schedule(p, start)
				b.StopTimer()
				if got := p.View().Preempted; got.Nominations != 100 || got.Victims.Total() != 1000 {
					b.Fatalf("%+v", got)
				}
				b.StartTimer()
			}
		})
	}
}

// hopelessGroup is a partition of full nodes with twenty pods each in racks of twenty-five, of which one in so many is less important
// than a group of asks, each as large as a node. No rack has room for it.
func hopelessGroup(nodes, lower int) *core.Partition {
	p := core.NewPartition(api.Options{Kinds: testKinds(), BatchMax: 256}, api.Config{Name: "default", Levels: [][]string{{"rack"}}, Root: api.QueueConfig{
		Name: "root", Parent: true, Queues: []api.QueueConfig{{Name: "q"}},
	}})
	p.Apply(start, api.AddApplication{ID: "a", Queue: "root.q"})
	for i := range 20 * nodes {
		if i%20 == 0 {
			p.Apply(start, api.AddNode{ID: rackNode(i / 20), Capacity: resources.Amounts{20}, Attributes: map[string]string{"rack": fmt.Sprint("r", i/500)}})
		}
		runs := ask("a", fmt.Sprintf("runs-%05d", i), 1)
		if runs.Allocation.Node, runs.Allocation.Priority = rackNode(i/20), 100; i%lower == 0 {
			runs.Allocation.Priority = 1
		}
		p.Apply(start, runs)
	}
	schedule(p, start)
	for i := range 20 {
		member := ask("a", fmt.Sprintf("member-%02d", i), 20)
		member.Allocation.Priority, member.Allocation.Tags = 100, quorumTags("train", 20)
		member.Allocation.Tags[api.TagQuorumRequire] = "rack"
		p.Apply(start, member)
	}
	return p
}

// BenchmarkHopelessGroup measures an attempt for a group that gets no room in any of 200 racks, beside 100,000 pods.
func BenchmarkHopelessGroup(b *testing.B) {
	for _, lower := range []int{100_000, 20, 2} {
		b.Run(fmt.Sprint("one-lower-in=", lower), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				p := hopelessGroup(5000, lower)
				b.StartTimer()
				schedule(p, start)
			}
		})
	}
}

// TestHopelessGroupLooksAtFew: an attempt for a group looks at what runs where anything may end, once for the attempt and once to say how
// near it came, and nowhere else.
func TestHopelessGroupLooksAtFew(t *testing.T) {
	for _, c := range []struct {
		lower int
		steps uint64
	}{{20_000, 2 * 20}, {200, 2 * 100 * 20}, {2, 2 * 20_000}} {
		p := hopelessGroup(1000, c.lower)
		p.ForgetWork()
		schedule(p, start)
		view := p.View()
		assert.Equal(t, view.Work.NodeCosts, uint64(0))
		assert.Assert(t, view.Work.Steps > 0 && view.Work.Steps <= c.steps, "one in %d: %d steps", c.lower, view.Work.Steps)
	}
}

// evictedInRacks is a partition of a thousand full nodes with ten pods each in forty racks, and a group of so many asks of such a size that
// requires a rack.
func evictedInRacks(asks int, size int64) *core.Partition {
	p := core.NewPartition(api.Options{Kinds: testKinds(), BatchMax: 256}, api.Config{Name: "default", Levels: [][]string{{"rack"}}, Root: api.QueueConfig{
		Name: "root", Parent: true, Queues: []api.QueueConfig{{Name: "q"}},
	}})
	p.Apply(start, api.AddApplication{ID: "a", Queue: "root.q"})
	for i := range 1000 {
		p.Apply(start, api.AddNode{ID: rackNode(i), Capacity: resources.Amounts{10}, Attributes: map[string]string{"rack": fmt.Sprintf("r%02d", i/25)}})
		for j := range 10 {
			low := ask("a", fmt.Sprintf("low-%04d-%d", i, j), 1)
			low.Allocation.Node, low.Allocation.Priority = rackNode(i), int32(i*31%5)
			low.Allocation.Created = start.Add(-time.Duration(i*7919%1000) * time.Second)
			p.Apply(start, low)
		}
	}
	schedule(p, start)
	for i := range asks {
		high := ask("a", fmt.Sprintf("high-%03d", i), size)
		high.Allocation.Priority, high.Allocation.Tags = 100, quorumTags("high", asks)
		high.Allocation.Tags[api.TagQuorumRequire] = "rack"
		p.Apply(start, high)
	}
	return p
}

// rackGroups are groups of which each takes 200 of the 250 pods of a rack, and what it may take to find these: all racks are looked at.
var rackGroups = []struct {
	asks  int
	size  int64
	costs uint64 // of nodes that are worked out, at most
}{{20, 10, 2000}, {100, 2, 6000}}

// BenchmarkGroupEvictsInRack measures how long it takes to choose the rack in which room for a group costs least, and the victims there.
func BenchmarkGroupEvictsInRack(b *testing.B) {
	for _, g := range rackGroups {
		b.Run(fmt.Sprint("members=", g.asks), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				p := evictedInRacks(g.asks, g.size)
				b.StartTimer()
				schedule(p, start)
			}
		})
	}
}

// TestRoomInARackTakesFewCosts: the rack is chosen in one attempt, which works out what room costs for a bounded number of nodes, and all
// that is evicted is in one rack.
func TestRoomInARackTakesFewCosts(t *testing.T) {
	for _, g := range rackGroups {
		p := evictedInRacks(g.asks, g.size)
		p.ForgetWork()
		schedule(p, start)
		view := p.View()
		assert.Equal(t, view.Preempted.Nominations, uint64(g.asks))
		assert.Equal(t, view.Preempted.Victims.Total(), uint64(200))
		assert.Assert(t, view.Work.NodeCosts <= g.costs, "%d members: %d costs", g.asks, view.Work.NodeCosts)
		racks := map[string]bool{}
		for _, n := range view.Nodes {
			if len(n.Evictions) > 0 {
				racks[n.Attributes["rack"]] = true
			}
		}
		assert.Equal(t, len(racks), 1, "%v", racks)
	}
}
