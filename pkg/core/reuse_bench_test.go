package core_test

import (
	"fmt"
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// A waiting room is a full cluster on which many asks wait, and in which one pod ends
// after the other.
type waitingRoom struct {
	asks, sizes, priorities int
}

func (w waitingRoom) String() string {
	return fmt.Sprintf("sizes=%d/priorities=%d", w.sizes, w.priorities)
}

// build fills 1,000 nodes with 4,000 pods and has asks wait that are no larger than
// one of these.
func (w waitingRoom) build() *core.Partition {
	const nodes = 1000
	p := cluster(nodes, 1, api.Options{ReserveDelay: -1})
	p.Apply(start, api.AddApplication{ID: "runs", Queue: "root.q0000"})
	p.Apply(start, api.AddApplication{ID: "waits", Queue: "root.q0000"})
	for i := range 4 * nodes {
		a := ask("runs", fmt.Sprint("r", i), 4000, 16<<30, 1)
		a.Allocation.Priority = 100 // nothing is evicted
		p.Apply(start, a)
	}
	run(p)
	for i := range w.asks {
		a := ask("waits", fmt.Sprint("w", i), 4000-int64(i%w.sizes%3000), 16<<30-int64(i%w.sizes/3000)<<20, 1)
		a.Allocation.Priority = int32(i / w.sizes % w.priorities)
		p.Apply(start, a)
	}
	run(p)
	return p
}

// reuse ends a pod and has the next ask placed.
func (w waitingRoom) reuse(tb testing.TB, p *core.Partition, i int) {
	p.Apply(start, api.ReleaseAllocation{Application: "runs", Key: api.AllocationKey(fmt.Sprint("r", i)), Termination: si.TerminationType_STOPPED_BY_RM})
	fx, _ := p.Schedule(start)
	if placements(fx) != 1 {
		tb.Fatalf("%d placed", placements(fx))
	}
}

var waitingRooms = []waitingRoom{
	{50_000, 1, 1},
	{50_000, 151, 1},
	{50_000, 151, 2},
	{50_000, 151, 3},
	{50_000, 151, 20},
	{5000, 5000, 1},
	{20_000, 20_000, 1},
	{50_000, 50_000, 1},
}

// BenchmarkReuseOfRoom measures how long it takes until room that comes free is used
// again, by how many classes of asks wait for it.
//
//	go test -run '^$' -bench ReuseOfRoom -benchtime 500x -cpu 1 -count 5 ./pkg/core
func BenchmarkReuseOfRoom(b *testing.B) {
	for _, w := range waitingRooms {
		b.Run(w.String(), func(b *testing.B) {
			p := w.build()
			b.ResetTimer()
			for i := range b.N {
				w.reuse(b, p, i)
			}
		})
	}
}

// TestReuseOfRoomLooksAtFew pins what is looked at until room that comes free is used
// again: it grows with the logarithm of the number of classes.
func TestReuseOfRoomLooksAtFew(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	for _, w := range waitingRooms {
		w.asks /= 5
		w.sizes = min(w.sizes, w.asks)
		p := w.build()
		before := p.View().Work
		const rounds = 50
		for i := range rounds {
			w.reuse(t, p, i)
		}
		after := p.View().Work
		asks := (after.Asks - before.Asks) / rounds
		t.Logf("%v: %d groups, %d nodes", w, asks, (after.Nodes-before.Nodes)/rounds)
		assert.Assert(t, asks < 200, "%v: %d looked at", w, asks)
		assert.NilError(t, p.Verify())
	}
}
