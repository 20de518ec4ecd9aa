package core_test

import (
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/group"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// TestGroupsBeyondTriesMax has ten times as many groups come as are tried in one batch. Each batch tries no more, the
// others go on at once, and what comes after groups that fit nowhere is placed too.
func TestGroupsBeyondTriesMax(t *testing.T) {
	const groups, members = 10 * group.TriesMax, 2
	for name, fit := range map[string]bool{"they fit": true, "they fit nowhere": false} {
		t.Run(name, func(t *testing.T) {
			kinds := new(resources.Kinds)
			_, err := kinds.Intern(resources.VCore)
			assert.NilError(t, err)
			p := core.NewPartition(api.Options{Kinds: kinds}, api.Config{
				Name: "default", Root: api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{{Name: "q"}}},
			})
			amount, left := int64(10), int64(1)
			if fit {
				left = amount*groups*members + 1
			}
			p.Apply(start, api.AddNode{ID: "n", Capacity: resources.Amounts{left}})
			p.Apply(start, api.AddApplication{ID: "a", Queue: "root.q"})
			ask := func(key string, amount int64, created time.Duration, tags map[string]string) {
				p.Apply(start, api.AddAllocation{Allocation: &api.Allocation{
					Key: api.AllocationKey(key), Application: "a", Amounts: resources.Amounts{amount}, Created: start.Add(created), Tags: tags,
				}})
			}
			for g := range groups {
				for m := range members {
					ask(fmt.Sprint(g, "-", m), amount, 0, map[string]string{api.TagQuorum: fmt.Sprint(g), api.TagQuorumLeast: fmt.Sprint(members)})
				}
			}
			ask("single", 1, time.Second, nil)
			together, single, batches := 0, false, 0
			for more := true; more; batches++ {
				var fx api.Effects
				before := together
				fx, more = p.Schedule(start)
				for _, e := range fx {
					if placed, is := e.(api.Placed); is && placed.Allocation.Key == "single" {
						single = true
					} else if is {
						together++
					}
				}
				assert.NilError(t, p.Verify())
				assert.Assert(t, together-before <= group.TriesMax*members)
			}
			assert.Assert(t, single && batches >= groups/group.TriesMax, "%d batches", batches)
			if fit {
				assert.Equal(t, together, groups*members)
			} else {
				assert.Equal(t, together, 0)
			}
		})
	}
}

// TestAGroupThatKeepsAllItsRoomWaits: room is kept for each of its asks. It is not tried when a node is freed that is too
// small for them, and starts when its room comes free.
func TestAGroupThatKeepsAllItsRoomWaits(t *testing.T) {
	p := oneQueue(api.Options{Kinds: testKinds()})
	p.Apply(start, api.AddApplication{ID: "a", Queue: "root.q"})
	for node, capacity := range map[api.NodeID]int64{"large": 4, "small": 1} {
		runs := ask("a", "runs on "+string(node), capacity)
		runs.Allocation.Node = node
		p.Apply(start, api.AddNode{ID: node, Capacity: resources.Amounts{capacity}})
		p.Apply(start, runs)
	}
	for _, key := range []string{"m-1", "m-2"} {
		member := ask("a", key, 2)
		member.Allocation.Tags = map[string]string{api.TagQuorum: "g", api.TagQuorumLeast: "2"}
		p.Apply(start, member)
	}
	now := untilQuiet(t, p, start, 90*time.Second)
	now = now.Add(2 * time.Second)
	p.Schedule(now)
	kept, tried := 0, p.View().Work.Attempts
	for _, n := range p.View().Nodes {
		kept += len(n.Reservations)
	}
	assert.Equal(t, kept, 2)
	p.Apply(now, api.ReleaseAllocation{Application: "a", Key: "runs on small"})
	p.Schedule(now)
	assert.Equal(t, p.View().Work.Attempts, tried)
	p.Apply(now, api.ReleaseAllocation{Application: "a", Key: "runs on large"})
	fx, _ := p.Schedule(now.Add(2 * time.Second))
	assert.Equal(t, placements(fx), 2)
}
