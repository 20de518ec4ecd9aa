package core_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/seeds"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// groupsPlaced are the groups of which members were placed, in this order, by the keys of members.
func groupsPlaced(fx api.Effects) (names []string) {
	for _, e := range fx {
		if placed, is := e.(api.Placed); is {
			name, _, _ := strings.Cut(string(placed.Key), "/")
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// TestFailedTriesCostAGroupNoPlace has groups of one size, some of which require a rack, come in any order to a full cluster, where
// each is tried some times in vain. Room for one group after the other comes free: they start in the order in which they were created.
func TestFailedTriesCostAGroupNoPlace(t *testing.T) {
	const groups, members = 6, 3
	for seed := range seeds.Of(t, 500) {
		r := rand.New(rand.NewPCG(seed, 31))
		p, now := oneQueue(api.Options{Kinds: testKinds(), ReserveDelay: -1}), start
		p.Apply(now, api.AddApplication{ID: "a", Queue: "root.q"})
		for i := range groups * members {
			node := api.NodeID(fmt.Sprintf("n%02d", i))
			p.Apply(now, api.AddNode{ID: node, Capacity: resources.Amounts{1}, Attributes: map[string]string{"rack": fmt.Sprint("r", i/members)}})
			runs := ask("a", fmt.Sprint("runs-", i), 1)
			runs.Allocation.Node = node
			p.Apply(now, runs)
		}
		for _, g := range r.Perm(groups) {
			require := r.IntN(2) == 0
			for m := range members {
				member := ask("a", fmt.Sprintf("g%d/%d", g, m), 1)
				member.Allocation.Created, member.Allocation.Tags = start.Add(time.Duration(g-groups)*time.Hour), quorumTags(fmt.Sprint("g", g), members)
				if require {
					member.Allocation.Tags[api.TagQuorumRequire] = "rack"
				}
				p.Apply(now, member)
			}
			for range r.IntN(4) {
				schedule(p, now)
				now = now.Add(time.Duration(r.IntN(90)) * time.Second)
			}
		}
		var started []string
		for _, rack := range r.Perm(groups) {
			for m := range members {
				p.Apply(now, api.ReleaseAllocation{Application: "a", Key: api.AllocationKey(fmt.Sprint("runs-", rack*members+m))})
			}
			now = now.Add(5 * time.Second)
			fx, _ := p.Schedule(now)
			started = append(started, groupsPlaced(fx)...)
			assert.NilError(t, p.Verify())
		}
		assert.DeepEqual(t, started, []string{"g0", "g1", "g2", "g3", "g4", "g5"})
	}
}

// A quotaWorld is a full node, and a group that is more important than what runs there, in a queue that may use less than the group
// must. The others are of a queue without a max.
type quotaWorld struct {
	p    *core.Partition
	most int64
}

func newQuotaWorld(most int64, members int) quotaWorld {
	config := leaves("a", "b")
	config.Root.Queues[0].Max = resources.Limits{most}
	w := quotaWorld{core.NewPartition(api.Options{Kinds: testKinds()}, config), most}
	w.p.Apply(start, api.AddNode{ID: "n", Capacity: resources.Amounts{20}})
	for _, app := range []api.ApplicationID{"a", "b"} {
		w.p.Apply(start, api.AddApplication{ID: app, Queue: api.QueuePath("root." + app)})
	}
	for i := range 20 {
		app := api.ApplicationID("b")
		if int64(i) < most {
			app = "a"
		}
		runs := ask(app, fmt.Sprintf("%s-%02d", app, i), 1)
		runs.Allocation.Node = "n"
		w.p.Apply(start, runs)
	}
	for i := range members {
		member := ask("a", fmt.Sprint("g/", i), 1)
		member.Allocation.Priority, member.Allocation.Tags = 10, quorumTags("g", members)
		w.p.Apply(start, member)
	}
	return w
}

// view is the partition at rest, where the group waits for the quota of its queue: nothing is evicted or kept for it, and it says so.
func (w *quotaWorld) view(t *testing.T) *api.View {
	t.Helper()
	view := w.p.View()
	assert.NilError(t, w.p.Verify())
	assert.Equal(t, view.Preempted.Nominations, uint64(0))
	assert.Equal(t, len(view.Nodes[0].Nominated)+len(view.Nodes[0].Reservations)+len(view.Nodes[0].Evictions), 0)
	for _, app := range view.Applications {
		for _, a := range app.Asks {
			assert.Equal(t, a.Waiting.Detail, "the quota of queue root.a")
		}
	}
	return view
}

// TestGroupsThatLackQuotaAreTriedWhenItIsFree: such a group is not tried again as room comes free that is of no use to it, evicts and keeps
// nothing however long it waits, and starts soon after its queue has the quota for all that must start, or may use more.
func TestGroupsThatLackQuotaAreTriedWhenItIsFree(t *testing.T) {
	for most := int64(4); most < 8; most++ {
		w, now := newQuotaWorld(most, 4), start
		now = untilQuiet(t, w.p, now, 10*time.Second)
		tried := w.view(t).Work.Attempts
		for i := int64(19); i >= 16; i-- {
			w.p.Apply(now, api.ReleaseAllocation{Application: "b", Key: api.AllocationKey(fmt.Sprintf("b-%02d", i))})
			now = untilQuiet(t, w.p, now, 2*time.Second).Add(2 * time.Second)
			assert.Equal(t, w.view(t).Work.Attempts, tried, "the other queue uses less")
		}
		now = untilQuiet(t, w.p, now, 3*time.Minute)
		w.view(t)
		if most%2 == 0 {
			config := leaves("a", "b")
			config.Root.Queues[0].Max = resources.Limits{most + 4}
			w.p.Apply(now, api.Reconfigure{Config: config})
		}
		for i := range int64(4) {
			before := w.view(t).Work.Attempts
			if most%2 == 1 {
				w.p.Apply(now, api.ReleaseAllocation{Application: "a", Key: api.AllocationKey(fmt.Sprintf("a-%02d", i))})
			}
			now = now.Add(2 * time.Second)
			if fx, _ := w.p.Schedule(now); placements(fx) > 0 {
				assert.Equal(t, placements(fx), 4)
				assert.Assert(t, most%2 == 0 || i == 3)
				break
			}
			assert.Assert(t, i < 3 && most%2 == 1)
			assert.Equal(t, w.view(t).Work.Attempts, before, "%d of four are free", i+1)
		}
	}
}
