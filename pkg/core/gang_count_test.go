package core_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
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

// newCountedGang has so many placeholders run on each of some nodes, which are full: nothing may be placed there at once.
func newCountedGang(t *testing.T, nodes, on int, refuses func(api.AllocationKey, api.NodeID) bool) *countedGang {
	t.Helper()
	var g *countedGang
	g = newCountedGangWith(t, nodes, on, api.Options{Kinds: testKinds(), ReserveDelay: -1, Feasible: func(key api.AllocationKey, n api.NodeID, allocate bool) error {
		g.asked++
		if allocate || refuses(key, n) {
			return errElsewhere
		}
		return nil
	}})
	return g
}

func newCountedGangWith(t *testing.T, nodes, on int, options api.Options) *countedGang {
	t.Helper()
	g := &countedGang{now: start}
	g.p = core.NewPartition(options, api.Config{Name: "default", Root: api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{{Name: "q"}}}})
	g.p.Apply(g.now, api.AddApplication{ID: "a", Queue: "root.q"})
	for i := range nodes {
		id := api.NodeID(fmt.Sprintf("n%05d", i))
		g.p.Apply(g.now, api.AddNode{ID: id, Capacity: resources.Amounts{int64(on)}})
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
			if release, ok := e.(*api.ReleaseRequested); ok && release.Cause == api.CauseReplaced {
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
	last := api.NodeID(fmt.Sprintf("n%05d", nodes-1))
	g := newCountedGang(t, nodes, 1, func(_ api.AllocationKey, n api.NodeID) bool { return n != last })
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
	g := newCountedGang(t, 1, members+1, func(key api.AllocationKey, _ api.NodeID) bool { return key != "last" })
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
	g := newCountedGang(t, 2, 10*core.LooksMax, func(api.AllocationKey, api.NodeID) bool { return false })
	g.p.Apply(g.now, api.DrainNode{ID: "n00000"})
	g.member("real")
	assert.Equal(t, g.run(t, 0), "real takes its place")
	assert.Equal(t, g.all, 1)
	assert.Equal(t, g.tries, 1)
}

// TestMembersAreAskedAboutAtThePace holds questions back, so that a hundred at most are asked in a
// second. A member that every placeholder's node refuses is asked about on, batch after batch, until
// the last of ten times as many nodes, where no placeholder runs, takes it. No node is asked about twice.
func TestMembersAreAskedAboutAtThePace(t *testing.T) {
	const nodes, atOnce = 1000, 100
	kinds, asked, spare := map[api.Question]int{}, map[api.NodeID]int{}, api.NodeID("spare-9")
	var g *countedGang
	g = newCountedGangWith(t, nodes, 1, api.Options{
		Kinds: testKinds(), ReserveDelay: -1,
		Feasible: func(_ api.AllocationKey, n api.NodeID, _ bool) error {
			g.asked++
			if asked[n]++; n != spare {
				return errElsewhere
			}
			return nil
		},
		Pace: func(q api.Question) time.Duration {
			if kinds[q]++; q != api.FirstQuestion && g.asked >= atOnce {
				return 10 * time.Millisecond
			}
			return 0
		},
	})
	for i := range 10 {
		g.p.Apply(g.now, api.AddNode{ID: api.NodeID(fmt.Sprint("spare-", i)), Capacity: resources.Amounts{1}})
	}
	g.member("real")
	assert.Equal(t, g.run(t, time.Minute), "real takes its place on node spare-9")
	assert.Equal(t, g.most, atOnce)
	assert.Equal(t, g.all, nodes+10)
	assert.Equal(t, kinds[api.FirstQuestion], 1)
	assert.Equal(t, kinds[api.RepeatedQuestion], 0)
	for n, times := range asked {
		assert.Equal(t, times, 1, n)
	}
	t.Logf("%d questions in %v", g.all, g.now.Sub(start))
	assert.NilError(t, g.p.Verify())
}

// TestMembersAreAskedAboutAgain has a member refused everywhere. It is asked about again on all nodes
// after RetryMax, in questions that count as repeated ones, and not before.
func TestMembersAreAskedAboutAgain(t *testing.T) {
	kinds, refused := map[api.Question]int{}, true
	g := newCountedGangWith(t, 3, 1, api.Options{
		Kinds: testKinds(), ReserveDelay: -1, RetryMax: 20 * time.Second,
		Feasible: func(api.AllocationKey, api.NodeID, bool) error {
			if refused {
				return errElsewhere
			}
			return nil
		},
		Pace: func(q api.Question) time.Duration { kinds[q]++; return 0 },
	})
	g.p.Apply(g.now, api.AddNode{ID: "spare", Capacity: resources.Amounts{1}})
	g.member("real")
	g.run(t, 0)
	assert.DeepEqual(t, kinds, map[api.Question]int{api.FirstQuestion: 1, api.FurtherQuestion: 3})
	assert.NilError(t, g.p.Verify())

	// A node without room comes. The places of the placeholders are asked about soon, and what was said of the
	// spare node holds.
	g.now = start.Add(5 * time.Second)
	g.p.Apply(g.now, api.AddNode{ID: "tiny", Capacity: resources.Amounts{0, 1}})
	g.run(t, 2*time.Second)
	assert.Equal(t, kinds[api.RepeatedQuestion], 3)
	due, _ := g.p.Due()
	assert.Equal(t, due.Sub(start), 20*time.Second)
	g.now = due
	g.run(t, 0)
	assert.DeepEqual(t, kinds, map[api.Question]int{api.FirstQuestion: 1, api.FurtherQuestion: 3, api.RepeatedQuestion: 3 + 4})
	refused = false
	assert.Equal(t, g.run(t, 20*time.Second), "real takes its place")
	assert.Equal(t, kinds[api.RepeatedQuestion], 3+4+1)
}

// TestManyMembersOnOneNode has members take the places of placeholders of one node. Each time the resource
// manager is told what the node will be: without all that are to end, in order, and with what takes their places.
func TestManyMembersOnOneNode(t *testing.T) {
	const members = 1000
	told, most := 0, 0
	g := newCountedGangWith(t, 1, members, api.Options{
		Kinds: testKinds(), ReserveDelay: -1,
		Feasible: func(api.AllocationKey, api.NodeID, bool) error { return nil },
		Simulate: func(_ api.AllocationKey, _ api.NodeID, add, remove []api.AllocationKey) error {
			told++
			most = max(most, len(remove))
			assert.Equal(t, len(add), len(remove)-1)
			assert.Assert(t, slices.IsSorted(remove[1:]))
			return nil
		},
	})
	for i := range 2 { // the last ones take their places in the list of the node, which is in no order then
		g.p.Apply(g.now, api.ReleaseAllocation{Application: "a", Key: api.AllocationKey(fmt.Sprintf("ph-00000-%05d", i))})
	}
	for i := range members - 2 {
		g.member(fmt.Sprint("real-", i))
		g.run(t, 0)
	}
	assert.Equal(t, most, members-2)
	assert.Equal(t, told, members-2)
}
