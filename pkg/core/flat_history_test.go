package core_test

import (
	"fmt"
	"math"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// newFlatHistory has queues with nothing but a max, and few small nodes.
func newFlatHistory(c chance) *history {
	h := &history{chance: c, now: start}
	limits := func() resources.Limits {
		if h.IntN(3) > 0 {
			return nil
		}
		return resources.Limits{int64(6 + h.IntN(12)), resources.Unlimited}
	}
	properties := func() api.QueueProperties {
		return api.QueueProperties{ApplicationSort: api.SortPolicy(h.IntN(2)), IgnorePriority: h.IntN(4) == 0}
	}
	root := api.QueueConfig{Name: "root", Parent: true, Properties: properties(), Queues: []api.QueueConfig{
		{Name: "a", Max: limits(), Properties: properties()},
		{Name: "p", Parent: true, Max: limits(), Properties: properties(), Queues: []api.QueueConfig{
			{Name: "b", Max: limits(), Properties: properties()}, {Name: "c", Properties: properties()},
		}},
	}}
	h.current = api.Config{Name: "default", Root: root, Nodes: api.NodeOrder{Packing: h.IntN(2) == 0, Weights: map[string]int64{"vcore": 3, "memory": 1}}}
	h.current.Preemption = api.PreemptionConfig{
		Priority: api.PriorityPreemption(max(h.IntN(8)-5, 0)), ByQoS: h.IntN(2) == 0, Disabled: h.IntN(16) == 0,
		VictimTimeout: time.Duration(1+h.IntN(60)) * time.Millisecond, LoopMax: math.MaxInt32,
	}
	h.p = core.NewPartition(api.Options{Kinds: testKinds(), ReserveDelay: -1, BatchMax: 1, RetryDelay: 1, CompletingDelay: time.Hour}, h.current)
	for i := range 3 {
		h.p.Apply(h.now, api.AddNode{ID: api.NodeID(fmt.Sprint("n", i)), Capacity: resources.Amounts{int64(5 + h.IntN(6)), 8, 3}})
	}
	for i, queue := range []api.QueuePath{"root.a", "root.p.b", "root.p.c", "root.a"} {
		h.p.Apply(h.now, api.AddApplication{ID: api.ApplicationID(fmt.Sprint("app", i)), Queue: queue})
	}
	return h
}

// flatStep applies a random command; most are asks, and victims that have gone.
func (h *history) flatStep(i int) {
	h.now = h.now.Add(time.Millisecond)
	switch h.IntN(8) {
	case 0:
		switch c := h.command().(type) {
		case api.Reconfigure:
		case api.AddAllocation, api.ReleaseAllocation, api.RemoveApplication:
		default:
			h.p.Apply(h.now, c)
		}
	case 1, 2:
		h.confirm(h.IntN(3) == 0)
	case 3:
		h.p.Apply(h.now, api.ReleaseAllocation{Application: h.app(), Key: h.flatKey(), Termination: si.TerminationType_STOPPED_BY_RM})
	default:
		a := h.allocation()
		a.Key, a.Required, a.Priority = h.flatKey(), "", int32(h.IntN(5))
		a.Originator = h.IntN(6) == 0
		a.Tags = map[string]string{api.TagQoS: []string{"BestEffort", "Burstable", "Guaranteed"}[h.IntN(3)]}
		a.Created = h.now.Add(-time.Duration(h.IntN(5)) * time.Second).Add(time.Duration(i))
		h.p.Apply(h.now, api.AddAllocation{Allocation: a})
	}
}

func (h *history) flatKey() api.AllocationKey {
	return api.AllocationKey(fmt.Sprint("k", h.IntN(40)))
}

// confirm says of one eviction, or of all, that it has ended.
func (h *history) confirm(all bool) {
	for _, n := range h.p.View().Nodes {
		for _, a := range n.Allocations {
			if evictionOn(n, a.Key) == nil {
				continue
			}
			h.apply(api.ReleaseAllocation{Application: a.Application, Key: a.Key, Termination: si.TerminationType_PREEMPTED_BY_SCHEDULER})
			if !all {
				return
			}
		}
	}
}
