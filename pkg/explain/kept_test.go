package explain_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/explain"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/played"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// keeping is two nodes of 4 cores of which half of one is free, and an ask that wants a whole one.
const keeping = `
name: keeping
until: 1h
queues:
  partitions:
    - name: default
      preemption: {preemption_start_delay: 10s}
      queues:
        - name: root
          queues:
            - {name: a}
nodes:
  - {name: n, count: 2, capacity: {vcore: 4}}
workloads:
  - {name: fill, queue: root.a, applications: 1, pods: 3, resources: {vcore: 2}, runs: forever, stubborn: true}
  - {name: big, queue: root.a, applications: 1, pods: 1, arrival: {at: 1m}, resources: {vcore: 4}, priority: PRIORITY, runs: forever}
  - {name: small, queue: root.a, applications: 1, pods: 1, arrival: {at: 65s}, resources: {vcore: 2}, runs: forever}
`

// TestKeptNodes: what is free on a node and kept for an ask that wants more than it is told as such, and that it is kept is
// among what can be changed: for one that waited long, and for one for which room is made.
func TestKeptNodes(t *testing.T) {
	for priority, why := range map[string]string{
		"0":  "1 is reserved for an ask that waited long",
		"10": "1 keeps what is free for nominated asks",
	} {
		p := played.New(t, strings.ReplaceAll(keeping, "PRIORITY", priority), nil).To(80 * time.Second)
		a, err := explain.Ask(p.Partition.View(), p.Kinds, "small", "small/1")
		assert.NilError(t, err)
		a.Try(context.Background(), p.Trial())
		text := a.Text()
		assert.Assert(t, strings.Contains(text, why+"; nearest is n-2, has vcore=2000 free, and lacks vcore=2000 beside what is kept for big/1\n"), text)
		assert.Assert(t, strings.Contains(text, "it runs if big/1, for which node n-2 is kept, no longer waits, or vcore=2000 more becomes free on n-1"), text)
	}
}

// TestNearestBesideClaims: of two full nodes the nearer is that on which nothing is kept for others, and the remedy names
// what is told to be lacking.
func TestNearestBesideClaims(t *testing.T) {
	text := strings.ReplaceAll(keeping, "PRIORITY", "0") +
		"  - {name: huge, queue: root.a, applications: 1, pods: 1, arrival: {at: 70s}, resources: {vcore: 3}, runs: forever}\n"
	p := played.New(t, text, nil).To(80 * time.Second)
	a, err := explain.Ask(p.Partition.View(), p.Kinds, "huge", "huge/1")
	assert.NilError(t, err)
	a.Try(context.Background(), p.Trial())
	assert.Assert(t, strings.Contains(a.Text(), "2 have too little free; nearest is n-1, lacks vcore=3000\n"), a.Text())
	assert.Assert(t, strings.Contains(a.Text(), "it runs if vcore=9000 more becomes free on n-1; that is room for 2 asks before it, too"), a.Text())
}

// TestKeptForSeveral: a node that is kept for an ask has room for it, though it is kept for another one, too. The quota is all that
// keeps it away.
func TestKeptForSeveral(t *testing.T) {
	c := newCluster(t, twoQueues(), api.Options{})
	c.node("n", 4000, 1<<30)
	c.node("elsewhere", 6000, 1<<30)
	c.ask("web", "runs", 6000, 1, on("elsewhere"))
	c.ask("web", "one", 4000, 1)
	c.ask("web", "two", 4000, 1)
	c.settle(start)
	view := c.View()
	for _, n := range view.Nodes {
		if n.ID == "n" {
			n.Reservations = []api.Reservation{
				{Node: "n", Key: "one", At: start, Amounts: resources.Amounts{4000, 1}}, {Node: "n", Key: "two", At: start, Amounts: resources.Amounts{4000, 1}},
			}
		}
	}
	for _, key := range []api.AllocationKey{"one", "two"} {
		a, err := explain.Ask(view, c.kinds, "web", key)
		assert.NilError(t, err)
		assert.Equal(t, a.Nodes[len(a.Nodes)-1].Why, explain.HasRoom, "%s", a.Text())
	}
}

// TestKeptForALostMember: what a member of a group had that has ended is kept for the one that takes its place, as a node that keeps
// another ask away. To take it away is no remedy.
func TestKeptForALostMember(t *testing.T) {
	c := newCluster(t, twoQueues(), api.Options{})
	c.node("n", 4000, 1<<30)
	c.node("other", 4000, 1<<30)
	member := func(a *api.Allocation) { a.Tags = map[string]string{api.TagQuorum: "train", api.TagQuorumLeast: "2"} }
	c.ask("web", "t-1", 4000, 1, member)
	c.ask("web", "t-2", 4000, 1, member)
	c.settle(start)
	on := c.Requests["t-2"].RunsOn.ID
	c.Apply(start, api.ReleaseAllocation{Application: "web", Key: "t-2"})
	c.ask("web", "small", 2000, 1)
	c.settle(start)
	a, err := explain.Ask(c.View(), c.kinds, "web", "small")
	assert.NilError(t, err)
	assert.Assert(t, strings.Contains(a.Text(), "1 is kept for a member of a group that is to come again; nearest is "+string(on)), a.Text())
	a.Try(t.Context(), explain.Trial{Now: start, Free: true})
	assert.Assert(t, !strings.Contains(a.Text(), "no longer waits"), a.Text())
}
