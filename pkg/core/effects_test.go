package core_test

import (
	"fmt"
	"slices"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// TestCommandsShareMemoryOfEffects counts the garbage of two commands with an event each:
// the events, since many commands share the memory of their effects.
func TestCommandsShareMemoryOfEffects(t *testing.T) {
	p := cluster(1, 1, api.Options{})
	assert.Equal(t, testing.AllocsPerRun(1000, func() {
		p.Apply(start, api.DrainNode{ID: "n000000"})
		p.Apply(start, api.UndrainNode{ID: "n000000"})
	}), 2.0)
}

// TestEffectsAreKept keeps the effects of steps with few and with many events, and appends
// to them: none are changed by what comes later.
func TestEffectsAreKept(t *testing.T) {
	p := cluster(1, 1, api.Options{BatchMax: 100})
	p.Apply(start, api.UpdateNode{ID: "n000000", Capacity: resources.Amounts{1 << 40, 1 << 40, 1 << 40}})
	p.Apply(start, api.AddApplication{ID: "a", Queue: "root.q0000"})
	var kept, then []api.Effects
	keep := func(fx api.Effects) {
		kept, then = append(kept, fx), append(then, slices.Clone(fx))
	}
	for round := range 40 {
		for i := range 1 + round*7%90 {
			keep(p.Apply(start, ask("a", fmt.Sprint(round, "-", i), 1, 1, 1)))
		}
		fx, _ := p.Schedule(start)
		keep(fx)
		keep(p.Apply(start, api.DrainNode{ID: "n000000"}))
		if round%3 == 0 {
			keep(p.Apply(start, api.ReleaseAllocation{Application: "a"}))
		}
		keep(p.Apply(start, api.UndrainNode{ID: "n000000"}))
	}
	for _, fx := range kept {
		_ = append(fx, api.AskAdded{}) // by a reader that puts together what it reads
	}
	for i := range kept {
		assert.Assert(t, slices.Equal(kept[i], then[i]), "effects of step %d", i)
	}
}

// TestGarbageOfAnAsk counts that of an ask which comes, is placed and ends: the ask, the
// allocation, its end, its group, and two of its class in the queue. The entry of the node with
// new room is used again.
func TestGarbageOfAnAsk(t *testing.T) {
	p := cluster(1, 1, api.Options{})
	for _, app := range []api.ApplicationID{"a", "b"} {
		p.Apply(start, api.AddApplication{ID: app, Queue: "root.q0000"})
		p.Apply(start, ask(app, "first-"+string(app), 1, 1, 1))
	}
	p.Apply(start, ask("a", "too large", 100_000, 1, 1)) // and so applications stay as they are
	p.Apply(start, ask("b", "also", 100_000, 1, 1))
	run(p)
	pod := ask("a", "pod", 2, 2, 2)
	got := testing.AllocsPerRun(1000, func() {
		p.Apply(start, pod)
		p.Schedule(start)
		p.Apply(start, api.ReleaseAllocation{Application: "a", Key: "pod"})
	})
	assert.Equal(t, got, 6.0)
}

// TestAForeignPodMakesItsRequestOnly counts the garbage of a pod of another scheduler that
// comes and ends: what is known of it.
func TestAForeignPodMakesItsRequestOnly(t *testing.T) {
	p := cluster(1, 1, api.Options{})
	pod := &api.Allocation{Key: "pod", Node: "n000000", Amounts: resources.Amounts{1, 1, 1}, Origin: api.Foreign}
	var come api.Command = api.AddAllocation{Allocation: pod}
	var end api.Command = api.ReleaseAllocation{Key: "pod"}
	got := testing.AllocsPerRun(1000, func() {
		p.Apply(start, come)
		p.Schedule(start)
		p.Apply(start, end)
		p.Schedule(start)
	})
	assert.Equal(t, got, 1.0)
}
