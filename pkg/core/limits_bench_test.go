package core_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// buildLimited is a cluster with as many users as there are applications. Each may use so many
// thousandths of a core in every queue; zero is no limit. Asks are of a tenth of a core.
func (l load) buildLimited(most int64) *core.Partition {
	p := cluster(l.nodes, 0, api.Options{})
	var limits []api.Limit
	if most > 0 {
		limits = []api.Limit{{Users: []string{"*"}, Groups: []string{"dev", "*"}, Max: resources.Limits{most}}}
	}
	root := api.QueueConfig{Name: "root", Parent: true, Limits: limits}
	for i := range l.queues {
		root.Queues = append(root.Queues, api.QueueConfig{Name: fmt.Sprintf("q%04d", i), Limits: limits})
	}
	p.Apply(start, api.Reconfigure{Config: api.Config{Name: "default", Root: root}})
	for i := range l.applications {
		p.Apply(start, api.AddApplication{
			ID: api.ApplicationID(fmt.Sprintf("app%05d", i)), Queue: api.QueuePath(fmt.Sprintf("root.q%04d", i%l.queues)),
			User: fmt.Sprint("user-", i), Groups: []string{fmt.Sprint("group-", i)},
		})
	}
	for i := range l.asks {
		app := api.ApplicationID(fmt.Sprintf("app%05d", i%l.applications))
		p.Apply(start, ask(app, fmt.Sprintf("pod-%08d", i), 100, 128<<20, 1))
	}
	return p
}

// BenchmarkLimits measures what a placement costs with limits of users and groups, and without.
// It counts processor time, the garbage collector included, as other work on the machine counts
// for time that passes.
//
//	go test -run - -bench Limits -cpu 1 ./pkg/core
func BenchmarkLimits(b *testing.B) {
	for _, users := range []int{2, 400, 4000} {
		for _, most := range []int64{0, 1 << 40} {
			l := load{5000, 50_000, 2, users}
			b.Run(fmt.Sprintf("users=%d/limited=%t", users, most > 0), func(b *testing.B) { l.placeLimited(b, most) })
		}
	}
}

// placeLimited measures the placements of a cluster in which each user has a limit.
func (l load) placeLimited(b *testing.B, most int64) {
	used := time.Duration(0)
	for range b.N {
		b.StopTimer()
		p := l.buildLimited(most)
		p.React()
		runtime.GC()
		b.StartTimer()
		before := processorUsed()
		if placed := run(p); placed != l.asks {
			b.Fatalf("%d of %d placed", placed, l.asks)
		}
		used += processorUsed() - before
	}
	b.ReportMetric(float64(used.Nanoseconds())/float64(b.N)/float64(l.asks), "ns/placement")
}

// BenchmarkLimitsOfQueues measures the same where each of 1,000 queues has limits of its own, beside
// those of the root, and 4,000 applications of as many users are in them.
//
//	go test -run - -bench LimitsOfQueues -cpu 1 ./pkg/core
func BenchmarkLimitsOfQueues(b *testing.B) {
	for _, most := range []int64{0, 1 << 40} {
		l := load{5000, 50_000, 1000, 4000}
		b.Run(fmt.Sprintf("limited=%t", most > 0), func(b *testing.B) { l.placeLimited(b, most) })
	}
}

// TestWorkWithLimits counts what a placement looks at with limits: ten times and a hundred times
// as many users, of whose asks every limit holds half, add a few steps for each doubling.
func TestWorkWithLimits(t *testing.T) {
	var first uint64
	for i, users := range []int{100, 1000, 10_000} {
		l := load{500, 2 * users, 1, users}
		p := l.buildLimited(100) // one ask of each user
		p.React()
		before := p.View().Work
		assert.Equal(t, run(p), users)
		after := p.View().Work
		cost := (after.Applications - before.Applications + after.Asks - before.Asks) / uint64(users)
		t.Logf("%d users: %d looks for each placement", users, cost)
		if i == 0 {
			first = cost
		}
		assert.Assert(t, cost <= first+uint64(i)*4*12, "%d", cost)
		// What is held back is not looked at again.
		run(p)
		idle := p.View().Work
		assert.Equal(t, idle.Applications, after.Applications)
	}
}
