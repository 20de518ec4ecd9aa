package core_test

import (
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// member is an ask of a group of four, with its index.
func member(index string, priority int32) *api.Allocation {
	return &api.Allocation{
		Key: api.AllocationKey("m" + index), Application: "a", Amounts: resources.Amounts{1, 1}, Priority: priority, Created: start,
		Tags: map[string]string{api.TagQuorum: "train", api.TagQuorumLeast: "4", api.TagQuorumIndex: index},
	}
}

// A partition that is restored knows what a group has done and since when it lacks members, also where what said so is gone: here
// the member that named its priority.
func TestRestoredGroupsAreBelowTheirMinimumSinceThen(t *testing.T) {
	p := core.NewPartition(api.Options{Kinds: testKinds()}, leaves("a"))
	apply := func(now time.Time, commands ...api.Command) (changed []string) {
		for _, c := range commands {
			p.Apply(now, c)
		}
		effects, _ := p.Schedule(now)
		for _, event := range effects {
			if e, is := event.(*api.GroupChanged); is {
				changed = append(changed, e.Text())
			}
		}
		assert.NilError(t, p.Verify())
		return changed
	}
	first := member("0", 2)
	first.Tags[api.TagQuorumPriority] = "9"
	commands := []api.Command{
		api.AddNode{ID: "n", Capacity: resources.Amounts{4, 4}}, api.AddApplication{ID: "a", Queue: "root.a"}, api.AddAllocation{Allocation: first},
	}
	for i := 1; i < 4; i++ {
		commands = append(commands, api.AddAllocation{Allocation: member(fmt.Sprint(i), int32(i))})
	}
	assert.DeepEqual(t, apply(start, commands...), []string{"group train runs: 4 of 4 members run"})
	lost := start.Add(time.Minute)
	assert.DeepEqual(t, apply(lost,
		api.ReleaseAllocation{Application: "a", Key: "m0", Message: api.Succeeded}, api.ReleaseAllocation{Application: "a", Key: "m1"},
	), []string{"group train is below its minimum: 2 of 4 members run, 1 are done"})

	view := p.View()
	p = core.Restore(api.Options{Kinds: testKinds()}, lost.Add(time.Hour), view)
	assert.NilError(t, p.Verify())
	assert.DeepEqual(t, p.View().Groups, view.Groups)
	group := view.Groups["quorum train"]
	assert.Assert(t, group.BelowSince.Equal(lost))
	assert.DeepEqual(t, group.DoneMembers, []api.DoneMember{{Key: "m0", Application: "a", Index: "0"}})
	for _, a := range p.View().Applications[0].Allocations {
		assert.Equal(t, a.Priority, int32(9))
		assert.Equal(t, "m"+fmt.Sprint(*a.OwnPriority), string(a.Key))
	}

	// What replaces the lost one starts. Then the index that is done comes again: the done one counts no more, and the new one starts.
	assert.DeepEqual(t, apply(lost.Add(time.Hour), api.AddAllocation{Allocation: member("1", 0)}), []string{"group train runs: 3 of 4 members run, 1 are done"})
	again := member("0", 0)
	again.Key = "again"
	assert.DeepEqual(t, apply(lost.Add(2*time.Hour), api.AddAllocation{Allocation: again}), []string{
		"group train is below its minimum: 3 of 4 members run", "group train runs: 4 of 4 members run",
	})
	group = p.View().Groups["quorum train"]
	assert.DeepEqual(t, []int{group.Running, group.Done}, []int{4, 0})
}
