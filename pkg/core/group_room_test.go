package core_test

import (
	"errors"
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

// A roomPod is an allocation that runs in a small cluster, by itself or in a group.
type roomPod struct {
	key      string
	node     int
	size     int64
	priority int32
	group    int // from one on; 0 is none
}

// A roomGroup is a group of them: how many must run, and whether it ends whole.
type roomGroup struct {
	least int
	whole bool
}

// A roomWorld is a small cluster in which a group of equal asks waits, of which so many must start.
type roomWorld struct {
	nodes    []int64 // what is free
	racks    []int   // of the nodes; nil if they are in none, and all may start on any
	pods     []roomPod
	groups   []roomGroup
	asks     int
	must     int
	size     int64
	priority int32
}

func randomRoomWorld(r *rand.Rand) roomWorld {
	w := roomWorld{must: 1 + r.IntN(4), size: 1 + r.Int64N(3), priority: 1 + r.Int32N(3)}
	w.asks = w.must + r.IntN(2)
	for range 2 + r.IntN(3) {
		w.nodes = append(w.nodes, r.Int64N(2))
	}
	for range r.IntN(4) {
		w.groups = append(w.groups, roomGroup{least: 1 + r.IntN(3), whole: r.IntN(3) == 0})
	}
	for i := range 3 + r.IntN(8) {
		p := roomPod{key: fmt.Sprintf("pod-%02d", i), node: r.IntN(len(w.nodes)), size: 1 + r.Int64N(3), priority: r.Int32N(4)}
		if len(w.groups) > 0 && r.IntN(3) > 0 {
			p.group = 1 + r.IntN(len(w.groups))
		}
		w.pods = append(w.pods, p)
	}
	if r.IntN(2) == 0 {
		for range w.nodes {
			w.racks = append(w.racks, r.IntN(3))
		}
	}
	return w
}

// build is the cluster, before the asks of the group come.
func (w *roomWorld) build() *core.Partition {
	p := core.NewPartition(api.Options{Kinds: testKinds()}, api.Config{Name: "default", Root: api.QueueConfig{
		Name: "root", Parent: true, Queues: []api.QueueConfig{{Name: "q"}},
	}})
	p.Apply(start, api.AddApplication{ID: "a", Queue: "root.q"})
	capacity := slices.Clone(w.nodes)
	for _, pod := range w.pods {
		capacity[pod.node] += pod.size
	}
	for i, c := range capacity {
		node := api.AddNode{ID: api.NodeID(fmt.Sprint("n", i)), Capacity: resources.Amounts{c}}
		if w.racks != nil {
			node.Attributes = map[string]string{"rack": fmt.Sprint(w.racks[i])}
		}
		p.Apply(start, node)
	}
	for _, pod := range w.pods {
		a := ask("a", pod.key, pod.size)
		a.Allocation.Node, a.Allocation.Priority = api.NodeID(fmt.Sprint("n", pod.node)), pod.priority
		if pod.group > 0 {
			g := w.groups[pod.group-1]
			if a.Allocation.Tags = quorumTags(fmt.Sprint("g", pod.group), g.least); g.whole {
				a.Allocation.Tags[api.TagQuorumUnit] = api.UnitAll
			}
		}
		p.Apply(start, a)
	}
	schedule(p, start)
	return p
}

// addAsks has the asks of the group come.
func (w *roomWorld) addAsks(p *core.Partition) (evicted []string) {
	for i := range w.asks {
		a := ask("a", fmt.Sprintf("ask-%d", i), w.size)
		a.Allocation.Priority, a.Allocation.Tags = w.priority, quorumTags("train", w.must)
		if w.racks != nil {
			a.Allocation.Tags[api.TagQuorumRequire] = "rack"
		}
		p.Apply(start, a)
	}
	for more := true; more; {
		var fx api.Effects
		fx, more = p.Schedule(start)
		for _, e := range fx {
			if e, is := e.(*api.EvictionRequested); is {
				evicted = append(evicted, string(e.Key))
			}
		}
	}
	return evicted
}

// fits reports whether so many asks fit once some pods have ended, in one rack if there are any.
func (w *roomWorld) fits(gone uint) bool {
	free := slices.Clone(w.nodes)
	for i, pod := range w.pods {
		if gone>>i&1 == 1 {
			free[pod.node] += pod.size
		}
	}
	var places [3]int64
	for i, f := range free {
		rack := 0
		if w.racks != nil {
			rack = w.racks[i]
		}
		places[rack] += f / w.size
	}
	return slices.Max(places[:]) >= int64(w.must)
}

// lawful reports whether some pods may end: each is less important, and units end whole.
func (w *roomWorld) lawful(gone uint) bool {
	for i, pod := range w.pods {
		if gone>>i&1 == 0 {
			continue
		}
		if pod.priority >= w.priority {
			return false
		}
		for j, other := range w.pods {
			if pod.group > 0 && other.group == pod.group && w.groups[pod.group-1].whole && gone>>j&1 == 0 {
				return false
			}
		}
	}
	return true
}

// cost is what it costs that some pods end, by what comes first: the highest priority, groups that stop, and how many
// end or run for nothing.
func (w *roomWorld) cost(gone uint) []int {
	highest, count := -1, 0
	ends, runs := make([]int, len(w.groups)), make([]int, len(w.groups))
	for i, pod := range w.pods {
		if pod.group > 0 {
			runs[pod.group-1]++
		}
		if gone>>i&1 == 0 {
			continue
		}
		count++
		highest = max(highest, int(pod.priority))
		if pod.group > 0 {
			ends[pod.group-1]++
		}
	}
	stops := 0
	for g, is := range w.groups {
		if ends[g] == 0 || !is.whole && (is.least <= 1 || runs[g] < is.least || runs[g]-ends[g] >= is.least) {
			continue
		}
		stops++
		count += runs[g] - ends[g]
	}
	return []int{highest, stops, count}
}

// TestGroupMakesRoom compares the room that a group makes in small clusters with all sets of victims: room is made if any set is
// enough, for as many asks as must start, by a set of which none can be left out, of whole units and of no higher priority. The
// search takes one ask after the other, as for single asks two small victims rather than a larger one, and looks at a bounded number of
// other sets. So one set in 50 has a victim more than must be, and one in 500 stops a group more. These numbers may only fall.
func TestGroupMakesRoom(t *testing.T) {
	made, stopped, none, dearer, stopsMore := 0, 0, 0, 0, 0
	for seed := range seeds.Of(t, 10_000) {
		w := randomRoomWorld(rand.New(rand.NewPCG(seed, 12)))
		if w.fits(0) {
			continue
		}
		var best []int
		for gone := range uint(1) << len(w.pods) {
			if w.lawful(gone) && w.fits(gone) {
				if cost := w.cost(gone); best == nil || slices.Compare(cost, best) < 0 {
					best = cost
				}
			}
		}
		p := w.build()
		evicted := w.addAsks(p)
		assert.NilError(t, p.Verify(), "seed %d", seed)
		got := uint(0)
		for _, key := range evicted {
			got |= 1 << slices.IndexFunc(w.pods, func(p roomPod) bool { return p.key == key })
		}
		if best == nil {
			assert.Equal(t, len(evicted), 0, "seed %d: in vain", seed)
			none++
			continue
		}
		made++
		assert.Assert(t, w.lawful(got) && w.fits(got), "seed %d: %v", seed, evicted)
		for i := range w.pods {
			rest := got &^ (1 << i)
			for j := range w.pods {
				if g := w.pods[i].group; g > 0 && w.groups[g-1].whole && w.pods[j].group == g {
					rest &^= 1 << j
				}
			}
			assert.Assert(t, rest == got || !w.fits(rest), "seed %d: %s can stay: %v", seed, w.pods[i].key, evicted)
		}
		cost := w.cost(got)
		if best[1] > 0 {
			stopped++
		}
		assert.Assert(t, slices.Compare(cost[:1], best[:1]) == 0, "seed %d: costs %v, not %v", seed, cost, best)
		if slices.Compare(cost, best) > 0 {
			dearer++
		}
		if cost[1] > best[1] {
			stopsMore++
		}
		view := p.View()
		assert.Equal(t, int(view.Preempted.Nominations), w.must, "seed %d", seed)
	}
	t.Log("made", made, "of which stop groups", stopped, "none", none, "dearer", dearer, "stops more", stopsMore)
	assert.Assert(t, made > seeds.Part(t, 4000) && stopped > seeds.Part(t, 500) && none > seeds.Part(t, 3000) && dearer <= made/50 && stopsMore <= made/500)
}

// TestGroupStartsWhereRoomWasMade has the victims end of such groups. Then as many as must start together run, in one rack where they
// require one, and nothing more was evicted. A partition that is restored while the victims end does the same.
func TestGroupStartsWhereRoomWasMade(t *testing.T) {
	made := 0
	for seed := range seeds.Of(t, 5_000) {
		w := randomRoomWorld(rand.New(rand.NewPCG(seed, 13)))
		p := w.build()
		evicted := w.addAsks(p)
		if len(evicted) == 0 {
			continue
		}
		made++
		other := core.Restore(api.Options{Kinds: testKinds(), BatchMax: 256}, start, p.View())
		runs := w.end(t, p, evicted)
		assert.DeepEqual(t, w.end(t, other, evicted), runs)
		assert.Assert(t, len(runs) >= w.must, "seed %d: %v", seed, runs)
		if w.racks != nil {
			racks := map[int]bool{}
			for _, n := range runs {
				racks[w.racks[n]] = true
			}
			assert.Equal(t, len(racks), 1, "seed %d: %v", seed, runs)
		}
	}
	assert.Assert(t, made > seeds.Part(t, 2000))
}

// end has victims end, and says on which nodes the asks of the group run then.
func (w *roomWorld) end(t *testing.T, p *core.Partition, victims []string) map[string]int {
	for _, key := range victims {
		p.Apply(start, api.ReleaseAllocation{Application: "a", Key: api.AllocationKey(key)})
	}
	for _, at := range []time.Time{start, start.Add(2 * time.Second)} {
		for more := true; more; {
			var fx api.Effects
			fx, more = p.Schedule(at)
			for _, e := range fx {
				_, more := e.(*api.EvictionRequested)
				assert.Assert(t, !more, "%v", e)
			}
			assert.NilError(t, p.Verify())
		}
	}
	runs := map[string]int{}
	for _, v := range p.View().Nodes {
		for _, a := range v.Allocations {
			if strings.HasPrefix(string(a.Key), "ask-") {
				runs[string(a.Key)] = int(v.ID[1] - '0')
			}
		}
	}
	return runs
}

// TestAttemptsForGroupsPause has a node freed each second while many groups wait that may evict, and of which none gets room for all
// its asks so. The pause between the attempts for a group doubles: in a minute there are 7, not 60.
func TestAttemptsForGroupsPause(t *testing.T) {
	const groups = 20
	p := oneQueue(api.Options{Kinds: testKinds()})
	p.Apply(start, api.AddApplication{ID: "a", Queue: "root.q"})
	for i, key := range []string{"low", "small-0"} {
		runs := ask("a", key, 10)
		runs.Allocation.Node = api.NodeID(fmt.Sprint("n", i))
		p.Apply(start, api.AddNode{ID: runs.Allocation.Node, Capacity: resources.Amounts{10}})
		p.Apply(start, runs)
	}
	for i := range 2 * groups {
		member := ask("a", fmt.Sprint("m-", i), 10)
		member.Allocation.Priority, member.Allocation.Tags = 5, quorumTags(fmt.Sprint("g-", i/2), 2)
		p.Apply(start, member)
	}
	p.Apply(start, api.DrainNode{ID: "n1"})
	untilQuiet(t, p, start, time.Millisecond)
	before := p.View().Work.Attempts
	for second := range 60 {
		now := start.Add(time.Duration(second) * time.Second)
		p.Apply(now, api.ReleaseAllocation{Application: "a", Key: api.AllocationKey(fmt.Sprint("small-", second))})
		next := ask("a", fmt.Sprint("small-", second+1), 10)
		next.Allocation.Node = "n1"
		p.Apply(now, next)
		for more := true; more; {
			_, more = p.Schedule(now)
		}
	}
	attempts := p.View().Work.Attempts - before
	assert.Assert(t, attempts >= groups && attempts <= 7*groups, "%d attempts", attempts)
}

// TestAttemptsForGroupsAreBounded: neither many nodes, nor many groups that stop and of which others could stop, have an attempt work out
// much more than so many costs.
func TestAttemptsForGroupsAreBounded(t *testing.T) {
	for _, c := range []struct {
		name                        string
		nodes, each, inGroups, asks int
		most                        uint64
	}{
		{"a group as large as the cluster", 6000, 1, 2, 6000, 13_000},
		{"long searches for groups to stop instead", 400, 1, 4, 300, 3_500},
		{"many groups to stop instead", 60, 2, 2, 30, 800},
	} {
		p := evictedByGroup(c.nodes, c.each, c.inGroups, c.asks)
		p.ForgetWork()
		schedule(p, start)
		costs := p.View().Work.NodeCosts
		assert.Assert(t, costs > c.most/2 && costs <= c.most, "%s: %d costs", c.name, costs)
	}
}

// TestLargeGroupsGetRoom: room is found in the first attempt for each of so many asks that needs an eviction, and it is worked out for
// few nodes for each of them what that costs, also where all that ends is of one group.
func TestLargeGroupsGetRoom(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	for _, c := range []struct{ asks, inGroups int }{{6000, 0}, {20_000, 0}, {6000, 6000}} {
		p := evictedByGroup(c.asks, 1, c.inGroups, c.asks)
		p.ForgetWork()
		schedule(p, start)
		assert.Equal(t, int(p.View().Preempted.Nominations), c.asks, "%+v", c)
		costs := p.View().Work.NodeCosts
		assert.Assert(t, costs <= 3*uint64(c.asks), "%+v: %d costs", c, costs)
	}
}

// TestAttemptsForGroupsLookAtMore has a resource manager that refuses two asks on all nodes but the two that cost most, which are far more
// than one attempt looks at. Each looks at twice as many as the last one, and in the end room is made.
func TestAttemptsForGroupsLookAtMore(t *testing.T) {
	const nodes = 6000
	options := api.Options{Feasible: func(api.AllocationKey, api.NodeID, bool) error { return nil }, Simulate: func(_ api.AllocationKey, n api.NodeID, _, _ []api.AllocationKey) error {
		if n == "n5998" || n == "n5997" {
			return nil
		}
		return errors.New("refused")
	}}
	p, before, now := answeredByGroup(options, nodes, 1, 0, 2), uint64(0), start
	for attempt := 0; p.View().Preempted.Nominations == 0; attempt++ {
		assert.Assert(t, attempt < 3)
		p.ForgetWork()
		schedule(p, now)
		costs := p.View().Work.NodeCosts
		assert.Assert(t, costs > 3*before/2, "%d costs after %d", costs, before)
		before, now = costs, now.Add(time.Duration(1<<attempt)*time.Second)
	}
	assert.Equal(t, int(p.View().Preempted.Nominations), 2)
}
