package core_test

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/placement"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// TestUpdateApplication: an application that is known changes the quota of the queue that was made for it, and its tags; one
// that is not known changes nothing.
func TestUpdateApplication(t *testing.T) {
	p := core.NewPartition(api.Options{Kinds: testKinds()}, api.Config{
		Name: "default", Root: api.QueueConfig{Name: "root", Parent: true}, Rules: []placement.Rule{{Kind: placement.Tag, Value: "namespace", Create: true}},
	})
	quota := func(most int64) *api.QueueQuota { return &api.QueueQuota{Max: resources.Limits{most}} }
	p.Apply(start, api.AddNode{ID: "n", Capacity: resources.Amounts{100}})
	p.Apply(start, api.AddApplication{ID: "a", Tags: map[string]string{"namespace": "x"}, Quota: quota(1)})
	for _, key := range []string{"a-1", "a-2", "a-3"} {
		p.Apply(start, ask("a", key, 1))
	}
	placed := func(c api.Command) (count int) {
		t.Helper()
		assert.Equal(t, len(p.Apply(start, c)), 0)
		for more := true; more; {
			var fx api.Effects
			fx, more = p.Schedule(start)
			for _, e := range fx {
				if _, is := e.(api.Placed); is {
					count++
				}
			}
		}
		assert.NilError(t, p.Verify())
		return count
	}
	assert.Equal(t, placed(api.UpdateApplication{ID: "unknown", Quota: quota(9)}), 1)
	tags := map[string]string{"namespace": "x", "note": "new"}
	assert.Equal(t, placed(api.UpdateApplication{ID: "a", Tags: tags}), 0)
	assert.DeepEqual(t, p.View().Applications[0].Tags, tags)
	assert.Equal(t, placed(api.UpdateApplication{ID: "a", Tags: tags, Quota: quota(2)}), 1)
	assert.Equal(t, placed(api.UpdateApplication{ID: "a", Tags: tags, Quota: new(api.QueueQuota)}), 1)
}
