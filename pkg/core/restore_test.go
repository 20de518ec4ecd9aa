package core_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// TestRestoreStandsWhereTheOtherStood restores partitions from views in the
// middle of random histories: the laws hold, everything that a view tells of
// nodes, sums and asks is the same, and scheduling goes on.
func TestRestoreStandsWhereTheOtherStood(t *testing.T) {
	for seed := range uint64(300) {
		h := newHistory(rand.New(rand.NewPCG(seed, 7)))
		for range 80 {
			h.step()
		}
		standsWhereTheOtherStood(t, h, seed)
	}
}

// standsWhereTheOtherStood restores the partition of a history from its view.
func standsWhereTheOtherStood(t *testing.T, h *history, seed uint64) {
	t.Helper()
	view := h.p.View()
	other := core.Restore(api.Options{Kinds: testKinds()}, h.now, view)
	assert.NilError(t, other.Verify(), "seed %d", seed)
	restored := other.View()
	assert.DeepEqual(t, sortedNodes(restored.Nodes), sortedNodes(view.Nodes), ofViews)
	assert.DeepEqual(t, restored.ForeignUnknownNode, view.ForeignUnknownNode)
	sameQueues(t, restored.Root, view.Root)
	assert.Equal(t, len(restored.Applications), len(view.Applications))
	for i, app := range view.Applications {
		got := restored.Applications[i]
		assert.Equal(t, got.State, app.State)
		assert.Equal(t, got.Queue, app.Queue)
		assert.Equal(t, got.Group, app.Group)
		assert.Equal(t, got.Counts, app.Counts)
		assert.DeepEqual(t, got.Gang, app.Gang)
		assert.Assert(t, got.Since.Equal(app.Since) && got.Submitted.Equal(app.Submitted))
		assert.DeepEqual(t, sortedAllocations(got.Allocations), sortedAllocations(app.Allocations))
		asks := sortedAsks(got.Asks)
		for k, ask := range sortedAsks(app.Asks) {
			assert.DeepEqual(t, asks[k].Allocation, ask.Allocation)
			assert.Equal(t, asks[k].Nominated, ask.Nominated)
			assert.Equal(t, asks[k].Reserved, ask.Reserved)
		}
	}
	for more := true; more; {
		_, more = other.Schedule(h.now)
		assert.NilError(t, other.Verify(), "seed %d", seed)
	}
	assert.Assert(t, cmp.Equal(h.p.View().Nodes, view.Nodes, ofViews), "seed %d: the other was touched", seed)
}

// ofViews leaves out what only asks of the same view can tell of a node.
var ofViews = cmpopts.IgnoreFields(api.NodeView{}, "Slot", "UpdatedAt")

// sortedNodes are nodes with their lists by key.
func sortedNodes(nodes []*api.NodeView) (out []api.NodeView) {
	for _, n := range nodes {
		c := *n
		c.Allocations, c.ForeignAllocations = sortedAllocations(n.Allocations), sortedAllocations(n.ForeignAllocations)
		out = append(out, c)
	}
	return out
}

func sameQueues(t *testing.T, a, b *api.QueueView) {
	t.Helper()
	assert.Equal(t, a.Path, b.Path)
	assert.Equal(t, a.Leaf, b.Leaf)
	assert.Equal(t, a.Draining, b.Draining)
	assert.Equal(t, a.Applications, b.Applications)
	// The other may not have reacted yet to what brought it beyond its max, or within.
	assert.Assert(t, a.OverMaxSince.IsZero() || b.OverMaxSince.IsZero() || a.OverMaxSince.Equal(b.OverMaxSince), "%s: %v and %v, used %v %v of %v", a.Path, a.OverMaxSince, b.OverMaxSince, a.Used, b.Used, a.Max)
	assert.DeepEqual(t, trimmed(a), trimmed(b))
	assert.Equal(t, len(a.Queues), len(b.Queues))
	for i := range a.Queues {
		sameQueues(t, a.Queues[i], b.Queues[i])
	}
}

func trimmed(q *api.QueueView) [5][]int64 {
	sums := [5][]int64{q.Used, q.Pending, q.Nominated, q.Releasing, q.Max}
	for i, sum := range sums {
		for len(sum) > 0 && sum[len(sum)-1] == 0 {
			sum = sum[:len(sum)-1]
		}
		sums[i] = append([]int64{}, sum...)
	}
	return sums
}
