package core_test

import (
	"fmt"
	"math/rand/v2"
	"path"
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

// A group of subgroups with parts, of which the group, each subgroup and each part may require one zone or one rack, starts exactly if there is
// such a place for all of it, whether the two are levels of one list, of two, or of none. What runs is in one domain of each, also what comes later.
// Where subgroups may be divided, they are if there is no such place.
func TestDomainsAtEveryLevelOfATree(t *testing.T) {
	started, divided, waited, joined, stayed := 0, 0, 0, 0, 0
	for seed := range seeds.Of(t, 1500) {
		w := newTreeWorld(seed)
		w.askAll()
		switch {
		case w.fits():
			started++
		case w.split && w.fitsDivided():
			w.isDivided = true
			divided++
		default:
			assert.Equal(t, w.schedule(t), 0, "%s", w)
			waited++
			continue
		}
		assert.Equal(t, w.schedule(t), w.size(), "%s", w)
		if w.split { // what comes later may run elsewhere
			continue
		}
		of := &w.subgroups[w.chance.IntN(len(w.subgroups))]
		part := &of.parts[w.chance.IntN(len(of.parts))]
		w.ask(of, part, "later")
		if w.mayJoin(of, part) {
			assert.Equal(t, w.schedule(t), 1, "%s: another of %s/%s", w, of.name, part.name)
			joined++
		} else {
			assert.Equal(t, w.schedule(t), 0, "%s: another of %s/%s", w, of.name, part.name)
			stayed++
		}
	}
	assert.Assert(t, started > seeds.Part(t, 900) && divided > 0 && waited > seeds.Part(t, 200) && joined > seeds.Part(t, 400) && stayed > seeds.Part(t, 100),
		"%d started, %d divided, %d waited, %d joined, %d did not", started, divided, waited, joined, stayed)
}

// Where not all subgroups must start, those that do are whole.
func TestSomeOfATreeStarts(t *testing.T) {
	started, waited, part := 0, 0, 0
	for seed := range seeds.Of(t, 1500) {
		w := newTreeWorld(seed)
		w.split, w.least = false, 1
		w.askAll()
		fits := slices.ContainsFunc(w.subgroups, func(of treeSubgroup) bool {
			alone := *w
			alone.subgroups = []treeSubgroup{of}
			return alone.fits()
		})
		placed := w.schedule(t)
		assert.Equal(t, placed > 0, fits, "%s", w)
		if !fits {
			waited++
			continue
		}
		started++
		for _, of := range w.subgroups {
			run, size := 0, 0
			for _, p := range of.parts {
				size += p.size
			}
			for key := range w.runs {
				if strings.HasPrefix(key, of.name+"/") {
					run++
				}
			}
			assert.Assert(t, run == 0 || run == size, "%s: %d of %s", w, run, of.name)
		}
		if placed < w.size() {
			part++
		}
	}
	assert.Assert(t, started > seeds.Part(t, 900) && waited > seeds.Part(t, 40) && part > seeds.Part(t, 100), "%d started, %d waited, %d in part", started, waited, part)
}

// Where all nodes are full of less important pods, room is made for such a group exactly if there is such a place for all of it, with one eviction for each
// member, and it starts.
func TestRoomForATree(t *testing.T) {
	started, waited := 0, 0
	for seed := range seeds.Of(t, 600) {
		w := newTreeWorld(seed)
		fillAll(w.Partition, w.now, 0)
		w.askAll()
		if !w.fits() && !(w.split && w.fitsDivided()) {
			assert.Equal(t, endEvicted(w.Partition, w.now), 0, "%s", w)
			waited++
			continue
		}
		w.isDivided = !w.fits()
		assert.Equal(t, endEvicted(w.Partition, w.now), w.size(), "%s", w)
		assert.Equal(t, w.schedule(t), w.size(), "%s", w)
		started++
	}
	assert.Assert(t, started > seeds.Part(t, 300) && waited > seeds.Part(t, 60), "%d started, %d waited", started, waited)
}

// fillAll has pods of a priority run on all nodes, one on each core.
func fillAll(p *core.Partition, now time.Time, priority int32) {
	for _, n := range p.View().Nodes {
		for i := range n.Capacity[0] {
			p.Apply(now, api.AddAllocation{Allocation: &api.Allocation{
				Key: api.AllocationKey(fmt.Sprint("runs-", n.ID, "-", i)), Application: "app", Node: n.ID, Amounts: resources.Amounts{1}, Created: now, Priority: priority,
			}})
		}
	}
}

// endEvicted ends what is evicted in a step, and reports how many pods are.
func endEvicted(p *core.Partition, now time.Time) (victims int) {
	events, _ := p.Schedule(now)
	for _, e := range events {
		if e, is := e.(*api.EvictionRequested); is {
			p.Apply(now, api.ReleaseAllocation{Application: "app", Key: e.Key})
			victims++
		}
	}
	return victims
}

// mayJoin reports whether a node has room for another member of a part, in the domains in which others of it run.
func (w *treeWorld) mayJoin(of *treeSubgroup, part *treePart) bool {
	return slices.ContainsFunc(w.View().Nodes, func(n *api.NodeView) bool {
		for key, node := range w.runs {
			level := w.require
			if strings.HasPrefix(key, of.name+"/") {
				level = finer(level, of.require)
			}
			if strings.HasPrefix(key, of.name+"/"+part.name+"/") {
				level = finer(level, part.require)
			}
			if level != "" && where(node)[level] != where(n.ID)[level] {
				return false
			}
		}
		return n.Available[0] > 0
	})
}

// finer is the level of two whose domains are smaller.
func finer(a, b string) string {
	if a == "rack" || b == "" {
		return a
	}
	return b
}

// A treeWorld is a partition with nodes in racks, racks in zones, and a group of subgroups with parts.
type treeWorld struct {
	*core.Partition
	chance    *rand.Rand
	now       time.Time
	lists     [][]string
	require   string // of the group: zone, rack or none
	least     int    // subgroups that start together
	split     bool   // subgroups may be divided, and
	isDivided bool   // one must be
	racks     []treeRack
	subgroups []treeSubgroup
	runs      map[string]api.NodeID // members
}

type treeRack struct{ zone, room int }

type treeSubgroup struct {
	name, require string
	parts         []treePart
}

type treePart struct {
	name, require string
	size          int
}

func newTreeWorld(seed uint64) *treeWorld {
	chance := rand.New(rand.NewPCG(seed, 86))
	level := func() string { return []string{"", "zone", "rack"}[chance.IntN(3)] }
	w := &treeWorld{
		chance: chance, now: start, require: []string{"", "", "zone", "rack"}[chance.IntN(4)], runs: map[string]api.NodeID{},
		split: chance.IntN(4) == 0,
		lists: [][][]string{{{"zone", "rack"}}, {{"zone"}, {"rack"}}, {{"rack"}}, nil}[chance.IntN(4)],
	}
	options := api.Options{Kinds: testKinds(), ReserveDelay: -1, SettleDelay: -1}
	if chance.IntN(2) == 0 { // each part is asked about for itself
		options.Constraints = func(key api.AllocationKey) string { return path.Dir(string(key)) }
	}
	w.Partition = core.NewPartition(options, api.Config{
		Name: "default", Levels: w.lists, Nodes: api.NodeOrder{Packing: chance.IntN(2) == 0},
		Root: api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{{Name: "default"}}},
	})
	w.Apply(w.now, api.AddApplication{ID: "app"})
	for i := range 2 + chance.IntN(3) {
		is := treeRack{zone: chance.IntN(2)}
		for k := range 1 + chance.IntN(3) {
			cores := 1 + chance.IntN(5)
			is.room += cores
			w.Apply(w.now, api.AddNode{
				ID: api.NodeID(fmt.Sprintf("n-%d-%d-%d", is.zone, i, k)), Capacity: resources.Amounts{int64(cores)},
				Attributes: map[string]string{"zone": fmt.Sprint(is.zone), "rack": fmt.Sprint(i)},
			})
		}
		w.racks = append(w.racks, is)
	}
	for i := range 1 + chance.IntN(2) {
		of := treeSubgroup{name: fmt.Sprint("r", i), require: level()}
		for k := range 1 + chance.IntN(3) {
			of.parts = append(of.parts, treePart{fmt.Sprint("p", k), level(), 1 + chance.IntN(4)})
		}
		w.subgroups = append(w.subgroups, of)
	}
	w.least = len(w.subgroups)
	return w
}

func (w *treeWorld) String() string {
	return fmt.Sprintf("racks %v, lists %v, in one %q, split %t: %v", w.racks, w.lists, w.require, w.split, w.subgroups)
}

func (w *treeWorld) size() (sum int) {
	for _, of := range w.subgroups {
		for _, p := range of.parts {
			sum += p.size
		}
	}
	return sum
}

func (w *treeWorld) askAll() {
	for i := range w.subgroups {
		of := &w.subgroups[i]
		for k := range of.parts {
			for m := range of.parts[k].size {
				w.ask(of, &of.parts[k], fmt.Sprint(m))
			}
		}
	}
}

// ask adds a member of a part. Each subgroup starts with all of its parts.
func (w *treeWorld) ask(of *treeSubgroup, p *treePart, name string) {
	w.Apply(w.now, api.AddAllocation{Allocation: &api.Allocation{
		Key: api.AllocationKey(of.name + "/" + p.name + "/" + name), Application: "app", Amounts: resources.Amounts{1}, Created: w.now, Priority: 10, Tags: map[string]string{
			api.TagQuorum: "g", api.TagQuorumLeast: fmt.Sprint(w.least), api.TagQuorumRequire: w.require, api.TagQuorumSubgroup: of.name + "/" + p.name,
			api.TagQuorumSubgroupLeast: fmt.Sprintf("%d/%d", len(of.parts), p.size), api.TagQuorumEach: of.require + "," + p.require,
			api.TagQuorumSplit: fmt.Sprint(w.split),
		},
	}})
}

// schedule reports how many were placed, and that what runs is where it must be.
func (w *treeWorld) schedule(t *testing.T) (placed int) {
	events, _ := w.Schedule(w.now)
	w.now = w.now.Add(time.Minute)
	for _, e := range events {
		if e, is := e.(api.Placed); is {
			w.runs[string(e.Key)] = e.Node
			placed++
		}
	}
	assert.NilError(t, w.Verify())
	in := map[string]string{}
	for key, node := range w.runs {
		names, is := strings.Split(key, "/"), where(node)
		of := w.subgroups[slices.IndexFunc(w.subgroups, func(of treeSubgroup) bool { return of.name == names[0] })]
		part := of.parts[slices.IndexFunc(of.parts, func(p treePart) bool { return p.name == names[1] })]
		for name, level := range map[string]string{"the group": w.require, names[0]: of.require, names[0] + "/" + names[1]: part.require} {
			if before, known := in[name]; level != "" && known && (!w.isDivided || name == "the group") {
				assert.Equal(t, is[level], before, "%s: %s of %s", w, level, name)
			}
			in[name] = is[level]
		}
	}
	return placed
}

// where is the zone and the rack of a node, which its name says.
func where(node api.NodeID) map[string]string {
	names := strings.Split(string(node), "-")
	return map[string]string{"zone": names[1], "rack": names[2]}
}

// fits tries all ways to give the group, each subgroup and each part a zone or a rack.
func (w *treeWorld) fits() bool {
	return slices.ContainsFunc(w.below(anywhere, w.require), func(root treeDomain) bool { return w.fitsFrom(root, 0, 0, anywhere, map[treeDomain]int{}) })
}

// fitsDivided reports whether there is room for all of the group where it must run, whatever subgroups require.
func (w *treeWorld) fitsDivided() bool {
	return slices.ContainsFunc(w.below(anywhere, w.require), func(d treeDomain) bool { return w.holds(map[treeDomain]int{d: w.size()}) })
}

// A treeDomain is a zone, a rack of it, or, with less than zero for both, everything.
type treeDomain struct{ zone, rack int }

var anywhere = treeDomain{-1, -1}

// below are the domains of a level in one that is given.
func (w *treeWorld) below(d treeDomain, level string) (list []treeDomain) {
	if level == "" || d.rack >= 0 || level == "zone" && d.zone >= 0 {
		return []treeDomain{d}
	}
	for i, is := range w.racks {
		in := treeDomain{is.zone, i}
		if level == "zone" {
			in.rack = -1
		}
		if (d.zone < 0 || d.zone == is.zone) && !slices.Contains(list, in) {
			list = append(list, in)
		}
	}
	return list
}

// fitsFrom goes on with a part of a subgroup, which has a domain. Asks are how many are given each.
func (w *treeWorld) fitsFrom(root treeDomain, at, part int, in treeDomain, asks map[treeDomain]int) bool {
	switch {
	case at == len(w.subgroups):
		return w.holds(asks)
	case part == 0:
		return slices.ContainsFunc(w.below(root, w.subgroups[at].require), func(d treeDomain) bool { return w.fitsPart(root, at, 0, d, asks) })
	case part == len(w.subgroups[at].parts):
		return w.fitsFrom(root, at+1, 0, anywhere, asks)
	}
	return w.fitsPart(root, at, part, in, asks)
}

func (w *treeWorld) fitsPart(root treeDomain, at, part int, in treeDomain, asks map[treeDomain]int) bool {
	p := w.subgroups[at].parts[part]
	return slices.ContainsFunc(w.below(in, p.require), func(d treeDomain) bool {
		asks[d] += p.size
		defer func() { asks[d] -= p.size }()
		return w.holds(asks) && w.fitsFrom(root, at, part+1, in, asks)
	})
}

// holds reports whether there is room for all asks: those of a rack there, those of a zone in what is left of its racks, and the others anywhere.
func (w *treeWorld) holds(asks map[treeDomain]int) bool {
	left := 0
	for zone := range 2 {
		in := -asks[treeDomain{zone, -1}]
		for i, is := range w.racks {
			if is.zone != zone {
				continue
			}
			of := is.room - asks[treeDomain{zone, i}]
			if of < 0 {
				return false
			}
			in += of
		}
		if in < 0 {
			return false
		}
		left += in
	}
	return left >= asks[anywhere]
}

// Subgroups of one group require sixteen levels at most (levelsMax): one that requires a further one does not start, and says so.
func TestLevelsOfAGroupAreBounded(t *testing.T) {
	for levels, want := range map[int]int{16: 16, 17: 16} {
		w := rackWorldOf(nil, api.Options{}, api.NodeOrder{})
		attributes := map[string]string{}
		for i := range levels {
			attributes[fmt.Sprint("level-", i)] = "value"
		}
		w.Apply(w.now, api.AddNode{ID: "n", Capacity: resources.Amounts{99}, Attributes: attributes})
		for i := range levels {
			w.Apply(w.now, api.AddAllocation{Allocation: &api.Allocation{
				Key: api.AllocationKey(fmt.Sprint(i)), Application: "app", Amounts: resources.Amounts{1}, Created: w.now, Tags: map[string]string{
					api.TagQuorum: "g", api.TagQuorumLeast: "1", api.TagQuorumSubgroup: fmt.Sprintf("s-%02d", i), api.TagQuorumEach: fmt.Sprint("level-", i),
				},
			}})
		}
		placed := 0
		for range levels {
			events, _ := w.Schedule(w.now)
			for _, e := range events {
				if _, is := e.(api.Placed); is {
					placed++
				}
			}
			w.now = w.now.Add(time.Minute)
		}
		assert.Equal(t, placed, want)
		for _, ask := range w.View().Application("app").Asks {
			assert.Equal(t, ask.Detail, "subgroup s-16: its group requires too many levels")
		}
	}
}
