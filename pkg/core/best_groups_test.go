package core_test

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/seeds"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A choosyWorld is a small full cluster in which a group waits until enough has ended. The resource manager refuses some
// nodes, and that two of a class run on one.
type choosyWorld struct {
	options  api.Options
	order    api.NodeOrder
	commands []api.Command
	runs     []api.AllocationKey // that end, one after the other
	least    int                 // members that must start together
	whole    bool                // there are no more

	refused map[string]bool // a class on a node
	apart   map[string]bool // classes
}

// classOf is what makes asks alike there: the last letter of their keys.
func classOf(key api.AllocationKey) string { return string(key[len(key)-1:]) }

var errRefused = errors.New("refused")

func newChoosyWorld(c chance) *choosyWorld {
	w := &choosyWorld{refused: map[string]bool{}, apart: map[string]bool{}, order: api.NodeOrder{Packing: c.IntN(2) == 0}}
	w.options = api.Options{
		Kinds: testKinds(), BatchMax: 1 + c.IntN(8), ReserveDelay: time.Duration(c.IntN(2) - 1),
		Constraints: func(key api.AllocationKey) string { return classOf(key) },
	}
	if c.IntN(4) > 0 {
		w.options.Feasible, w.options.Simulate = w.feasible, w.simulate
	}
	w.commands = append(w.commands, api.AddApplication{ID: "a", Queue: "root.q"})
	for i := range 3 + c.IntN(5) {
		id := api.NodeID(fmt.Sprint("n", i))
		w.commands = append(w.commands, api.AddNode{ID: id, Capacity: resources.Amounts{10, 100}})
		for _, size := range []int64{4, 3, 3} {
			runs := ask("a", fmt.Sprint("runs", len(w.runs)), size)
			runs.Allocation.Node = id
			w.commands = append(w.commands, runs)
			w.runs = append(w.runs, runs.Allocation.Key)
		}
		for _, class := range []string{"x", "y"} {
			w.refused[class+string(id)] = c.IntN(4) == 0
		}
	}
	for i := range w.runs {
		j := c.IntN(i + 1)
		w.runs[i], w.runs[j] = w.runs[j], w.runs[i]
	}
	w.apart["x"], w.apart["y"] = c.IntN(3) == 0, c.IntN(3) == 0
	count := 1 + c.IntN(9)
	w.least = count - c.IntN(min(count, 3))
	w.whole = w.least == count
	sizes := map[string]int64{"x": int64(1 + c.IntN(3)), "y": int64(1 + c.IntN(4))}
	for i := range count {
		class := []string{"x", "y"}[c.IntN(2)]
		member := ask("a", fmt.Sprint("member-", i, class), sizes[class])
		member.Allocation.Tags = quorumTags("g", w.least)
		w.commands = append(w.commands, member)
	}
	return w
}

func (w *choosyWorld) feasible(key api.AllocationKey, n api.NodeID, _ bool) error {
	if w.refused[classOf(key)+string(n)] {
		return errRefused
	}
	return nil
}

func (w *choosyWorld) simulate(key api.AllocationKey, n api.NodeID, add, _ []api.AllocationKey) error {
	for _, other := range add {
		if w.apart[classOf(key)] && classOf(other) == classOf(key) {
			return errRefused
		}
	}
	return w.feasible(key, n, true)
}

// play says when the group starts, and where its members run then. Nothing is there if it never does.
func (w *choosyWorld) play(t *testing.T, options api.Options) (round int, on map[api.AllocationKey]api.NodeID) {
	p := core.NewPartition(options, api.Config{
		Name: "default", Nodes: w.order, Root: api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{{Name: "q"}}},
	})
	now := start
	for _, c := range w.commands {
		p.Apply(now, c)
	}
	on = map[api.AllocationKey]api.NodeID{}
	for round = range w.runs {
		p.Apply(now, api.ReleaseAllocation{Application: "a", Key: w.runs[round]})
		for more := true; more; {
			var fx api.Effects
			fx, more = p.Schedule(now)
			for _, e := range fx {
				if placed, is := e.(api.Placed); is {
					on[placed.Allocation.Key] = placed.Node
				}
			}
			assert.NilError(t, p.Verify())
		}
		if len(on) > 0 {
			return round, on
		}
		now = now.Add(40 * time.Second)
	}
	return round, on
}

// Whatever the resource manager says suits the members of a group best, the group starts when it starts without that, all of
// its members may run where they are, and it is asked once for each.
func TestAGroupStartsWhateverSuitsIt(t *testing.T) {
	started, moved := 0, 0
	for seed := range seeds.Of(t, 2500) {
		w := newChoosyWorld(rand.New(rand.NewPCG(seed, 93)))
		round, plain := w.play(t, w.options)
		chooses, asked := w.options, 0
		random := rand.New(rand.NewPCG(seed, 94))
		chooses.Best = func(_ api.AllocationKey, nodes iter.Seq2[api.NodeID, int64], most int) []api.NodeID {
			asked++
			best := []api.NodeID{"unknown", "n0"}
			for n := range nodes {
				best = append(best, n)
			}
			random.Shuffle(len(best), func(i, j int) { best[i], best[j] = best[j], best[i] })
			return best[:min(most, len(best))]
		}
		chosen, on := w.play(t, chooses)
		assert.Equal(t, chosen, round, "seed %d", seed)
		if len(plain) == 0 {
			assert.Equal(t, len(on), 0, "seed %d", seed)
			continue
		}
		started++
		assert.Assert(t, len(on) >= w.least, "seed %d: %v", seed, on)
		assert.Assert(t, !w.whole || asked <= len(on), "seed %d: %d questions for %d members", seed, asked, len(on))
		if !maps.Equal(on, plain) {
			moved++
		}
		w.checkAllowed(t, seed, on)
	}
	assert.Assert(t, started > 250 && moved > started/2, "%d started, %d of them elsewhere", started, moved)
}

// checkAllowed sees that the resource manager allows each member where it is, beside the others.
func (w *choosyWorld) checkAllowed(t *testing.T, seed uint64, on map[api.AllocationKey]api.NodeID) {
	t.Helper()
	if w.options.Feasible == nil || !w.whole { // what came after the start is asked about by itself
		return
	}
	for key, n := range on {
		var beside []api.AllocationKey
		for other, m := range on {
			if other != key && m == n {
				beside = append(beside, other)
			}
		}
		assert.NilError(t, w.simulate(key, n, beside, nil), "seed %d: %s on %s beside %v", seed, key, n, beside)
	}
}

// Of a group of two sizes, each member goes where the fewest are so far in its zone, as a resource manager says that spreads
// them, although the order of nodes would fill one zone.
func TestMembersAreSpread(t *testing.T) {
	zone := map[api.NodeID]string{"n0": "a", "n1": "a", "n2": "a", "n3": "b", "n4": "b", "n5": "c"}
	var there map[string]int
	options := api.Options{
		Kinds: testKinds(), ReserveDelay: -1,
		Constraints: func(key api.AllocationKey) string { return classOf(key) },
		Tied: func(_ api.AllocationKey, placed api.NodeID) []string {
			there[zone[placed]]++
			return nil
		},
		Best: func(_ api.AllocationKey, nodes iter.Seq2[api.NodeID, int64], most int) (best []api.NodeID) {
			for n := range nodes {
				best = append(best, n)
			}
			slices.SortStableFunc(best, func(a, b api.NodeID) int { return there[zone[a]] - there[zone[b]] })
			return best[:min(most, len(best))]
		},
	}
	for _, packing := range []bool{false, true} {
		there = map[string]int{}
		p := core.NewPartition(options, api.Config{
			Name: "default", Nodes: api.NodeOrder{Packing: packing}, Root: api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{{Name: "q"}}},
		})
		p.Apply(start, api.AddApplication{ID: "a", Queue: "root.q"})
		for i := range 6 {
			p.Apply(start, api.AddNode{ID: api.NodeID(fmt.Sprint("n", i)), Capacity: resources.Amounts{10, 100}})
		}
		for i := range 6 {
			member := ask("a", fmt.Sprint("member-", i, []string{"x", "y"}[i%2]), int64(1+i%2))
			member.Allocation.Tags = quorumTags("g", 6)
			p.Apply(start, member)
		}
		schedule(p, start)
		assert.NilError(t, p.Verify())
		assert.DeepEqual(t, there, map[string]int{"a": 2, "b": 2, "c": 2})
	}
}

// groupChooser is a partition of two nodes of 10, with a resource manager that has a favourite node for each class.
type groupChooser struct {
	p     *core.Partition
	shown []string // with each question
}

// Each allocation that is placed has ties to the classes named.
func newGroupChooser(favourites map[string]api.NodeID, tied ...string) *groupChooser {
	c := &groupChooser{}
	options := api.Options{
		Kinds: testKinds(), Constraints: func(key api.AllocationKey) string { return classOf(key) },
		Tied: func(api.AllocationKey, api.NodeID) []string { return tied },
		Best: func(key api.AllocationKey, nodes iter.Seq2[api.NodeID, int64], _ int) []api.NodeID {
			shown := string(key) + ":"
			for n, points := range nodes {
				shown += fmt.Sprintf(" %s=%d", n, points)
			}
			c.shown = append(c.shown, shown)
			return []api.NodeID{favourites[classOf(key)]}
		},
	}
	c.p = core.NewPartition(options, leaves("q"))
	c.p.Apply(start, api.AddApplication{ID: "a", Queue: "root.q"})
	for _, id := range []api.NodeID{"n0", "n1"} {
		c.p.Apply(start, api.AddNode{ID: id, Capacity: resources.Amounts{10}})
	}
	return c
}

// group adds a group of asks that are written as "key=amount", and says where its members are placed.
func (c *groupChooser) group(t *testing.T, members ...string) string {
	t.Helper()
	for _, member := range members {
		key, amount, _ := strings.Cut(member, "=")
		units, err := strconv.ParseInt(amount, 10, 64)
		assert.NilError(t, err)
		add := ask("a", key, units)
		add.Allocation.Tags = quorumTags("g", len(members))
		c.p.Apply(start, add)
	}
	return c.schedule(t, start)
}

func (c *groupChooser) schedule(t *testing.T, now time.Time) string {
	t.Helper()
	fx, _ := c.p.Schedule(now)
	var placed []string
	for _, e := range fx {
		if e, is := e.(api.Placed); is {
			placed = append(placed, fmt.Sprintf("%s on %s", e.Allocation.Key, e.Node))
		}
	}
	assert.NilError(t, c.p.Verify())
	return strings.Join(placed, ", ")
}

// Each member is shown the nodes as they are when the members before it have been placed, and what these left counts.
func TestMembersAreShownWhatIsLeft(t *testing.T) {
	c := newGroupChooser(map[string]api.NodeID{"x": "n0"})
	assert.Equal(t, c.group(t, "1x=5", "2x=5"), "1x on n0, 2x on n0")
	assert.DeepEqual(t, c.shown, []string{"1x: n0=100 n1=100", "2x: n1=100 n0=50"})

	// One that was placed where it was planned does not count twice.
	c = newGroupChooser(map[string]api.NodeID{"x": "n0", "y": "n0"})
	assert.Equal(t, c.group(t, "1x=3", "2x=3", "3y=4"), "3y on n0, 1x on n0, 2x on n0")

	// One that has gone to another node leaves its place.
	c = newGroupChooser(map[string]api.NodeID{"x": "n0", "y": "n0", "z": "n1"})
	assert.Equal(t, c.group(t, "1x=3", "2y=4", "3z=5"), "3z on n1, 2y on n0, 1x on n0")
}

// A node where something of the group cannot do without its place is not shown to another one.
func TestMembersAreNotShownWhatOthersNeed(t *testing.T) {
	c := newGroupChooser(map[string]api.NodeID{"y": "n1"})
	assert.Equal(t, c.group(t, "1x=6", "2y=7"), "2y on n0, 1x on n1")
	assert.DeepEqual(t, c.shown, []string{"2y: n0=100", "1x: n1=100"})
}

// Members that have ties to others stay where they were planned, or with others of their class: the first of a class, of which nothing is
// known yet, does not leave those planned beside it.
func TestMembersWithTiesStay(t *testing.T) {
	favourites := map[string]api.NodeID{"x": "n1"}
	members := []string{"1x=3", "2x=3", "3x=3"} // planned on n0, n1 and n0
	assert.Equal(t, newGroupChooser(favourites).group(t, members...), "1x on n1, 2x on n1, 3x on n1")
	assert.Equal(t, newGroupChooser(favourites, "x").group(t, members...), "1x on n1, 2x on n0, 3x on n0")
}

// The room that was kept for a group is shown to its members.
func TestMembersAreShownTheRoomOfTheirGroup(t *testing.T) {
	c := newGroupChooser(map[string]api.NodeID{"x": "n1"})
	for _, n := range []api.NodeID{"n0", "n1"} {
		runs := ask("a", "on "+string(n), 10)
		runs.Allocation.Node = n
		c.p.Apply(start, runs)
	}
	assert.Equal(t, c.group(t, "1x=10", "2x=10"), "")
	now := start.Add(2 * time.Minute)
	assert.Equal(t, c.schedule(t, now), "")
	for _, n := range []string{"n0", "n1"} {
		c.p.Apply(now, api.ReleaseAllocation{Application: "a", Key: api.AllocationKey("on " + n)})
	}
	assert.Equal(t, c.schedule(t, now.Add(2*time.Second)), "1x on n1, 2x on n0")
	assert.DeepEqual(t, c.shown, []string{"1x: n0=100 n1=100", "2x: n0=100"})
}
