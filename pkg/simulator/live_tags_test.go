package simulator

import (
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
)

// TestLiveTagsOfRestarts: a message about a pod says that it is ending, or where it is
// nominated, and that about one which just waits or runs says neither.
func TestLiveTagsOfRestarts(t *testing.T) {
	s, err := Parse(lawsText)
	assert.NilError(t, err)
	live, err := NewLive(s, LiveOptions{Speed: 1})
	assert.NilError(t, err)
	p := live.newSession()
	for _, e := range p.cluster.events.take(0) {
		e.do()
	}
	tagsOf := func(key, node string) map[string]string {
		requests := p.requests([]core.Command{core.AddAllocation{Allocation: &core.Allocation{Key: core.AllocationKey(key), Node: core.NodeID(node)}}})
		return requests[0].(*si.AllocationRequest).Allocations[0].AllocationTags
	}
	pod := p.cluster.pods.byKey["w/1"]
	assert.Equal(t, len(tagsOf("w/1", "")), 0)
	pod.nominated = "n"
	assert.DeepEqual(t, tagsOf("w/1", ""), map[string]string{core.TagNominatedNode: "n"})
	pod.nominated = ""
	assert.Equal(t, len(tagsOf("w/1", "n")), 0)
	pod.releasing = true
	assert.DeepEqual(t, tagsOf("w/1", "n"), map[string]string{core.TagTerminating: "true"})
	foreign := p.cluster.foreign.byKey["other/n"]
	assert.Equal(t, len(tagsOf("other/n", "n")), 0)
	foreign.releasing = true
	assert.DeepEqual(t, tagsOf("other/n", "n"), map[string]string{core.TagTerminating: "true"})
	assert.Equal(t, len(tagsOf("unknown", "")), 0)
}
