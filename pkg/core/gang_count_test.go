package core_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

var errElsewhere = errors.New("disk is elsewhere")

// A countedGang is a gang whose placeholders and members each have one unit of room.
type countedGang struct {
	p     *core.Partition
	now   time.Time
	asked int // in this batch
	most  int // in any batch
	all   int
	tries int // batches
}

// newCountedGang has so many placeholders run on each of some nodes.
func newCountedGang(t *testing.T, nodes, on int, refuses func(core.AllocationKey, core.NodeID) bool) *countedGang {
	t.Helper()
	g := &countedGang{now: start}
	options := core.Options{Kinds: testKinds(), ReserveDelay: -1, Feasible: func(key core.AllocationKey, n core.NodeID, _ bool) error {
		g.asked++
		if refuses(key, n) {
			return errElsewhere
		}
		return nil
	}}
	g.p = core.NewPartition(options, core.Config{Name: "default", Root: core.QueueConfig{Name: "root", Parent: true, Queues: []core.QueueConfig{{Name: "q"}}}})
	g.p.Apply(g.now, core.AddApplication{ID: "a", Queue: "root.q"})
	for i := range nodes {
		id := core.NodeID(fmt.Sprintf("n%05d", i))
		g.p.Apply(g.now, core.AddNode{ID: id, Capacity: resources.Amounts{int64(on)}})
		for j := range on {
			ph := ask("a", fmt.Sprintf("ph-%05d-%05d", i, j), 1)
			ph.Allocation.Placeholder, ph.Allocation.TaskGroup, ph.Allocation.Node = true, "workers", id
			g.p.Apply(g.now, ph)
		}
	}
	return g
}

// member asks for the place of a placeholder.
func (g *countedGang) member(key string) {
	r := ask("a", key, 1)
	r.Allocation.TaskGroup = "workers"
	g.p.Apply(g.now, r)
}

// run lets time pass until a member takes a place or the gang has waited so long. It returns the member.
func (g *countedGang) run(t *testing.T, most time.Duration) string {
	t.Helper()
	for until := g.now.Add(most); !g.now.After(until); {
		g.asked = 0
		g.tries++
		fx, more := g.p.Schedule(g.now)
		g.most, g.all = max(g.most, g.asked), g.all+g.asked
		for _, e := range fx {
			if release, ok := e.(*core.ReleaseRequested); ok && release.Cause == core.CauseReplaced {
				return release.Message
			}
		}
		if more {
			continue
		}
		due, ok := g.p.Due()
		assert.Assert(t, ok, "nothing is to be tried again")
		g.now = due
	}
	return ""
}

// TestMembersThatAreRefusedOnManyNodes has a member refused on more nodes than are looked at in
// one batch, ten times over. It takes the place of the placeholder on the last one.
func TestMembersThatAreRefusedOnManyNodes(t *testing.T) {
	const nodes = 10 * core.LooksMax
	last := core.NodeID(fmt.Sprintf("n%05d", nodes-1))
	g := newCountedGang(t, nodes, 1, func(_ core.AllocationKey, n core.NodeID) bool { return n != last })
	g.member("real")
	assert.Equal(t, g.run(t, time.Minute), "real takes its place")
	assert.Equal(t, g.all, nodes)
	assert.Equal(t, g.most, core.LooksMax)
	t.Logf("%d questions in %v", g.all, g.now.Sub(start))
	assert.NilError(t, g.p.Verify())
}

// TestManyMembersThatAreRefused has more members refused, each a class of its own, than are looked
// at in one batch, ten times over. The last one takes its place, whatever comes meanwhile.
func TestManyMembersThatAreRefused(t *testing.T) {
	const members = 10 * core.LooksMax
	g := newCountedGang(t, 1, members+1, func(key core.AllocationKey, _ core.NodeID) bool { return key != "last" })
	for i := range members {
		g.member(fmt.Sprint("real-", i))
	}
	g.member("last")
	assert.Equal(t, g.run(t, time.Minute), "last takes its place")
	assert.Equal(t, g.all, members+1)
	assert.Equal(t, g.most, core.LooksMax)
	t.Logf("%d questions in %v", g.all, g.now.Sub(start))
}

// TestManyMembersWithoutAnOpenNode has members wait for placeholders on drained nodes. A node is
// looked at once for a class, however many placeholders are there, and nothing is asked.
func TestManyMembersWithoutAnOpenNode(t *testing.T) {
	g := newCountedGang(t, 2, 10*core.LooksMax, func(core.AllocationKey, core.NodeID) bool { return false })
	g.p.Apply(g.now, core.DrainNode{ID: "n00000"})
	g.member("real")
	assert.Equal(t, g.run(t, 0), "real takes its place")
	assert.Equal(t, g.all, 1)
	assert.Equal(t, g.tries, 1)
}
