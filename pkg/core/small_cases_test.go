package core_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// A controlled cluster has a controller for each application, which asks again for what was
// evicted.
type controlled struct {
	p       *core.Partition
	now     time.Time
	count   int
	evicted []*api.EvictionRequested
	placed  map[api.AllocationKey]bool
}

func newControlled(preemption api.PreemptionConfig) *controlled {
	root := api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{{Name: "default"}}}
	p := core.NewPartition(api.Options{Kinds: testKinds()}, api.Config{Name: "default", Root: root, Preemption: preemption})
	return &controlled{p: p, now: start, placed: map[api.AllocationKey]bool{}}
}

func (c *controlled) hear(fx api.Effects) {
	for _, e := range fx {
		switch e := e.(type) {
		case *api.EvictionRequested:
			c.evicted = append(c.evicted, e)
		case api.Placed:
			c.placed[e.Key] = true
		}
	}
}

func (c *controlled) apply(command api.Command) { c.hear(c.p.Apply(c.now, command)) }

// asks has an application ask for one more allocation.
func (c *controlled) asks(app api.ApplicationID, priority int32, amount int64) api.AllocationKey {
	c.count++
	a := ask(app, fmt.Sprintf("%s-%d", app, c.count), amount).Allocation
	a.Priority, a.Created = priority, c.now
	c.apply(api.AddAllocation{Allocation: a})
	return a.Key
}

// passes lets time pass, second by second. What is evicted ends, and is asked for again.
func (c *controlled) passes(seconds int) {
	for range seconds {
		c.now = c.now.Add(time.Second)
		for more := true; more; {
			var fx api.Effects
			fx, more = c.p.Schedule(c.now)
			c.hear(fx)
			for ; len(c.evicted) > 0; c.evicted = c.evicted[1:] {
				v := c.evicted[0]
				c.apply(api.ReleaseAllocation{Application: v.Application, Key: v.Key, Termination: si.TerminationType_PREEMPTED_BY_SCHEDULER})
				c.asks(v.Application, v.Priority, v.Amounts[0])
				more = true
			}
		}
	}
}

// Twelve short tasks of one application come one after the other, each to a full node, and a
// controller replaces what ends for them. None of them waits for the loop guard.
func TestTwelveShortTasks(t *testing.T) {
	c := newControlled(api.PreemptionConfig{})
	c.apply(api.AddNode{ID: "n", Capacity: ask("", "", 2).Allocation.Amounts})
	c.apply(api.AddApplication{ID: "work", Queue: "root.default"})
	c.apply(api.AddApplication{ID: "urgent", Queue: "root.default"})
	c.asks("work", 0, 2)
	c.passes(1)
	for i := range 12 {
		task := c.asks("urgent", 10, 2)
		c.passes(1)
		assert.Assert(t, c.placed[task], "task %d waits", i)
		c.passes(20)
		c.apply(api.ReleaseAllocation{Application: "urgent", Key: task, Termination: si.TerminationType_STOPPED_BY_RM})
		c.passes(10)
	}
	assert.Equal(t, c.p.View().Preempted.Loops, uint64(0))
	assert.Equal(t, c.p.View().Preempted.Victims.Total(), uint64(12))
	assert.NilError(t, c.p.Verify())
}

// Ten nodes are full of ten applications, and ten equal ones ask for as much. With
// preemption_priority: equal each place is taken once, and then nothing ends any more, though
// all that ended is asked for again.
func TestHundredEqualsComeToRest(t *testing.T) {
	c := newControlled(api.PreemptionConfig{Priority: api.EqualToo})
	for i := range 10 {
		c.apply(api.AddNode{ID: api.NodeID(fmt.Sprint("n", i)), Capacity: ask("", "", 10).Allocation.Amounts})
	}
	for _, kind := range []string{"old", "new"} {
		for i := range 10 {
			app := api.ApplicationID(fmt.Sprint(kind, i))
			c.apply(api.AddApplication{ID: app, Queue: "root.default"})
			for range 10 {
				c.asks(app, 0, 1)
			}
		}
		c.passes(30)
	}
	told := c.p.View().Preempted.Victims.Total()
	assert.Assert(t, told > 0 && told <= 100, "%d are told to end in 100 places", told)
	c.passes(3600)
	assert.Equal(t, c.p.View().Preempted.Victims.Total(), told, "after an hour")
	assert.NilError(t, c.p.Verify())
}
