package core_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// TestAGroupIsAskedAboutOnceOthersAreKnown: the resource manager is asked whether members may run on a node when it has
// been told of what was placed there before, which they may need or not stand.
func TestAGroupIsAskedAboutOnceOthersAreKnown(t *testing.T) {
	var told []api.AllocationKey
	var asked int
	p := core.NewPartition(api.Options{Kinds: testKinds(), Feasible: func(key api.AllocationKey, _ api.NodeID, _ bool) error {
		if key != "single" {
			asked++
			assert.Check(t, slices.Contains(told, "single"), "asked about %s too early", key)
		}
		return nil
	}}, leaves("a"))
	p.Apply(start, api.AddNode{ID: "n", Capacity: resources.Amounts{4}})
	p.Apply(start, api.AddApplication{ID: "app", Queue: "root.a"})
	p.Apply(start, ask("app", "single", 1))
	for _, key := range []string{"one", "two"} {
		member := ask("app", key, 1)
		member.Allocation.Tags = map[string]string{api.TagQuorum: "g", api.TagQuorumLeast: "2"}
		p.Apply(start, member)
	}
	for more := true; more; {
		var fx api.Effects
		fx, more = p.Schedule(start)
		for _, e := range fx {
			if placed, is := e.(api.Placed); is {
				told = append(told, placed.Key)
			}
		}
	}
	assert.DeepEqual(t, told, []api.AllocationKey{"single", "one", "two"})
	assert.Equal(t, asked, 2)
	assert.NilError(t, p.Verify())
}

// TestBoundAsksWaitForThePace: where questions are to wait, so do asks that may run on one node only.
func TestBoundAsksWaitForThePace(t *testing.T) {
	asked, now := 0, start
	var last time.Time // of a question
	p := core.NewPartition(api.Options{
		Kinds:    testKinds(),
		Feasible: func(api.AllocationKey, api.NodeID, bool) error { asked++; last = now; return nil },
		Pace:     func(api.Question) time.Duration { return last.Add(time.Second).Sub(now) },
	}, leaves("a"))
	p.Apply(now, api.AddApplication{ID: "app", Queue: "root.a"})
	for i := range 3 {
		n := api.NodeID(fmt.Sprint("n", i))
		p.Apply(now, api.AddNode{ID: n, Capacity: resources.Amounts{1}})
		ask := ask("app", fmt.Sprint("agent-", i), 1)
		ask.Allocation.Required = n
		p.Apply(now, ask)
	}
	for second := range 3 {
		schedule(p, now)
		assert.Equal(t, asked, second+1)
		now = now.Add(time.Second)
	}
}

// TestWalkingCountsLooks: an application costs a look beside its asks, and what is left of the looks serves the next one.
func TestWalkingCountsLooks(t *testing.T) {
	p := core.NewPartition(api.Options{Kinds: testKinds()}, leaves("a"))
	for _, app := range []string{"a", "b", "c"} {
		p.Apply(start, api.AddApplication{ID: api.ApplicationID(app), Queue: "root.a"})
		p.Apply(start, ask(api.ApplicationID(app), app+"-1", 1))
	}
	walk := func(from core.Bookmark, looks int) (seen []api.AllocationKey, next core.Bookmark) {
		next = p.WalkAsks(from, looks, func(_ api.QueuePath, a api.AskView) { seen = append(seen, a.Key) })
		return seen, next
	}
	for looks, want := range map[int][]api.AllocationKey{1: {"a-1"}, 2: {"a-1"}, 3: {"a-1", "b-1"}, 7: {"a-1", "b-1", "c-1"}} {
		seen, next := walk(core.Bookmark{}, looks)
		assert.DeepEqual(t, seen, want)
		assert.Equal(t, next == core.Bookmark{}, looks == 7)
	}
}

// TestTheFirstQuestionOfAnAttempt waits for no other: it counts as the first, and those after it as further ones.
func TestTheFirstQuestionOfAnAttempt(t *testing.T) {
	var kinds []api.Question
	p := core.NewPartition(api.Options{
		Kinds:    testKinds(),
		Feasible: func(api.AllocationKey, api.NodeID, bool) error { return nil },
		Simulate: func(api.AllocationKey, api.NodeID, []api.AllocationKey, []api.AllocationKey) error { return nil },
		Pace:     func(q api.Question) time.Duration { kinds = append(kinds, q); return 0 },
	}, leaves("a"))
	p.Apply(start, api.AddNode{ID: "n", Capacity: resources.Amounts{2}})
	p.Apply(start, api.AddApplication{ID: "app", Queue: "root.a"})
	for _, key := range []string{"low-1", "low-2"} {
		low := ask("app", key, 1)
		low.Allocation.Node = "n"
		p.Apply(start, low)
	}
	high := ask("app", "high", 2)
	high.Allocation.Priority = 1
	p.Apply(start, high)
	schedule(p, start.Add(time.Minute))
	assert.Equal(t, len(p.View().Nodes[0].Evictions), 2)
	assert.Equal(t, slices.Index(kinds, api.FirstQuestion), 0, "%v", kinds)
	assert.Assert(t, slices.Contains(kinds, api.FurtherQuestion), "%v", kinds)
}
