package core_test

import (
	"fmt"
	"iter"
	"math/bits"
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

// A group whose subgroups run in a rack each starts exactly if its subgroups can be divided among the racks, of one zone if it requires one,
// whatever suits its members better. None is divided. A further subgroup starts whole, or not at all, where there is room for it in a rack.
func TestSubgroupsStartIfTheyCanBeDivided(t *testing.T) {
	started, waited := 0, 0
	for seed := range seeds.Of(t, 600) {
		w := newRackWorld(seed)
		sizes := make([]int, 1+w.chance.IntN(5))
		least := 0
		for i := range sizes {
			sizes[i] = 1 + w.chance.IntN(4)
			least += sizes[i]
		}
		about := fmt.Sprintf("seed %d: subgroups of %v in racks with %v free, of zones %v, and a zone is required: %t", seed, sizes, w.room, w.zoneOf, w.zone)
		for i, size := range sizes {
			w.ask(fmt.Sprint(i), size, least)
		}
		fits := w.divide(sizes, -1)
		placed := w.schedule(t, about)
		if !fits {
			assert.Equal(t, placed, 0, about)
			waited++
			continue
		}
		assert.Equal(t, placed, least, about)
		started++
		further := 1 + w.chance.IntN(4)
		w.ask("further", further, least)
		fits = w.divide([]int{further}, w.runsIn())
		want := 0
		if fits {
			want = further
		}
		assert.Equal(t, w.schedule(t, about), want, "%s; a further subgroup of %d in %v", about, further, w.room)
	}
	assert.Assert(t, started > seeds.Part(t, 200) && waited > seeds.Part(t, 100), "%d started, %d waited", started, waited)
}

// A group of subgroups with parts starts exactly if so many subgroups as must can be divided among the racks, each with so many of its parts as
// must. No part is divided, and no subgroup is started without its parts; further ones start if there is room for them beside the others.
func TestSubgroupsStartWithTheirParts(t *testing.T) {
	started, waited, further := 0, 0, 0
	for seed := range seeds.Of(t, 600) {
		w := newRackWorld(seed)
		replicas := make([]replica, 1+w.chance.IntN(3))
		for i := range replicas {
			replicas[i].parts = make([]int, 1+w.chance.IntN(3))
			replicas[i].least = 1 + w.chance.IntN(len(replicas[i].parts))
			for k := range replicas[i].parts {
				replicas[i].parts[k] = 1 + w.chance.IntN(4)
			}
		}
		least := 1 + w.chance.IntN(len(replicas))
		about := fmt.Sprintf("seed %d: %d of %v in racks with %v free, of zones %v, and a zone is required: %t", seed, least, replicas, w.room, w.zoneOf, w.zone)
		for i, of := range replicas {
			for k, size := range of.parts {
				name := fmt.Sprint("r", i)
				w.askPart(name, fmt.Sprint(name, "/", k), fmt.Sprint(of.least, "/", size), size, least)
			}
		}
		fits := w.startsSome(replicas, nil, least)
		placed := w.schedule(t, about)
		assert.Equal(t, placed > 0, fits, about)
		if !fits {
			waited++
			continue
		}
		started++
		run := 0
		for i, of := range replicas {
			parts := 0
			for k, size := range of.parts {
				runs := w.placedOf(fmt.Sprint("r", i, "/", k))
				assert.Assert(t, runs == 0 || runs == size, "%s: %d of part %d of %d run", about, runs, k, i)
				parts += min(runs, 1)
			}
			assert.Assert(t, parts == 0 || parts >= of.least, "%s: %d parts of %d run", about, parts, i)
			run += min(parts, 1)
			further += max(0, parts-of.least)
		}
		assert.Assert(t, run >= least, about)
	}
	assert.Assert(t, started > seeds.Part(t, 200) && waited > seeds.Part(t, 60) && further > seeds.Part(t, 60), "%d started, %d waited, %d further parts", started, waited, further)
}

// Parts are eight deep at most, whatever names say: what is deeper is in the last one.
func TestPartsAreBounded(t *testing.T) {
	for levels, want := range map[int]int{8: 8, 9: 8, 100_000: 8} {
		w := rackWorldOf(nil, api.Options{}, api.NodeOrder{})
		w.addRack(0, 1)
		w.askPart("p", strings.Repeat("p/", levels-1)+"p", strings.Repeat("1/", levels-1)+"1", 1, 1)
		assert.Equal(t, len(w.View().Groups[api.QuorumOf+"g"].Subgroups), want)
		assert.Equal(t, w.schedule(t, fmt.Sprint(levels, " levels")), 1)
	}
}

// A subgroup of which one part must run is tried in sixteen ways: with each of the first parts, of those with as few members by name. Where only a later one has
// room it does not start.
func TestWaysAreBounded(t *testing.T) {
	for parts, want := range map[int]int{16: 1, 17: 0} {
		w := rackWorldOf(nil, api.Options{}, api.NodeOrder{})
		w.addRack(0, 1)
		for i := range parts {
			cores := int64(2)
			if i == parts-1 {
				cores = 1
			}
			w.Apply(w.now, api.AddAllocation{Allocation: &api.Allocation{
				Key: api.AllocationKey(fmt.Sprint(i)), Application: "app", Amounts: resources.Amounts{cores}, Created: w.now, Tags: map[string]string{
					api.TagQuorum: "g", api.TagQuorumLeast: "1", api.TagQuorumSubgroup: fmt.Sprintf("p/%02d", i), api.TagQuorumSubgroupLeast: "1/1",
				},
			}})
		}
		assert.Equal(t, w.schedule(t, fmt.Sprint(parts, " parts")), want)
	}
}

// A replica is a subgroup of parts with so many members, of which so many start together.
type replica struct {
	parts []int
	least int
}

// sizes are how many members it may start with.
func (r replica) sizes() (sizes []int) {
	for chosen := range 1 << len(r.parts) {
		sum := 0
		for k, size := range r.parts {
			if chosen>>k&1 == 1 {
				sum += size
			}
		}
		if bits.OnesCount(uint(chosen)) == r.least {
			sizes = append(sizes, sum)
		}
	}
	return sizes
}

// startsSome tries all ways to start so many of some replicas beside others of some sizes.
func (w *rackWorld) startsSome(replicas []replica, sizes []int, least int) bool {
	switch {
	case least == 0:
		return w.divide(sizes, -1)
	case len(replicas) < least:
		return false
	}
	return w.startsSome(replicas[1:], sizes, least) || slices.ContainsFunc(replicas[0].sizes(), func(size int) bool {
		return w.startsSome(replicas[1:], append(slices.Clone(sizes), size), least-1)
	})
}

// placedOf is how many members of a part run.
func (w *rackWorld) placedOf(part string) (count int) {
	for key := range w.placed {
		if name, _, _ := strings.Cut(string(key), "-"); name == part {
			count++
		}
	}
	return count
}

// fullDivision is racks that six to eleven subgroups of some sizes fill to the last core: the cores of each, and what there is of them together.
func fullDivision(seed uint64, options api.Options) (w *rackWorld, sizes, room []int, least int) {
	chance := rand.New(rand.NewPCG(seed, 85))
	sizes, room = make([]int, 6+chance.IntN(6)), make([]int, 3+chance.IntN(3))
	for i := range sizes {
		sizes[i] = 2 + chance.IntN(9)
		room[chance.IntN(len(room))] += sizes[i]
		least += sizes[i]
	}
	w = rackWorldOf(chance, options, api.NodeOrder{})
	for _, cores := range room {
		w.addRack(0, cores)
	}
	return w, sizes, room, least
}

// Subgroups that fill all racks to the last core are divided in few ways only, and a plan looks for nodes 8,192 times beyond once for each ask. Of 600
// random groups of six to eleven subgroups that could start so it finds all but two. None starts in part.
func TestMostFullDivisionsAreFound(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	missed := 0
	for seed := range uint64(600) {
		w, sizes, room, least := fullDivision(seed, api.Options{})
		for rack, cores := range room {
			assert.Equal(t, w.room[rack], cores)
		}
		for i, size := range sizes {
			w.ask(fmt.Sprint(i), size, least)
		}
		switch placed := w.schedule(t, fmt.Sprintf("seed %d: %v in %v", seed, sizes, room)); placed {
		case 0:
			missed++
		default:
			assert.Equal(t, placed, least)
		}
	}
	assert.Equal(t, missed, 2)
}

// The same where all racks are full of less important pods, for which room is to be made to the last core: one division gives domains 64 times beyond four times
// for each subgroup (divisionMax). Of the 600 it misses 16; with ten times as many tries none.
func TestMostFullDivisionsGetRoom(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	missed := 0
	for seed := range uint64(600) {
		w, sizes, _, least := fullDivision(seed, api.Options{SettleDelay: -1})
		fillAll(w.Partition, w.now, -1)
		for i, size := range sizes {
			w.ask(fmt.Sprint(i), size, least)
		}
		switch victims := endEvicted(w.Partition, w.now); victims {
		case 0:
			missed++
		default:
			assert.Equal(t, victims, least)
		}
	}
	assert.Equal(t, missed, 16)
}

// Room is made in the rack where it costs least of the 4,096 that fit best, divided by the subgroups: one further down is not looked at.
func TestDivisionsAreBounded(t *testing.T) {
	for cheap, found := range map[int]bool{4095: true, 4096: false} {
		w := rackWorldOf(nil, api.Options{SettleDelay: -1}, api.NodeOrder{})
		for i := range 4200 {
			id := api.NodeID(fmt.Sprintf("n%04d", i))
			w.Apply(w.now, api.AddNode{ID: id, Capacity: resources.Amounts{1}, Attributes: map[string]string{"zone": "z", "rack": fmt.Sprintf("r%04d", i)}})
			runs := &api.Allocation{Key: api.AllocationKey(fmt.Sprint("runs-", i)), Application: "app", Node: id, Amounts: resources.Amounts{1}, Created: start, Priority: 5}
			if i == cheap {
				runs.Priority = 1
			}
			w.Apply(w.now, api.AddAllocation{Allocation: runs})
		}
		w.Apply(w.now, api.AddAllocation{Allocation: &api.Allocation{
			Key: "member", Application: "app", Amounts: resources.Amounts{1}, Created: start, Priority: 10,
			Tags: map[string]string{api.TagQuorum: "g", api.TagQuorumLeast: "1", api.TagQuorumSubgroup: "s", api.TagQuorumEach: "rack"},
		}})
		events, _ := w.Schedule(w.now)
		var victims []api.AllocationKey
		for _, e := range events {
			if e, is := e.(*api.EvictionRequested); is {
				victims = append(victims, e.Key)
			}
		}
		assert.Equal(t, len(victims), 1)
		assert.Equal(t, victims[0] == api.AllocationKey(fmt.Sprint("runs-", cheap)), found, "%s of %d", victims[0], cheap)
	}
}

// A rackWorld is a partition with nodes in racks, and racks in zones.
type rackWorld struct {
	*core.Partition
	chance *rand.Rand
	now    time.Time
	zone   bool  // the group requires one
	room   []int // by rack
	zoneOf []int
	rackOf map[api.NodeID]int
	of     map[api.AllocationKey]string // subgroup of a member
	runs   map[string]int               // rack of a subgroup
	placed map[api.AllocationKey]bool
}

func newRackWorld(seed uint64) *rackWorld {
	chance := rand.New(rand.NewPCG(seed, 84))
	zone, packing := chance.IntN(2) == 0, chance.IntN(2) == 0
	var options api.Options
	if chance.IntN(2) == 0 { // other nodes suit members better
		options.Best = func(_ api.AllocationKey, nodes iter.Seq2[api.NodeID, int64], most int) (best []api.NodeID) {
			for id := range nodes {
				best = append(best, id)
			}
			chance.Shuffle(len(best), func(i, j int) { best[i], best[j] = best[j], best[i] })
			return best[:min(most, len(best))]
		}
	}
	w := rackWorldOf(chance, options, api.NodeOrder{Packing: packing})
	w.zone = zone
	for range 1 + chance.IntN(6) {
		zone, nodes := chance.IntN(2), make([]int, 1+chance.IntN(3))
		for i := range nodes {
			nodes[i] = 1 + chance.IntN(4)
		}
		w.addRack(zone, nodes...)
	}
	return w
}

// rackWorldOf is one without nodes.
func rackWorldOf(chance *rand.Rand, options api.Options, order api.NodeOrder) *rackWorld {
	options.Kinds, options.ReserveDelay = testKinds(), -1
	w := &rackWorld{chance: chance, now: start, rackOf: map[api.NodeID]int{}, of: map[api.AllocationKey]string{}, runs: map[string]int{}, placed: map[api.AllocationKey]bool{}}
	w.Partition = core.NewPartition(options, api.Config{
		Name: "default", Levels: [][]string{{"zone", "rack"}}, Nodes: order,
		Root: api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{{Name: "default"}}},
	})
	w.Apply(w.now, api.AddApplication{ID: "app"})
	return w
}

// addRack adds nodes of so many cores each in a new rack of a zone.
func (w *rackWorld) addRack(zone int, nodes ...int) {
	rack := len(w.room)
	w.room, w.zoneOf = append(w.room, 0), append(w.zoneOf, zone)
	for _, cores := range nodes {
		id := api.NodeID(fmt.Sprint("n", len(w.rackOf)))
		w.Apply(w.now, api.AddNode{ID: id, Capacity: resources.Amounts{int64(cores)}, Attributes: map[string]string{"zone": fmt.Sprint(zone), "rack": fmt.Sprint(rack)}})
		w.rackOf[id] = rack
		w.room[rack] += cores
	}
}

// ask adds the members of a subgroup.
func (w *rackWorld) ask(subgroup string, size, least int) {
	w.askPart(subgroup, subgroup, "", size, least)
}

// askPart adds the members of a part of a subgroup, which says how many of the parts and of its members start together.
func (w *rackWorld) askPart(subgroup, part, minima string, size, least int) {
	tags := map[string]string{
		api.TagQuorum: "g", api.TagQuorumLeast: fmt.Sprint(least), api.TagQuorumSubgroup: part, api.TagQuorumEach: "rack",
	}
	if minima != "" {
		tags[api.TagQuorumSubgroupLeast] = minima
	}
	if w.zone {
		tags[api.TagQuorumRequire] = "zone"
	}
	for i := range size {
		key := api.AllocationKey(fmt.Sprint(part, "-", i))
		w.of[key] = subgroup
		w.Apply(w.now, api.AddAllocation{Allocation: &api.Allocation{Key: key, Application: "app", Amounts: resources.Amounts{1}, Created: w.now, Tags: tags}})
	}
}

// schedule reports how many were placed, and that each subgroup runs in one rack.
func (w *rackWorld) schedule(t *testing.T, about string) (placed int) {
	events, _ := w.Schedule(w.now)
	w.now = w.now.Add(time.Minute)
	for _, e := range events {
		if e, is := e.(api.Placed); is {
			rack, subgroup := w.rackOf[e.Node], w.of[e.Key]
			if before, is := w.runs[subgroup]; is {
				assert.Equal(t, rack, before, "%s: subgroup %s", about, subgroup)
			}
			w.runs[subgroup], w.placed[e.Key] = rack, true
			w.room[rack]--
			placed++
		}
	}
	assert.NilError(t, w.Verify())
	return placed
}

// runsIn is the zone in which something runs, if the group requires one.
func (w *rackWorld) runsIn() (zone int) {
	zone = -1
	for _, rack := range w.runs {
		if w.zone {
			zone = w.zoneOf[rack]
		}
	}
	return zone
}

// divide tries all ways to give each subgroup a rack: in one zone, or in any if it is negative.
func (w *rackWorld) divide(sizes []int, zone int) bool {
	if w.zone && zone < 0 {
		return w.divide(sizes, 0) || w.divide(sizes, 1)
	}
	if len(sizes) == 0 {
		return true
	}
	return slices.ContainsFunc(seq(len(w.room)), func(rack int) bool {
		if w.room[rack] < sizes[0] || zone >= 0 && w.zoneOf[rack] != zone {
			return false
		}
		w.room[rack] -= sizes[0]
		defer func() { w.room[rack] += sizes[0] }()
		return w.divide(sizes[1:], zone)
	})
}

func seq(n int) (list []int) {
	for i := range n {
		list = append(list, i)
	}
	return list
}
