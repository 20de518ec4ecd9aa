package live

import (
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/simulator"
)

// TestLiveTagsOfRestarts: a message about a pod says that it is ending, or where it is
// nominated, and that about one which just waits or runs says neither.
func TestLiveTagsOfRestarts(t *testing.T) {
	s, err := simulator.Parse(`
name: tags
nodes: [{name: n, capacity: {vcore: 9}}]
foreign: [{name: other, groups: [n], resources: {vcore: 1}}]
workloads: [{name: w, queue: default, pods: 2, resources: {vcore: 1}, runs: 1m, grace: 1m}]
`)
	assert.NilError(t, err)
	live, err := New(s, Options{Speed: 1})
	assert.NilError(t, err)
	p := live.newSession()
	p.cluster.Advance(time.Second)
	observe := func(event api.Event) {
		p.cluster.Observe(time.Second, event)
		assert.NilError(t, p.cluster.Breach())
	}
	tagsOf := func(key, node string) map[string]string {
		requests := p.requests([]api.Command{api.AddAllocation{Allocation: &api.Allocation{Key: api.AllocationKey(key), Node: api.NodeID(node)}}})
		return requests[0].(*si.AllocationRequest).Allocations[0].AllocationTags
	}
	of := func(key api.AllocationKey) *api.Allocation {
		return &api.Allocation{Key: key, Application: "w", Node: "n"}
	}
	assert.Equal(t, len(tagsOf("w/1", "")), 0)
	observe(&api.Claimed{Allocation: of("w/1"), Node: "n", Plan: &preemptor.Decision{}})
	assert.DeepEqual(t, tagsOf("w/1", ""), map[string]string{api.TagNominatedNode: "n"})
	observe(api.Placed{Allocation: of("w/1")})
	assert.Equal(t, len(tagsOf("w/1", "n")), 0)
	observe(&api.EvictionRequested{Allocation: of("w/1")})
	assert.DeepEqual(t, tagsOf("w/1", "n"), map[string]string{api.TagTerminating: "true"})
	assert.Equal(t, len(tagsOf("other/n", "n")), 0)
	observe(&api.EvictionRequested{Allocation: &api.Allocation{Key: "other/n", Origin: api.Foreign}})
	assert.DeepEqual(t, tagsOf("other/n", "n"), map[string]string{api.TagTerminating: "true"})
	assert.Equal(t, len(tagsOf("unknown", "")), 0)
}
