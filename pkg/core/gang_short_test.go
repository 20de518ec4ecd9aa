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

// TestLargeGangOnOneNode: a gang of ten times the members of which places of a class are counted starts at
// once when one node has room for all of them.
func TestLargeGangOnOneNode(t *testing.T) {
	const size = 10 * 1024
	p := core.NewPartition(api.Options{Kinds: testKinds(), ReserveDelay: -1}, api.Config{Name: "default", Root: api.QueueConfig{
		Name: "root", Parent: true, Queues: []api.QueueConfig{{Name: "q", Properties: api.QueueProperties{GangWhole: true}}},
	}})
	p.Apply(start, api.AddApplication{ID: "a", Queue: "root.q"})
	p.Apply(start, api.AddNode{ID: "n", Capacity: resources.Amounts{size}})
	runs := ask("a", "runs", size)
	runs.Allocation.Node = "n"
	p.Apply(start, runs)
	p.Apply(start, api.AddApplication{ID: "gang", Queue: "root.q", Placeholders: resources.Amounts{size}})
	for i := range size {
		member := ask("gang", fmt.Sprintf("member-%05d", i), 1)
		member.Allocation.Placeholder, member.Allocation.TaskGroup = true, "workers"
		p.Apply(start, member)
	}
	schedule := func(now time.Time) (count int) {
		for more := true; more; {
			var fx api.Effects
			fx, more = p.Schedule(now)
			count += placements(fx)
		}
		return count
	}
	assert.Equal(t, schedule(start), 0)
	now := start.Add(2 * time.Second)
	p.Apply(now, api.ReleaseAllocation{Application: "a", Key: "runs"})
	assert.Equal(t, schedule(now), size)
	assert.NilError(t, p.Verify())
}

// TestGroupsThatAreShort: groups are planned for when what came free may be enough for them, and at once
// then, however many there are. Once a minute all are, whatever has changed. So it is with gangs that start
// whole, and with asks that name their group.
func TestGroupsThatAreShort(t *testing.T) {
	t.Run("gangs", func(t *testing.T) { groupsThatAreShort(t, true) })
	t.Run("named", func(t *testing.T) { groupsThatAreShort(t, false) })
}

func groupsThatAreShort(t *testing.T, gangs bool) {
	const groups, size, nodes, each = 16, 200, 30, 20
	p := besideGroups(gangs, nodes, size)
	now, before := untilQuiet(t, p, start, 30*time.Second), p.View().Work
	tries := func() uint64 { return p.View().Work.Attempts - before.Attempts }
	free := func(i int) {
		p.Apply(now, api.ReleaseAllocation{Application: "a", Key: api.AllocationKey(fmt.Sprintf("runs-%03d", i))})
		now = untilQuiet(t, p, now, 2*time.Second)
	}
	for i := range size/each - 1 {
		free(i)
	}
	assert.Equal(t, tries(), uint64(0), "nine nodes have 180 places, and a group needs 200")
	now = untilQuiet(t, p, now, time.Minute)
	assert.Equal(t, tries(), uint64(groups), "after a minute")

	free(9)
	assert.Equal(t, p.View().Work.Placements-before.Placements, uint64(size), "the first group starts")
}

// TestManyGroups has ten times as many groups wait as are tried in one batch, none of which fits, before
// one that does: a batch tries no more, and the last one starts in the same moment.
func TestManyGroups(t *testing.T) {
	const triedAtOnce, before = 16, 160
	for _, gangs := range []bool{true, false} {
		p := core.NewPartition(api.Options{Kinds: testKinds(), ReserveDelay: -1}, api.Config{Name: "default", Root: api.QueueConfig{
			Name: "root", Parent: true, Queues: []api.QueueConfig{{Name: "q", Properties: api.QueueProperties{GangWhole: gangs}}},
		}})
		p.Apply(start, api.AddNode{ID: "n", Capacity: resources.Amounts{3}})
		for i := range before {
			addGroup(p, api.ApplicationID(fmt.Sprintf("group-%03d", i)), 4, gangs)
		}
		addGroup(p, "last", 3, gangs)
		batches := 0
		for more := true; more; batches++ {
			tried := p.View().Work.Attempts
			_, more = p.Schedule(start)
			assert.Assert(t, p.View().Work.Attempts-tried <= triedAtOnce+1, "gangs=%t, batch %d", gangs, batches)
			assert.NilError(t, p.Verify())
		}
		assert.Equal(t, p.View().Work.Placements, uint64(3), "gangs=%t", gangs)
		assert.Assert(t, batches <= before/triedAtOnce+2, "gangs=%t: %d batches", gangs, batches)
	}
}
