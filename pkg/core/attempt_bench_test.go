package core_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// crowd is a cluster that low priorities fill but for a little, and what comes
// then.
type crowd struct {
	nodes, pods, hunters int
	shapes               int  // of the hunters' asks
	victims              int  // that each of them takes
	guaranteed           bool // those who are there already
	claims               bool // the others hunt by their guarantee, not by priority
}

func (c crowd) build(tb testing.TB, batch int) *core.Partition {
	tb.Helper()
	root := core.QueueConfig{Name: "root", Parent: true, Queues: []core.QueueConfig{{Name: "low"}, {Name: "high"}}}
	if c.guaranteed {
		root.Queues[0].Guaranteed = resources.Amounts{int64(c.pods) * 100, 0, 0}
	}
	if c.claims {
		root.Queues[1].Guaranteed = resources.Amounts{int64(c.pods) * 2000, 0, 0}
	}
	p := core.NewPartition(core.Options{Kinds: testKinds(), BatchMax: batch}, core.Config{Name: "default", Root: root})
	perNode := c.pods / c.nodes
	for i := range c.nodes {
		p.Apply(start, core.AddNode{ID: core.NodeID(fmt.Sprintf("n%05d", i)), Capacity: resources.Amounts{int64(perNode*2000 + 1000), 64_000, 110}})
	}
	p.Apply(start, core.AddApplication{ID: "low", Queue: "root.low"})
	p.Apply(start, core.AddApplication{ID: "high", Queue: "root.high"})
	for i := range c.pods {
		p.Apply(start, core.AddAllocation{Allocation: &core.Allocation{
			Key: core.AllocationKey(fmt.Sprintf("low-%05d", i)), Application: "low", Created: start.Add(time.Duration(i*7919%c.pods) * time.Second),
			Node: core.NodeID(fmt.Sprintf("n%05d", i%c.nodes)), Amounts: resources.Amounts{2000, 4000, 1}, Priority: int32(i * 31 % 5),
		}})
	}
	return p
}

func (c crowd) hunt(p *core.Partition, now time.Time, i int) {
	amounts := resources.Amounts{int64(c.victims) * 2000, 3000 + int64(i%c.shapes), 1}
	priority := int32(100)
	if c.claims {
		priority = 4 // as high as that of anybody there
	}
	p.Apply(now, core.AddAllocation{Allocation: &core.Allocation{
		Key: core.AllocationKey(fmt.Sprintf("high-%05d", i)), Application: "high", Created: now, Amounts: amounts, Priority: priority,
	}})
}

var crowds = []struct {
	name string
	crowd
}{
	{"one-shape", crowd{nodes: 5000, pods: 20_000, hunters: 5000, shapes: 1, victims: 1}},
	{"two-victims", crowd{nodes: 5000, pods: 20_000, hunters: 5000, shapes: 1, victims: 2}},
	{"ten-shapes", crowd{nodes: 5000, pods: 20_000, hunters: 5000, shapes: 10, victims: 1}},
	{"each-its-own", crowd{nodes: 5000, pods: 20_000, hunters: 500, shapes: 500, victims: 1}},
	{"guaranteed", crowd{nodes: 5000, pods: 20_000, hunters: 5000, shapes: 1, victims: 1, guaranteed: true}},
	{"by-guarantee", crowd{nodes: 5000, pods: 20_000, hunters: 5000, shapes: 1, victims: 1, claims: true}},
}

// BenchmarkHunt measures decisions of priority preemption: how many in a second
// on one core, and how long the slowest of a hundred takes.
func BenchmarkHunt(b *testing.B) {
	for _, c := range crowds {
		b.Run(c.name, func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				b.StopTimer()
				p := c.build(b, 1)
				p.Schedule(start)
				for i := range c.hunters {
					c.crowd.hunt(p, start, i)
				}
				b.StartTimer()
				for more := true; more; {
					before := time.Now()
					var fx core.Effects
					fx, more = p.Schedule(start)
					if len(fx) > 0 {
						took = append(took, time.Since(before))
					}
				}
				b.StopTimer()
				if got := p.View().Preempted; int(got.Nominations) != c.hunters || int(got.Victims.Total()) != c.hunters*c.victims {
					b.Fatalf("%+v", got)
				}
				b.StartTimer()
			}
			slices.Sort(took)
			var sum time.Duration
			for _, t := range took {
				sum += t
			}
			b.ReportMetric(float64(len(took))/sum.Seconds(), "decisions/s")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-us")
			b.ReportMetric(float64(took[len(took)-1].Microseconds()), "max-us")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkGiveBack measures the plan of a queue whose max was lowered to half
// of what it uses.
func BenchmarkGiveBack(b *testing.B) {
	c := crowd{nodes: 5000, pods: 20_000}
	for b.Loop() {
		b.StopTimer()
		p := c.build(b, 256)
		run(p)
		p.Apply(start, core.Reconfigure{Config: core.Config{
			Name: "default", Preemption: core.PreemptionConfig{Quota: true},
			Root: core.QueueConfig{Name: "root", Parent: true, Queues: []core.QueueConfig{
				{Name: "low", Max: resources.Limits{int64(c.pods) * 1000}, Properties: core.QueueProperties{QuotaDelay: time.Second}},
				{Name: "high"},
			}},
		}})
		b.StartTimer()
		fx, _ := p.Schedule(start.Add(time.Second))
		if len(fx) < c.pods {
			b.Fatalf("%d effects", len(fx))
		}
	}
	b.ReportMetric(float64(c.pods/2), "victims")
}

// BenchmarkBystanders measures what the placement of others costs while room is
// made for many: each round some asks hunt, some fit, and the victims of the
// round before have gone. Only the placement of those who fit is timed.
func BenchmarkBystanders(b *testing.B) {
	const rounds, each = 500, 10
	c := crowd{nodes: 5000, pods: 20_000, shapes: 1, victims: 1}
	for _, hunted := range []bool{false, true} {
		b.Run(fmt.Sprintf("hunted=%t", hunted), func(b *testing.B) {
			var took time.Duration
			for b.Loop() {
				p := c.build(b, 256)
				p.Apply(start, core.AddApplication{ID: "bystanders", Queue: "root.low"})
				run(p)
				var told []*core.EvictionRequested
				for round := range rounds {
					gone := told
					told = nil
					for i := range each {
						if hunted {
							c.hunt(p, start, round*each+i)
						}
					}
					told = append(told, drain(p)...)
					for _, r := range gone {
						p.Apply(start, core.ReleaseAllocation{
							Application: r.Application, Key: r.Key,
							Termination: si.TerminationType_PREEMPTED_BY_SCHEDULER,
						})
					}
					told = append(told, drain(p)...)
					for i := range each {
						p.Apply(start, core.AddAllocation{Allocation: &core.Allocation{
							Key: core.AllocationKey(fmt.Sprintf("by-%05d", round*each+i)), Application: "bystanders",
							Amounts: resources.Amounts{500, 1000, 1}, Created: start,
						}})
					}
					before := time.Now()
					placed := run(p)
					took += time.Since(before)
					if placed != each {
						b.Fatalf("round %d: %d placed", round, placed)
					}
				}
			}
			b.ReportMetric(float64(took.Nanoseconds())/float64(b.N*rounds*each), "ns/bystander")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// drain schedules until there is no more to do, and returns the evictions.
func drain(p *core.Partition) (told []*core.EvictionRequested) {
	for {
		fx, more := p.Schedule(start)
		for _, effect := range fx {
			if r, ok := effect.(*core.EvictionRequested); ok {
				told = append(told, r)
			}
		}
		if !more {
			return told
		}
	}
}
