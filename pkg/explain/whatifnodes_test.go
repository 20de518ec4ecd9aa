package explain_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/explain"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

func whatIf(t *testing.T, c *cluster, q explain.Question) *explain.Outcome {
	t.Helper()
	out, err := explain.WhatIf(t.Context(), c.View(), c.kinds, start.Add(time.Minute), q)
	assert.NilError(t, err)
	return out
}

// TestWhatIfNodesWere adds a node on which an ask that waits would run, drains the one that
// has room, and removes one: what runs there waits, for no other node has room.
func TestWhatIfNodesWere(t *testing.T) {
	c := crowd(t)
	c.ask("web", "waits", 3500, 1)
	c.settle(start)
	added := api.AddNode{ID: "n3", Capacity: resources.Amounts{4000, 1 << 30}}

	out := whatIf(t, c, explain.Question{Nodes: explain.Nodes{Add: []api.AddNode{added}}})
	assert.Equal(t, len(out.Others), 1)
	assert.Equal(t, out.Others[0], explain.AskOutcome{Key: "waits", Placed: "n3"})

	out = whatIf(t, c, explain.Question{Nodes: explain.Nodes{Add: []api.AddNode{added}, Drain: []api.NodeID{"n3"}}})
	assert.Equal(t, len(out.Others), 0, "a drained node takes nothing")

	out = whatIf(t, c, explain.Question{Nodes: explain.Nodes{Remove: []api.NodeID{"n1"}}})
	assert.Equal(t, len(out.Moved), 1)
	assert.Equal(t, out.Moved[0].Key, api.AllocationKey("b-1"))
	assert.Equal(t, out.Moved[0].Waits.Reason, api.NoNodeFits)

	out = whatIf(t, c, explain.Question{Nodes: explain.Nodes{Add: []api.AddNode{added}, Remove: []api.NodeID{"n1"}}})
	placed := len(out.Others)
	if out.Moved[0].Placed == "n3" {
		placed++
	}
	assert.Equal(t, placed, 1, "one of them has room on the new node")
	assert.NilError(t, c.Verify())
}

// TestWhatIfDaemonSetsEnd with their node: they are not asked for again, and neither is what
// was being evicted.
func TestWhatIfDaemonSetsEnd(t *testing.T) {
	c := crowd(t)
	c.ask("web", "daemon", 500, 1, func(a *api.Allocation) { a.Required = "n1" })
	c.settle(start)
	out := whatIf(t, c, explain.Question{Nodes: explain.Nodes{Remove: []api.NodeID{"n1"}}})
	assert.Equal(t, len(out.Moved), 1)
	assert.Equal(t, out.Moved[0].Key, api.AllocationKey("b-1"))

	c.ask("web", "takes", 3000, 1, priority(9))
	c.settle(start)
	out = whatIf(t, c, explain.Question{Nodes: explain.Nodes{Remove: []api.NodeID{"n1"}}})
	assert.Equal(t, len(out.Moved), 0, "b-1 is being evicted")
}

// TestWhatIfPredicates asks about an ask that waits, on nodes that there are: it stays where
// it is if it is refused. About other asks, moved pods and new nodes it does not ask, and says so.
func TestWhatIfPredicates(t *testing.T) {
	c := crowd(t)
	c.ask("web", "waits", 2000, 1)
	c.settle(start)
	c.Apply(start, api.ReleaseAllocation{Application: "batch", Key: "b-2"})
	var asked []string
	q := explain.Question{Feasible: func(key api.AllocationKey, node api.NodeID, _ bool) error {
		asked = append(asked, string(key)+" on "+string(node))
		return errors.New("has the taint gpu")
	}}
	out := whatIf(t, c, q)
	assert.DeepEqual(t, asked, []string{"waits on n2"})
	assert.Equal(t, len(out.Others), 0, "it is refused")
	assert.Assert(t, !out.Unasked)

	q.Nodes.Remove = []api.NodeID{"n1"}
	out = whatIf(t, c, q)
	assert.Equal(t, out.Moved[0].Placed, api.NodeID("n2"))
	assert.Assert(t, out.Unasked, "b-1 is asked for again, of which the resource manager knows nothing")
	assert.Assert(t, out.Moved[0].Unasked)

	q.Nodes = explain.Nodes{}
	q.Feasible = func(api.AllocationKey, api.NodeID, bool) error { return nil }
	out = whatIf(t, c, q)
	assert.Equal(t, out.Others[0].Placed, api.NodeID("n2"))
	assert.Assert(t, !out.Unasked && !out.Others[0].Unasked)

	q.Nodes.Add = []api.AddNode{{ID: "n3", Capacity: resources.Amounts{9000, 1 << 30}}}
	q.Nodes.Drain = []api.NodeID{"n2"}
	out = whatIf(t, c, q)
	assert.Equal(t, out.Others[0].Placed, api.NodeID("n3"))
	assert.Assert(t, out.Unasked && out.Others[0].Unasked, "of a new node it knows nothing either")
}

// TestWhatIfWrongNodes are refused before anything is played.
func TestWhatIfWrongNodes(t *testing.T) {
	c := crowd(t)
	for want, nodes := range map[string]explain.Nodes{
		"node n9 is not registered":           {Drain: []api.NodeID{"n9"}},
		"node n1 is registered already":       {Add: []api.AddNode{{ID: "n1"}}},
		"node n3 is registered already":       {Add: []api.AddNode{{ID: "n3"}, {ID: "n3"}}},
		"node n1 is drained or removed twice": {Drain: []api.NodeID{"n1"}, Remove: []api.NodeID{"n1"}},
		"node n2 is drained or removed twice": {Remove: []api.NodeID{"n2", "n2"}},
	} {
		_, err := explain.WhatIf(t.Context(), c.View(), c.kinds, start, explain.Question{Nodes: nodes})
		assert.Error(t, err, want)
	}
}

// TestWhatIfSaysWhatGoesOnWaiting: of those that wait now, some run on a new node, and it is told how many go on waiting, and why.
func TestWhatIfSaysWhatGoesOnWaiting(t *testing.T) {
	c := crowd(t)
	for _, key := range []string{"w-1", "w-2", "w-3"} {
		c.ask("web", key, 2000, 1)
	}
	c.settle(start)
	added := api.AddNode{ID: "n3", Capacity: resources.Amounts{4000, 1 << 30}}
	out := whatIf(t, c, explain.Question{Nodes: explain.Nodes{Add: []api.AddNode{added}}})
	assert.Equal(t, out.Waited, 3)
	assert.Equal(t, len(out.Others), 2)
	assert.DeepEqual(t, out.Waiting, []explain.StillWaiting{{Reason: api.NoNodeFits, Asks: 1, First: "w-3"}})

	out = whatIf(t, c, question("web", wish("w-4", 2000, 0)))
	assert.Equal(t, out.Waited, 3, "that of the question is told by itself")
	assert.DeepEqual(t, out.Waiting, []explain.StillWaiting{{Reason: api.NoNodeFits, Asks: 3, First: "w-1"}})

	out = whatIf(t, c, explain.Question{Nodes: explain.Nodes{Drain: []api.NodeID{"n2"}}})
	assert.DeepEqual(t, out.Staying, []explain.Staying{{Node: "n2", Allocations: 1}})
}

// TestWhatIfMovedPodsNeedTheirNodes: what takes the place of a pod needs the labels of nodes that the pod needs, and the resource
// manager is not even to be asked for that. It waits where no node has them.
func TestWhatIfMovedPodsNeedTheirNodes(t *testing.T) {
	c := newCluster(t, twoQueues(), api.Options{})
	for _, zone := range []string{"a", "b"} {
		c.Apply(start, api.AddNode{ID: api.NodeID("n-" + zone), Capacity: resources.Amounts{4000, 1 << 30}, Attributes: map[string]string{"zone": zone}})
	}
	for _, zones := range []string{"zone=a", "zone=a|b"} {
		c.ask("web", zones, 1000, 1, on("n-a"), func(a *api.Allocation) { a.Tags = map[string]string{api.TagNodeSelector: zones} })
	}
	c.settle(start)
	for _, ask := range []api.Feasible{nil, func(api.AllocationKey, api.NodeID, bool) error { return nil }} {
		out := whatIf(t, c, explain.Question{Feasible: ask, Nodes: explain.Nodes{Remove: []api.NodeID{"n-a"}}})
		assert.Equal(t, len(out.Moved), 2)
		assert.Equal(t, out.Moved[0].Placed, api.NodeID(""))
		assert.Equal(t, out.Moved[0].Waits.Reason, api.Infeasible)
		assert.Assert(t, strings.Contains(out.Moved[0].Waits.Text(), "the node is not labelled zone=a"), out.Moved[0].Waits.Text())
		assert.Equal(t, out.Moved[1].Placed, api.NodeID("n-b"))
	}
}
