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

// racks is a partition of 5,000 nodes of sixteen cores in 50 racks of five blocks.
func racks(order api.NodeOrder) *core.Partition {
	p := core.NewPartition(api.Options{Kinds: testKinds(), ReserveDelay: -1, BatchMax: 100_000}, api.Config{
		Name: "default", Levels: [][]string{{"block", "rack"}}, Nodes: order,
		Root: api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{{Name: "default"}}},
	})
	for i := range 5000 {
		p.Apply(start, api.AddNode{ID: rackNode(i), Capacity: resources.Amounts{16}, Attributes: map[string]string{
			"block": fmt.Sprint("b", i/1000), "rack": fmt.Sprintf("r%02d", i/100),
		}})
	}
	p.Apply(start, api.AddApplication{ID: "a"})
	p.React()
	return p
}

func rackNode(i int) api.NodeID { return api.NodeID(fmt.Sprintf("n%04d", i)) }

// addRackGroups adds groups of so many asks that require a rack.
func addRackGroups(p *core.Partition, groups, size int, amounts int64) {
	addGroups(p, groups, size, amounts, api.TagQuorumRequire)
}

// addGroups adds groups of so many asks that say a rack with a tag.
func addGroups(p *core.Partition, groups, size int, amounts int64, tag string) {
	for i := range groups {
		for j := range size {
			member := ask("a", fmt.Sprintf("g%04d-%04d", i, j), amounts)
			member.Allocation.Tags = quorumTags(fmt.Sprint("g", i), size)
			member.Allocation.Tags[tag] = "rack"
			p.Apply(start, member)
		}
	}
}

// BenchmarkDomains measures what groups cost that require a rack, on 5,000 nodes in 50 racks, of which all are considered:
// what it takes to place a group of a thousand, and many of four; and a pod that ends beside 500 groups that wait. One of ten thousand
// prefers few racks, and one is of subgroups of sixteen that require one each.
//
//	go test -run - -bench Domains -cpu 1 ./pkg/core
func BenchmarkDomains(b *testing.B) {
	for _, order := range []api.NodeOrder{{}, {Packing: true}} {
		for _, of := range []struct{ groups, size int }{{1, 1000}, {9, 1000}, {750, 4}, {2250, 4}} {
			b.Run(fmt.Sprintf("packing=%t/groups=%d/size=%d", order.Packing, of.groups, of.size), func(b *testing.B) {
				for range b.N {
					b.StopTimer()
					p := racks(order)
					addRackGroups(p, of.groups, of.size, 1)
					b.StartTimer()
					if placed := run(p); placed != of.groups*of.size {
						b.Fatalf("%d placed", placed)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(of.groups*of.size), "ns/pod")
			})
		}
		b.Run(fmt.Sprintf("packing=%t/prefer/size=10000", order.Packing), func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				p := racks(order)
				addGroups(p, 1, 10_000, 1, api.TagQuorumPrefer)
				b.StartTimer()
				if placed := run(p); placed != 10_000 {
					b.Fatalf("%d placed", placed)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/10_000, "ns/pod")
		})
		b.Run(fmt.Sprintf("packing=%t/subgroups of 16/size=10000", order.Packing), func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				p := racks(order)
				for i := range 10_000 {
					member := ask("a", fmt.Sprintf("m%05d", i), 1)
					member.Allocation.Tags = quorumTags("g", 10_000)
					member.Allocation.Tags[api.TagQuorumEach], member.Allocation.Tags[api.TagQuorumSubgroup] = "rack", fmt.Sprint(i/16)
					p.Apply(start, member)
				}
				b.StartTimer()
				if placed := run(p); placed != 10_000 {
					b.Fatalf("%d placed", placed)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/10_000, "ns/pod")
		})
		b.Run(fmt.Sprintf("packing=%t/freed beside 500", order.Packing), func(b *testing.B) {
			p, now := fullRacks(order), start
			addRackGroups(p, 500, 8, 16)
			schedule(p, now)
			for range 40 {
				now = now.Add(2 * time.Second)
				schedule(p, now)
			}
			for i := 0; b.Loop(); i++ {
				b.StopTimer()
				now = now.Add(2 * time.Second)
				schedule(p, now)
				b.StartTimer()
				p.Apply(now, api.ReleaseAllocation{Application: "a", Key: api.AllocationKey(fmt.Sprintf("runs-%04d", i%5000))})
				schedule(p, now)
				b.StopTimer()
				fillRack(p, now, i%5000)
				schedule(p, now)
				b.StartTimer()
			}
		})
	}
}

// fullRacks is the same partition with a pod on each node that fills it.
func fullRacks(order api.NodeOrder) *core.Partition {
	p := racks(order)
	for i := range 5000 {
		fillRack(p, start, i)
	}
	return p
}

func fillRack(p *core.Partition, now time.Time, i int) {
	runs := ask("a", fmt.Sprintf("runs-%04d", i), 16)
	runs.Allocation.Node = rackNode(i)
	p.Apply(now, runs)
}

// A freed node wakes only groups that it may help: of 500 that wait for eight nodes of a rack none is tried before eight of one
// are free.
func TestFreedNodesWakeGroupsTheyHelp(t *testing.T) {
	p, now := fullRacks(api.NodeOrder{}), start
	addRackGroups(p, 500, 8, 16)
	schedule(p, now)
	for range 3 {
		now = now.Add(20 * time.Second)
		schedule(p, now)
	}
	for i := range 8 {
		before := p.Work.Attempts
		p.Apply(now, api.ReleaseAllocation{Application: "a", Key: api.AllocationKey(fmt.Sprintf("runs-%04d", 4700+i))})
		p.Apply(now, api.ReleaseAllocation{Application: "a", Key: api.AllocationKey(fmt.Sprintf("runs-%04d", 2400+i))})
		now = now.Add(2 * time.Second)
		if i < 7 {
			schedule(p, now)
			assert.Equal(t, p.Work.Attempts, before, "%d nodes are free in two racks", i+1)
			continue
		}
		fx, _ := p.Schedule(now)
		assert.Equal(t, placements(fx), 16, "two groups start")
	}
}
