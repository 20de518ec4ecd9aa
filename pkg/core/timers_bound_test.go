package core_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// overQuota is a cluster with one queue of a max of ten cores, which gives back what it
// uses beyond that after an hour.
func overQuota() *core.Partition {
	p := cluster(4, 0, api.Options{})
	p.Apply(start, api.Reconfigure{Config: api.Config{
		Name: "default", Preemption: api.PreemptionConfig{Quota: true},
		Root: api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{{
			Name: "q0000", Max: resources.Limits{10_000},
			Properties: api.QueueProperties{QuotaDelay: time.Hour},
		}}},
	}})
	p.Apply(start, api.AddApplication{ID: "a", Queue: "root.q0000"})
	return p
}

// place reports that an allocation runs, or that it holds other amounts.
func place(key string, node api.NodeID, amounts ...int64) api.AddAllocation {
	a := ask("a", key, amounts...)
	a.Allocation.Node = node
	return a
}

// One pod is resized 20,000 times while its queue is beyond its max, sometimes within.
// Never do more than a few timers wait.
func TestManyResizesLeaveFewTimers(t *testing.T) {
	p := overQuota()
	now, most := start, 0
	for i := range int64(20_000) {
		vcore := 11_000 + i%1000
		if i%1000 == 999 {
			vcore = 9000
		}
		p.Apply(now, place("pod", "n000001", vcore, 1<<30, 1))
		if i%7 == 0 {
			p.Schedule(now)
		}
		most = max(most, p.TimersSet())
		now = now.Add(time.Millisecond)
	}
	assert.Assert(t, most <= 3, "%d timers", most)
	p.Apply(now, place("pod", "n000001", 9000, 1<<30, 1))
	p.Schedule(now)
	assert.Equal(t, p.TimersSet(), 0)
	assert.NilError(t, p.Verify())
}

// The timers of victims go with them: whether their end is confirmed, or comes with their
// node, their application or a failure to bind, or they are overdue.
func TestDepartedVictimsLeaveNoTimers(t *testing.T) {
	for name, depart := range map[string]func(p *core.Partition, now time.Time, i int){
		"confirmed": func(p *core.Partition, now time.Time, i int) {
			p.Apply(now, api.ReleaseAllocation{
				Application: "a", Key: api.AllocationKey(fmt.Sprint("pod-", i)), Termination: si.TerminationType_PREEMPTED_BY_SCHEDULER,
			})
		},
		"not bound": func(p *core.Partition, now time.Time, i int) {
			key := api.AllocationKey(fmt.Sprint("pod-", i))
			p.Apply(now, api.ReleaseAllocation{Application: "a", Key: key, Termination: api.SchedulingFailed})
			p.Apply(now, api.ReleaseAllocation{Application: "a", Key: key})
		},
		"with the node": func(p *core.Partition, now time.Time, i int) {
			if i == 0 {
				p.Apply(now, api.RemoveNode{ID: "n000001"})
			}
		},
		"with the application": func(p *core.Partition, now time.Time, i int) {
			if i == 0 {
				p.Apply(now, api.RemoveApplication{ID: "a"})
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			const pods = 100
			p := overQuota()
			for i := range pods {
				p.Apply(start, place(fmt.Sprint("pod-", i), "n000001", 200, 1<<20, 1))
			}
			p.Schedule(start)
			now := start.Add(time.Hour)
			fx, _ := p.Schedule(now)
			evicted := 0
			for _, e := range fx {
				if _, ok := e.(*api.EvictionRequested); ok {
					evicted++
				}
			}
			assert.Equal(t, evicted, 50)
			assert.Assert(t, p.TimersSet() >= evicted, "%d", p.TimersSet())
			for i := range pods {
				depart(p, now, i)
			}
			now = now.Add(time.Second)
			p.Schedule(now)
			assert.Assert(t, p.TimersSet() <= 1, "%d timers", p.TimersSet()) // the application may complete
			p.Schedule(now.Add(time.Hour))
			assert.Equal(t, p.TimersSet(), 0)
			assert.NilError(t, p.Verify())
		})
	}
}
