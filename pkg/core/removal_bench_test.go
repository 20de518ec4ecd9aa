package core_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// A removal is of an application with many asks, by why they wait. Those that the
// resource manager refuses are classes of their own.
type removal struct {
	name     string
	refuses  bool       // the resource manager refuses every node
	required api.NodeID // the only node on which they may run
	reversed bool       // the youngest has the first key
	large    bool       // no node has room
}

var removals = []removal{
	{name: "refused", refuses: true},
	{name: "refused-reversed", refuses: true, reversed: true},
	{name: "unknown-node", required: "nowhere"},
	{name: "unknown-node-reversed", required: "nowhere", reversed: true},
	{name: "known-node", required: "n000001", large: true},
	{name: "known-node-reversed", required: "n000001", large: true, reversed: true},
	{name: "no-room", large: true},
	{name: "no-room-reversed", large: true, reversed: true},
}

// build has so many asks wait, which were all tried.
func (r removal) build(asks int) *core.Partition {
	options := api.Options{ReserveDelay: -1}
	if r.refuses {
		options.Feasible = func(api.AllocationKey, api.NodeID, bool) error { return errors.New("no") }
	}
	p := cluster(3, 1, options)
	p.Apply(start, api.AddApplication{ID: "a", Queue: "root.q0000"})
	for i := range asks {
		number, vcore := i, int64(1000)
		if r.reversed {
			number = asks - i
		}
		if r.large {
			vcore = 17_000
		}
		a := ask("a", fmt.Sprintf("k%08d", number), vcore, 1<<30, 1)
		a.Allocation.Required = r.required
		p.Apply(start, a)
	}
	run(p)
	return p
}

// BenchmarkRemoval measures how long it takes to remove an application whose asks wait,
// and what is scheduled after that.
//
//	go test -run '^$' -bench Removal -benchtime 3x -cpu 1 ./pkg/core
func BenchmarkRemoval(b *testing.B) {
	for _, r := range removals {
		for _, asks := range []int{10_000, 20_000, 40_000} {
			b.Run(fmt.Sprintf("%s/asks=%d", r.name, asks), func(b *testing.B) {
				for range b.N {
					b.StopTimer()
					p := r.build(asks)
					b.StartTimer()
					p.Apply(start, api.RemoveApplication{ID: "a"})
					run(p)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(asks), "ns/ask")
			})
		}
	}
}

// TestRemovalLooksAtEachAskAFewTimes pins what is looked at when an application is
// removed whose asks wait: each ask a few times, however many there are.
func TestRemovalLooksAtEachAskAFewTimes(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	for _, r := range removals {
		for _, asks := range []uint64{1000, 8000} {
			p := r.build(int(asks))
			before := p.View().Work
			p.Apply(start, api.RemoveApplication{ID: "a"})
			run(p)
			after := p.View().Work
			looked := after.Asks - before.Asks + after.Applications - before.Applications + after.Nodes - before.Nodes
			assert.Assert(t, looked <= 20*asks, "%s: %d looked at to remove %d asks", r.name, looked, asks)
			assert.Assert(t, p.KnownClasses() <= 200, "%s: %d classes are remembered", r.name, p.KnownClasses())
			p.Schedule(start.Add(2 * time.Minute))
			assert.Equal(t, p.TimersSet(), 0, r.name)
			assert.NilError(t, p.Verify())
		}
	}
}
