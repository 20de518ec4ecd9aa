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

// hardGang is a partition with one application of the hard style, which says that its placeholders have 4. Of two of
// 2 one runs on the only node, and an ask is to take its place.
func hardGang(t *testing.T) *core.Partition {
	t.Helper()
	p := core.NewPartition(api.Options{Kinds: testKinds()}, api.Config{
		Name: "default", Root: api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{{Name: "q"}}},
	})
	p.Apply(start, api.AddNode{ID: "n1", Capacity: resources.Amounts{2}})
	p.Apply(start, api.AddApplication{
		ID: "app", Queue: "root.q", Placeholders: resources.Amounts{4}, Style: api.Hard, GangTimeout: time.Minute,
	})
	member := func(key api.AllocationKey, placeholder bool, after time.Duration) {
		p.Apply(start, api.AddAllocation{Allocation: &api.Allocation{
			Key: key, Application: "app", TaskGroup: "workers", Placeholder: placeholder, Amounts: resources.Amounts{2}, Created: start.Add(after),
		}})
	}
	member("ph-1", true, 0)
	member("ph-2", true, 1)
	p.Schedule(start)
	member("real", false, 2)
	p.Schedule(start)
	assert.DeepEqual(t, gangOf(p).Replacements, []api.Replacement{{Placeholder: "ph-1", Ask: "real"}})
	return p
}

func gangOf(p *core.Partition) *api.GangView { return p.View().Applications[0].Gang }

// A placeholder that waits when the time is over counts as timed out, and an ask of its task group does not.
func TestWhatTimesOutIsCounted(t *testing.T) {
	p := hardGang(t)
	p.Schedule(start.Add(time.Minute))
	assert.Equal(t, p.View().Applications[0].State, api.Failing)
	group := gangOf(p).Groups[0]
	assert.DeepEqual(t, []int64{group.Made, group.Replaced, group.TimedOut}, []int64{2, 0, 1})
	assert.NilError(t, p.Verify())
}

// A placeholder counts as timed out that is lost with its node while an ask is to take its place, and the ask waits
// for the next one.
func TestPlaceholderThatIsLostIsCounted(t *testing.T) {
	p := hardGang(t)
	p.Apply(start, api.RemoveNode{ID: "n1"})
	group := gangOf(p).Groups[0]
	assert.DeepEqual(t, []int64{group.Made, group.Replaced, group.TimedOut}, []int64{2, 0, 1})
	assert.Equal(t, len(gangOf(p).Replacements), 0)

	p.Apply(start, api.AddNode{ID: "n2", Capacity: resources.Amounts{2}})
	p.Schedule(start)
	p.Schedule(start)
	assert.DeepEqual(t, gangOf(p).Replacements, []api.Replacement{{Placeholder: "ph-2", Ask: "real"}})
	p.Apply(start, api.ReleaseAllocation{Application: "app", Key: "ph-2", Termination: si.TerminationType_PLACEHOLDER_REPLACED})
	group = gangOf(p).Groups[0]
	assert.DeepEqual(t, []int64{group.Made, group.Replaced, group.TimedOut}, []int64{2, 1, 1})
	assert.NilError(t, p.Verify())
}

// The amounts of a task group are those of its first placeholder, whatever others have.
func TestAmountsOfATaskGroup(t *testing.T) {
	p := core.NewPartition(api.Options{Kinds: testKinds()}, api.Config{
		Name: "default", Root: api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{{Name: "q"}}},
	})
	p.Apply(start, api.AddApplication{ID: "app", Queue: "root.q", Placeholders: resources.Amounts{5}})
	for _, cores := range []int64{2, 3} {
		p.Apply(start, api.AddAllocation{Allocation: &api.Allocation{
			Key: api.AllocationKey(fmt.Sprint("ph-", cores)), Application: "app", TaskGroup: "workers", Placeholder: true, Amounts: resources.Amounts{cores}, Created: start,
		}})
		assert.DeepEqual(t, gangOf(p).Groups[0].Least, resources.Amounts{2})
	}
}
