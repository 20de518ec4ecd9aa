package core_test

import (
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// A failedLoad is a full cluster and asks of different classes for which no node can make
// room: less important allocations hold half of what they want. They differ in amounts, or in
// priorities too.
type failedLoad struct {
	nodes, pods, classes int
	priorities           bool
}

// ofPod is the priority of one of the pods of a node.
func (v failedLoad) ofPod(i int) int32 { return int32(i * 1000) }

// ofAsk is the priority of an ask. It is above that of half of the pods of a node, or, where
// all differ, of a quarter to six tenths.
func (v failedLoad) ofAsk(i int) int32 {
	if v.priorities {
		return int32(v.pods*250 + i*v.pods*350/v.classes)
	}
	return v.ofPod(v.pods / 2)
}

func (v failedLoad) build() *core.Partition {
	root := api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{{Name: "a"}, {Name: "b", Guaranteed: []int64{1000}}}}
	p := core.NewPartition(api.Options{Kinds: testKinds(), ReserveDelay: -1}, api.Config{Name: "default", Root: root})
	p.Apply(start, api.AddApplication{ID: "a", Queue: "root.a"})
	p.Apply(start, api.AddApplication{ID: "b", Queue: "root.b"})
	for n := range v.nodes {
		id := api.NodeID(fmt.Sprintf("n%05d", n))
		p.Apply(start, api.AddNode{ID: id, Capacity: []int64{int64(v.pods) * 5000, 1 << 40, 110}})
		for i := range v.pods {
			runs := ask("b", fmt.Sprintf("%s-%02d", id, i), 5000, 1<<20, 1)
			runs.Allocation.Node, runs.Allocation.Priority = id, v.ofPod(i)
			p.Apply(start, runs)
		}
	}
	for more := true; more; {
		_, more = p.Schedule(start)
	}
	return p
}

// addAsks adds the asks, and one of a low priority that has no victims.
func (v failedLoad) addAsks(p *core.Partition) {
	for i := range v.classes {
		a := ask("a", fmt.Sprintf("large-%03d", i), int64(v.pods*3500+i), 1<<20, 1)
		a.Allocation.Priority = v.ofAsk(i)
		p.Apply(start, a)
	}
}

// second ends one allocation and begins another one in a second, and schedules after each.
func (v failedLoad) second(p *core.Partition, i int) {
	now := start.Add(time.Duration(i+1) * time.Second)
	run := func(now time.Time) {
		for more := true; more; {
			_, more = p.Schedule(now)
		}
	}
	p.Apply(now, api.ReleaseAllocation{Application: "b", Key: api.AllocationKey(fmt.Sprintf("n%05d-%02d", i, v.pods-5))})
	run(now)
	a := ask("b", fmt.Sprintf("new-%d", i), 5000, 1<<20, 1)
	a.Allocation.Priority = v.ofPod(v.pods - 5)
	p.Apply(now.Add(time.Second/2), a)
	run(now.Add(time.Second / 2))
}

// However many asks of different classes fit nowhere, a batch works out what room costs
// for a bounded number of nodes, an ask that fits is placed in the first of them, and
// attempts that failed look again at what has changed only.
func TestFailedAttemptsLookAtWhatChanged(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	for _, priorities := range []bool{false, true} {
		t.Run(fmt.Sprintf("priorities=%t", priorities), func(t *testing.T) {
			failedLoad{nodes: 120, pods: 10, classes: 640, priorities: priorities}.lookAtWhatChanged(t)
		})
	}
}

func (v failedLoad) lookAtWhatChanged(t *testing.T) {
	const perBatch = 2048
	p := v.build()
	p.Apply(start, api.AddNode{ID: "z", Capacity: []int64{500, 1 << 30, 110}})
	v.addAsks(p)
	p.Apply(start, ask("b", "fits", 500, 1<<20, 1))
	looked := func() uint64 { return p.View().Work.NodeCosts }
	batches, was := 0, looked()
	for more := true; more; batches++ {
		var fx api.Effects
		fx, more = p.Schedule(start)
		now := looked()
		assert.Assert(t, now-was <= perBatch, "%d nodes in a batch", now-was)
		if was = now; batches == 0 {
			assert.Equal(t, placements(fx), 1)
		}
	}
	assert.Assert(t, was >= uint64(v.nodes*v.classes), "%d", was)
	assert.Assert(t, batches > 1)
	for i := range 30 {
		v.second(p, i)
	}
	perSecond := (looked() - was) / 30
	t.Logf("%d batches, then %d nodes in a second", batches, perSecond)
	assert.Assert(t, perSecond <= 16*64, "%d", perSecond)
	assert.NilError(t, p.Verify())
	assert.NilError(t, p.VerifyAttempts())
}

// BenchmarkFailedAttempts measures a second in which one allocation ends and another one
// begins while asks fit nowhere, and the longest batch of the first attempts.
func BenchmarkFailedAttempts(b *testing.B) {
	for _, v := range []failedLoad{
		{classes: 0},
		{classes: 64},
		{classes: 200},
		{classes: 640},
		{classes: 200, priorities: true},
		{classes: 640, priorities: true},
	} {
		name := fmt.Sprint(v.classes)
		if v.priorities {
			name += "-priorities"
		}
		b.Run(name, func(b *testing.B) {
			v.nodes, v.pods = 5000, 20
			p := v.build()
			v.addAsks(p)
			var longest time.Duration
			for more := true; more; {
				began := time.Now()
				_, more = p.Schedule(start)
				longest = max(longest, time.Since(began))
			}
			i := 0
			for b.Loop() {
				v.second(p, i%v.nodes)
				i++
			}
			b.ReportMetric(float64(longest)/1e6, "ms-longest-batch")
		})
	}
}
