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

// A plan that was told stays as it was told, whatever happens on its node then: also that of one of several asks which were planned together.
func TestPlansThatWereToldStay(t *testing.T) {
	kinds := new(resources.Kinds)
	p := core.NewPartition(api.Options{Kinds: kinds}, api.Config{Root: api.QueueConfig{Name: "root", Queues: []api.QueueConfig{{Name: "default"}}}})
	now := time.Unix(0, 0)
	one, _ := kinds.Amounts(map[string]int64{"vcore": 1000})
	four, _ := kinds.Amounts(map[string]int64{"vcore": 4000})
	p.Apply(now, api.AddNode{ID: "node-1", Capacity: four})
	p.Apply(now, api.AddApplication{ID: "app-1", Queue: "root.default"})
	for i := range 4 {
		p.Apply(now, api.AddAllocation{Allocation: &api.Allocation{Key: api.AllocationKey(fmt.Sprint("pod-", i)), Application: "app-1", Node: "node-1", Amounts: one, Placed: now}})
	}
	for i := range 2 {
		p.Apply(now, api.AddAllocation{Allocation: &api.Allocation{Key: api.AllocationKey(fmt.Sprint("agent-", i)), Application: "app-1", Required: "node-1", Amounts: one, Priority: 9, Created: now}})
	}
	var fx api.Effects
	for range 3 {
		more, _ := p.Schedule(now)
		fx = append(fx, more...)
		now = now.Add(time.Minute)
	}
	var told []*api.PreemptionPlanned
	var free []resources.Amounts
	for _, event := range fx {
		if e, is := event.(*api.PreemptionPlanned); is {
			told, free = append(told, e), append(free, e.Plan.Free.Clone())
		}
	}
	assert.Equal(t, len(told), 2)
	for _, event := range fx {
		if e, is := event.(*api.EvictionRequested); is {
			p.Apply(now, api.ReleaseAllocation{Application: "app-1", Key: e.Key, Termination: si.TerminationType_PREEMPTED_BY_SCHEDULER})
		}
	}
	for i, e := range told {
		assert.Assert(t, e.Plan.Free.Equal(free[i]), "%s: %v became %v", e.Key, free[i], e.Plan.Free)
	}
}
