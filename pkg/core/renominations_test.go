package core_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/seeds"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// tag has an allocation say now and then that it is terminating, or where it was
// nominated.
func (h *history) tag(a *api.Allocation) {
	if h.tags == nil {
		return
	}
	a.Tags = map[string]string{}
	switch h.tags.IntN(4) {
	case 0:
		a.Tags[api.TagTerminating] = "true"
	case 1:
		a.Tags[api.TagTerminating] = fmt.Sprint(h.now.Unix() - int64(h.tags.IntN(5)))
	}
	if h.tags.IntN(2) == 0 {
		a.Tags[api.TagNominatedNode] = fmt.Sprint("n", h.tags.IntN(5))
	}
}

// TestRandomHistoriesOfRestarts keeps the laws whatever the tags say, and whatever comes
// first: the node, what is leaving there, or the ask.
func TestRandomHistoriesOfRestarts(t *testing.T) {
	nominated, evictions := map[preemptor.Reason]int{}, map[bool]int{}
	for seed := range seeds.Of(t, 500) {
		h := newHistory(rand.New(rand.NewPCG(seed, 12)))
		h.tags = rand.New(rand.NewPCG(seed, 13))
		for i := range 160 {
			done := h.lawful(t, seed, i)
			fx, _ := done.(api.Effects)
			for _, e := range fx {
				if n, is := e.(*api.Claimed); is && n.Plan != nil {
					nominated[n.Plan.Reason]++
				}
			}
		}
		for _, n := range h.p.View().Nodes {
			for _, e := range n.Evictions {
				evictions[e.Reported]++
			}
		}
		view := h.p.View()
		restored := core.Restore(api.Options{Kinds: testKinds()}, h.now, view)
		assert.NilError(t, restored.Verify(), "seed %d", seed)
		assert.DeepEqual(t, sortedNodes(restored.View().Nodes), sortedNodes(view.Nodes), ofViews)
		h.settle(t)
	}
	t.Log(nominated, evictions)
	assert.Assert(t, nominated[preemptor.RoomIsThere] > seeds.Part(t, 100) && nominated[preemptor.WaitsForReleasing] > seeds.Part(t, 20) && nominated[preemptor.Chosen] > seeds.Part(t, 100))
	assert.Assert(t, evictions[true] > seeds.Part(t, 100) && evictions[false] > seeds.Part(t, 10))
}

// TestTerminatingIsNoVictim releases an allocation that was terminating: it ends as one
// that was not evicted here, and its view says so while it runs.
func TestTerminatingIsNoVictim(t *testing.T) {
	p := core.NewPartition(api.Options{Kinds: testKinds()}, api.Config{Name: "default", Root: api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{{Name: "q"}}}})
	p.Apply(start, api.AddNode{ID: "n1", Capacity: resources.Amounts{4}})
	p.Apply(start, api.AddApplication{ID: "app", Queue: "root.q"})
	p.Apply(start, api.AddAllocation{Allocation: &api.Allocation{
		Key: "a", Application: "app", Node: "n1", Amounts: resources.Amounts{4}, Created: start, Tags: map[string]string{api.TagTerminating: "true"},
	}})
	evictions := p.View().Nodes[0].Evictions
	assert.DeepEqual(t, evictions, []api.Eviction{{Key: "a", Since: start, Reported: true}})
	assert.Equal(t, evictions[0].By(), "the resource manager")
	ended := 0
	for _, e := range p.Apply(start, api.ReleaseAllocation{Application: "app", Key: "a"}) {
		if e, is := e.(*api.Ended); is {
			assert.Assert(t, !e.Evicted)
			ended++
		}
	}
	assert.Equal(t, ended, 1)
	assert.Equal(t, p.View().Preempted, api.Preempted{})
}
