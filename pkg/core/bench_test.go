package core_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// load is a cluster with asks that all fit: so many nodes, asks, leaf queues
// and applications.
type load struct{ nodes, asks, queues, applications int }

func (l load) String() string {
	return fmt.Sprintf("nodes=%d/asks=%d/queues=%d/applications=%d", l.nodes, l.asks, l.queues, l.applications)
}

// build registers everything; the asks are pending.
func (l load) build(options api.Options, sort api.SortPolicy) *core.Partition {
	p := cluster(l.nodes, 0, options)
	root := api.QueueConfig{Name: "root", Parent: true}
	for i := range l.queues {
		root.Queues = append(root.Queues, api.QueueConfig{
			Name: fmt.Sprintf("q%04d", i), Properties: api.QueueProperties{ApplicationSort: sort},
		})
	}
	p.Apply(start, api.Reconfigure{Config: api.Config{Name: "default", Root: root}})
	for i := range l.applications {
		p.Apply(start, api.AddApplication{
			ID: api.ApplicationID(fmt.Sprintf("app%05d", i)), Queue: api.QueuePath(fmt.Sprintf("root.q%04d", i%l.queues)),
		})
	}
	for i := range l.asks {
		app := api.ApplicationID(fmt.Sprintf("app%05d", i%l.applications))
		p.Apply(start, ask(app, fmt.Sprintf("pod-%08d", i), 100, 128<<20, 1))
	}
	return p
}

// run places everything and returns how many placements there were.
func run(p *core.Partition) (placed int) {
	for {
		fx, more := p.Schedule(start)
		placed += placements(fx)
		if !more {
			return placed
		}
	}
}

// BenchmarkPlace measures what one placement costs in the core.
//
//	go test -run - -bench Place -cpu 1 ./pkg/core
func BenchmarkPlace(b *testing.B) {
	for _, l := range []load{
		{5000, 50_000, 2, 2},
		{5000, 1000, 1, 1},
		{5000, 100_000, 1, 1},
		{1000, 50_000, 1, 1},
		{100_000, 50_000, 1, 1},
		{5000, 50_000, 1000, 1000},
		{5000, 50_000, 1, 4000},
	} {
		b.Run(l.String(), func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				p := l.build(api.Options{}, api.Fair)
				p.React() // puts the nodes in order
				runtime.GC()
				b.StartTimer()
				if placed := run(p); placed != l.asks {
					b.Fatalf("%d of %d placed", placed, l.asks)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(l.asks), "ns/placement")
		})
	}
}
