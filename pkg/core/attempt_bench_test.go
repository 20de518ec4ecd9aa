package core_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// An attemptLoad is a cluster that allocations of low priorities nearly fill, and the
// asks that come then and need preemption.
type attemptLoad struct {
	nodes, pods, asks int
	classes           int  // of the asks
	victims           int  // of each ask
	guaranteed        bool // the queue of the allocations that run already
	byGuarantee       bool // the trigger of the asks is the guarantee, not priority
}

func (c attemptLoad) build(tb testing.TB, batch int) *core.Partition {
	tb.Helper()
	root := api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{{Name: "low"}, {Name: "high"}}}
	if c.guaranteed {
		root.Queues[0].Guaranteed = resources.Amounts{int64(c.pods) * 100, 0, 0}
	}
	if c.byGuarantee {
		root.Queues[1].Guaranteed = resources.Amounts{int64(c.pods) * 2000, 0, 0}
	}
	p := core.NewPartition(api.Options{Kinds: testKinds(), BatchMax: batch}, api.Config{Name: "default", Root: root})
	perNode := c.pods / c.nodes
	for i := range c.nodes {
		p.Apply(start, api.AddNode{ID: api.NodeID(fmt.Sprintf("n%05d", i)), Capacity: resources.Amounts{int64(perNode*2000 + 1000), 64_000, 110}})
	}
	p.Apply(start, api.AddApplication{ID: "low", Queue: "root.low"})
	p.Apply(start, api.AddApplication{ID: "high", Queue: "root.high"})
	for i := range c.pods {
		p.Apply(start, api.AddAllocation{Allocation: &api.Allocation{
			Key: api.AllocationKey(fmt.Sprintf("low-%05d", i)), Application: "low", Created: start.Add(time.Duration(i*7919%c.pods) * time.Second),
			Node: api.NodeID(fmt.Sprintf("n%05d", i%c.nodes)), Amounts: resources.Amounts{2000, 4000, 1}, Priority: int32(i * 31 % 5),
		}})
	}
	return p
}

// addAsk adds an ask that needs preemption.
func (c attemptLoad) addAsk(p *core.Partition, now time.Time, i int) {
	amounts := resources.Amounts{int64(c.victims) * 2000, 3000 + int64(i%c.classes), 1}
	priority := int32(100)
	if c.byGuarantee {
		priority = 4 // as high as the highest that runs
	}
	p.Apply(now, api.AddAllocation{Allocation: &api.Allocation{
		Key: api.AllocationKey(fmt.Sprintf("high-%05d", i)), Application: "high", Created: now, Amounts: amounts, Priority: priority,
	}})
}

var attemptLoads = []struct {
	name string
	attemptLoad
}{
	{"one-class", attemptLoad{nodes: 5000, pods: 20_000, asks: 5000, classes: 1, victims: 1}},
	{"two-victims", attemptLoad{nodes: 5000, pods: 20_000, asks: 5000, classes: 1, victims: 2}},
	{"ten-classes", attemptLoad{nodes: 5000, pods: 20_000, asks: 5000, classes: 10, victims: 1}},
	{"each-its-own", attemptLoad{nodes: 5000, pods: 20_000, asks: 500, classes: 500, victims: 1}},
	{"guaranteed", attemptLoad{nodes: 5000, pods: 20_000, asks: 5000, classes: 1, victims: 1, guaranteed: true}},
	{"by-guarantee", attemptLoad{nodes: 5000, pods: 20_000, asks: 5000, classes: 1, victims: 1, byGuarantee: true}},
}

// BenchmarkAttempt measures decisions of priority preemption: how many in a second
// on one core, and how long the slowest of a hundred takes.
func BenchmarkAttempt(b *testing.B) {
	for _, c := range attemptLoads {
		b.Run(c.name, func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				b.StopTimer()
				p := c.build(b, 1)
				p.Schedule(start)
				for i := range c.asks {
					c.attemptLoad.addAsk(p, start, i)
				}
				b.StartTimer()
				for more := true; more; {
					before := time.Now()
					var fx api.Effects
					fx, more = p.Schedule(start)
					if len(fx) > 0 {
						took = append(took, time.Since(before))
					}
				}
				b.StopTimer()
				if got := p.View().Preempted; int(got.Nominations) != c.asks || int(got.Victims.Total()) != c.asks*c.victims {
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
	c := attemptLoad{nodes: 5000, pods: 20_000}
	for b.Loop() {
		b.StopTimer()
		p := c.build(b, 256)
		run(p)
		p.Apply(start, api.Reconfigure{Config: api.Config{
			Name: "default", Preemption: api.PreemptionConfig{Quota: true},
			Root: api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{
				{Name: "low", Max: resources.Limits{int64(c.pods) * 1000}, Properties: api.QueueProperties{QuotaDelay: time.Second}},
				{Name: "high"},
			}},
		}})
		b.StartTimer()
		fx, _ := p.Schedule(start.Add(time.Second))
		if len(fx) < c.pods/2 {
			b.Fatalf("%d effects", len(fx))
		}
	}
	b.ReportMetric(float64(c.pods/2), "victims")
}

// BenchmarkBystanders measures what the placement of other asks costs while room is
// made for many: in each round some asks need preemption, some fit, and the victims
// of the round before have ended. Only the placement of the asks that fit is timed.
func BenchmarkBystanders(b *testing.B) {
	const rounds, each = 500, 10
	c := attemptLoad{nodes: 5000, pods: 20_000, classes: 1, victims: 1}
	for _, attempts := range []bool{false, true} {
		b.Run(fmt.Sprintf("attempts=%t", attempts), func(b *testing.B) {
			var took time.Duration
			for b.Loop() {
				p := c.build(b, 256)
				p.Apply(start, api.AddApplication{ID: "bystanders", Queue: "root.low"})
				run(p)
				var evicted []*api.EvictionRequested
				for round := range rounds {
					gone := evicted
					evicted = nil
					for i := range each {
						if attempts {
							c.addAsk(p, start, round*each+i)
						}
					}
					evicted = append(evicted, drain(p)...)
					for _, r := range gone {
						p.Apply(start, api.ReleaseAllocation{
							Application: r.Application, Key: r.Key,
							Termination: si.TerminationType_PREEMPTED_BY_SCHEDULER,
						})
					}
					evicted = append(evicted, drain(p)...)
					for i := range each {
						p.Apply(start, api.AddAllocation{Allocation: &api.Allocation{
							Key: api.AllocationKey(fmt.Sprintf("by-%05d", round*each+i)), Application: "bystanders",
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
func drain(p *core.Partition) (evicted []*api.EvictionRequested) {
	for {
		fx, more := p.Schedule(start)
		for _, effect := range fx {
			if r, ok := effect.(*api.EvictionRequested); ok {
				evicted = append(evicted, r)
			}
		}
		if !more {
			return evicted
		}
	}
}
