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
	"github.com/narwhal-scheduler/narwhal/pkg/core/guard"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/seeds"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// oneQueue is an empty partition with the leaf queue q.
func oneQueue(options api.Options) *core.Partition {
	return core.NewPartition(options, api.Config{Name: "default", Root: api.QueueConfig{Name: "root", Queues: []api.QueueConfig{{Name: "q"}}}})
}

// Ten times as many classes fail as costs are kept for. Each is tried once, what is kept
// stays bounded, and the class that a node helps has room made.
func TestClassesBeyondKeysMax(t *testing.T) {
	const keys = core.KeysMax / 8
	const classes = 10 * keys
	v := failedLoad{nodes: 2, pods: 4}
	p := v.build()
	p.LimitCosts(keys, core.HeapsMax)
	for i := range classes {
		a := ask("a", fmt.Sprintf("large-%05d", i), 15_000, int64(1<<20+i), 1)
		a.Allocation.Priority = 2
		p.Apply(start, a)
	}
	for more := true; more; {
		_, more = p.Schedule(start)
		assert.Assert(t, p.KnownCosts() <= keys, "%d", p.KnownCosts())
	}
	looked := p.View().Work.NodeCosts
	assert.Assert(t, looked >= 2*classes && looked <= 4*classes, "%d", looked)
	assert.Equal(t, p.View().Preempted.Nominations, uint64(0))

	// The new node has a victim for one of them at a time.
	p.Apply(start, api.AddNode{ID: "z", Capacity: []int64{15_000, 1 << 40, 110}})
	low := ask("b", "low", 15_000, 1, 1)
	low.Allocation.Node = "z"
	p.Apply(start, low)
	now, nominated := start, false
	for i := 0; i < 3*classes/64 && !nominated; i++ { // 64 are tried again in a second
		now = now.Add(time.Second)
		for more := true; more; {
			_, more = p.Schedule(now)
		}
		nominated = p.View().Preempted.Nominations > 0
	}
	assert.Assert(t, nominated)
	assert.NilError(t, p.Verify())
}

// No decision depends on how much of HeapsMax and KeysMax there is: costs that
// were dropped are worked out again. What is told of failed attempts is left out: it counts the
// nodes of which the costs are kept, and names one that lacks little, which may be another.
func TestDecisionsDoNotDependOnCostLimits(t *testing.T) {
	for seed := range seeds.Of(t, 100) {
		tell := func(keys, nodes int) string {
			var b strings.Builder
			h := newHistory(rand.New(rand.NewPCG(seed, 0)))
			h.p.LimitCosts(keys, nodes)
			for range 160 {
				if fx, is := h.step().(api.Effects); is {
					for _, e := range fx {
						switch e.(type) {
						case *api.AskReport, *api.Unschedulable:
						default:
							fmt.Fprintln(&b, eventText(e))
						}
					}
				}
			}
			return b.String()
		}
		want := tell(core.KeysMax, core.HeapsMax)
		assert.Equal(t, tell(1, 1), want, "seed %d", seed)
		assert.Equal(t, tell(2, 10), want, "seed %d", seed)
	}
}

// Ten times as many nodes as are planned for in full cost more than they seem: the resource
// manager wants further victims. One of them is taken, and the questions are few.
func TestNodesBeyondCandidateNodesMax(t *testing.T) {
	const nodes = 10 * core.CandidateNodesMax
	asked := 0
	options := api.Options{Kinds: testKinds(), ReserveDelay: -1}
	options.Simulate = func(_ api.AllocationKey, n api.NodeID, _, remove []api.AllocationKey) error {
		asked++
		if slices.Contains(remove, api.AllocationKey("conflict-"+string(n))) {
			return nil
		}
		return errors.New("a conflict")
	}
	p := oneQueue(options)
	p.Apply(start, api.AddApplication{ID: "a", Queue: "root.q"})
	for i := range nodes {
		id := api.NodeID(fmt.Sprintf("n%03d", i))
		p.Apply(start, api.AddNode{ID: id, Capacity: []int64{10, 10, 10}})
		for j, key := range []string{"conflict-", "other-"} {
			runs := ask("a", key+string(id), 5, 5, 1)
			runs.Allocation.Node, runs.Allocation.Priority = id, int32(5-j)
			p.Apply(start, runs)
		}
	}
	wants := ask("a", "wants", 5, 5, 1)
	wants.Allocation.Priority = 10
	p.Apply(start, wants)
	fx, _ := p.Schedule(start)
	var victims []string
	for _, e := range fx {
		if v, ok := e.(*api.EvictionRequested); ok {
			victims = append(victims, string(v.Allocation.Key))
		}
	}
	assert.DeepEqual(t, victims, []string{"conflict-n000"})
	assert.Assert(t, asked <= 5*core.CandidateNodesMax, "%d", asked)
}

// Ten times as many applications as are marked have an ask of one class. Room is made for
// them one after the other, in order.
func TestGroupsBeyondMarkedMax(t *testing.T) {
	const applications = 10 * core.MarkedMax
	p := core.NewPartition(api.Options{Kinds: testKinds(), ReserveDelay: -1},
		api.Config{Name: "default", Root: api.QueueConfig{Name: "root", Queues: []api.QueueConfig{{Name: "low"}, {Name: "high"}}}})
	p.Apply(start, api.AddApplication{ID: "low", Queue: "root.low"})
	p.Apply(start, api.AddNode{ID: "n", Capacity: []int64{applications, applications, applications}})
	for i := range applications {
		runs := ask("low", fmt.Sprintf("low-%03d", i), 1, 1, 1)
		runs.Allocation.Node = "n"
		p.Apply(start, runs)
	}
	for i := range applications {
		id := api.ApplicationID(fmt.Sprintf("app-%03d", (i*7)%applications))
		p.Apply(start, api.AddApplication{ID: id, Queue: "root.high"})
		a := ask(id, "ask-"+string(id), 1, 1, 1)
		a.Allocation.Priority = 10
		p.Apply(start, a)
	}
	next := 0
	for more := true; more; {
		var fx api.Effects
		fx, more = p.Schedule(start)
		for _, e := range fx {
			if n, ok := e.(*api.Claimed); ok && n.Plan != nil {
				assert.Equal(t, string(n.Allocation.Key), fmt.Sprintf("ask-app-%03d", next))
				next++
			}
		}
	}
	assert.Equal(t, next, applications)
	assert.NilError(t, p.Verify())
}

// Many more victims hang on a node than its pause is doubled for. One after the other
// is tried, with pauses that end.
func TestVictimsBeyondPauseMax(t *testing.T) {
	const pods = 80
	p := oneQueue(api.Options{Kinds: testKinds(), ReserveDelay: -1})
	p.Apply(start, api.AddApplication{ID: "a", Queue: "root.q"})
	p.Apply(start, api.AddNode{ID: "n", Capacity: []int64{pods, pods, pods}})
	for i := range pods {
		runs := ask("a", fmt.Sprintf("low-%03d", i), 1, 1, 1)
		runs.Allocation.Node = "n"
		p.Apply(start, runs)
	}
	wants := ask("a", "wants", 1, 1, 1)
	wants.Allocation.Priority = 10
	p.Apply(start, wants)
	longest := guard.PauseMax
	var told []time.Time
	for now := start; len(told) < pods && now.Before(start.Add(pods*2*longest)); {
		fx, more := p.Schedule(now)
		for _, e := range fx {
			if _, ok := e.(*api.EvictionRequested); ok {
				told = append(told, now)
			}
		}
		if at, due := p.Due(); !more && due {
			now = at
		} else if !more {
			break
		}
	}
	assert.Equal(t, len(told), pods)
	for i := 1; i < len(told); i++ {
		pause := told[i].Sub(told[i-1])
		assert.Assert(t, pause >= 2*api.DefaultVictimTimeout && pause <= api.DefaultVictimTimeout+longest, "%d: %v", i, pause)
	}
}

// An agent cannot be bound for ten times as long as the longest pause: once the pauses are
// that long, one allocation ends for it in each, and no more.
func TestBindingFailsBeyondPauseMax(t *testing.T) {
	p := oneQueue(api.Options{Kinds: testKinds(), ReserveDelay: -1})
	p.Apply(start, api.AddNode{ID: "n", Capacity: []int64{1, 1, 1}})
	p.Apply(start, api.AddApplication{ID: "a", Queue: "root.q"})
	fill := func(now time.Time, i int) {
		runs := ask("a", fmt.Sprint("low-", i), 1, 1, 1)
		runs.Allocation.Node, runs.Allocation.Created = "n", now
		p.Apply(now, runs)
	}
	fill(start, 0)
	agent := ask("a", "agent", 1, 1, 1)
	agent.Allocation.Required, agent.Allocation.Priority = "n", 10
	p.Apply(start, agent)
	var told []time.Time
	for now, end := start, start.Add(11*guard.PauseMax); now.Before(end); {
		fx, more := p.Schedule(now)
		for _, e := range fx {
			switch e := e.(type) {
			case *api.EvictionRequested:
				told = append(told, now)
				p.Apply(now, api.ReleaseAllocation{Application: "a", Key: e.Allocation.Key, Termination: 0})
				more = true
			case api.Placed:
				p.Apply(now, api.ReleaseAllocation{Application: "a", Key: "agent", Termination: api.SchedulingFailed})
				fill(now, len(told))
				more = true
			}
		}
		at, due := p.Due()
		switch {
		case more:
		case due:
			now = at
		default:
			now = end
		}
	}
	late := 0
	for i := 1; i < len(told); i++ {
		pause := told[i].Sub(told[i-1])
		assert.Assert(t, pause <= guard.PauseMax+time.Hour, "%v", pause)
		if pause >= guard.PauseMax {
			late++
		}
	}
	assert.Assert(t, late >= 9 && late <= 11 && len(told)-late <= 13, "%d, %d of them late", len(told), late)
}

// A cluster has ten times as many nodes as one batch evaluates. The attempt goes on in the
// next batches, and finds the one node where room can be made.
func TestNodesBeyondEvaluationsMax(t *testing.T) {
	const nodes = 10 * core.EvaluationsMax
	c := newCrowd(resources.Limits{resources.Unlimited, nodes * 100}, nil, nil, 0, "")
	for i := range nodes {
		node := fmt.Sprintf("n%05d", i)
		c.node(node, 3, 100)
		c.runs("b", "b-"+node, node, 0, 0, 1)
		c.runs("c", "c-"+node, node, 0, 20, 2)
	}
	c.node("z", 3, 100)
	c.runs("b", "good", "z", 0, 5, 2)
	c.runs("c", "c-z", "z", 0, 20, 1)
	assert.DeepEqual(t, c.victims(t, 2), []string{"good"})
}

// Ten times as many classes lose their asks as are remembered without any. Those that are
// forgotten do not come back by halves: the same asks wait again, once each, and are placed.
func TestClassesBeyondIdleMax(t *testing.T) {
	const classes = 10 * core.IdleMax
	p := oneQueue(api.Options{Kinds: testKinds(), ReserveDelay: -1})
	p.Apply(start, api.AddApplication{ID: "a", Queue: "root.q"})
	arrive := func(i int) { p.Apply(start, ask("a", fmt.Sprintf("ask-%04d", i), int64(i+1), 1, 1)) }
	leave := func(i int) {
		p.Apply(start, api.ReleaseAllocation{Application: "a", Key: api.AllocationKey(fmt.Sprintf("ask-%04d", i))})
	}
	for i := range classes { // one after the other
		arrive(i)
		leave(i)
		assert.Assert(t, p.KnownClasses() <= 2*core.IdleMax+1, "%d", p.KnownClasses())
	}
	for i := range classes { // all at once, which fit nowhere
		arrive(i)
	}
	for more := true; more; {
		_, more = p.Schedule(start)
	}
	for i := range classes {
		leave(i)
		waiting := classes - 1 - i
		known := p.KnownClasses()
		assert.Assert(t, known >= waiting && known <= 2*(waiting+core.IdleMax), "%d wait and %d are known", waiting, known)
	}
	for i := range classes {
		arrive(i)
	}
	assert.NilError(t, p.Verify())
	p.Apply(start, api.AddNode{ID: "n", Capacity: []int64{classes * (classes + 1) / 2, classes, classes}})
	placed := 0
	for more := true; more; {
		var fx api.Effects
		fx, more = p.Schedule(start)
		placed += placements(fx)
	}
	assert.Equal(t, placed, classes)
	assert.NilError(t, p.Verify())
}

// New room appears on ten times as many nodes as entries are kept for, while an ask waits that
// fits none of them. It is used up, appears again, and is used while some of the nodes go.
func TestNodesBeyondSparesMax(t *testing.T) {
	const nodes = 10 * core.SparesMax
	p := oneQueue(api.Options{Kinds: testKinds(), ReserveDelay: -1})
	p.Apply(start, api.AddApplication{ID: "a", Queue: "root.q"})
	node := func(i int) api.NodeID { return api.NodeID(fmt.Sprintf("n%04d", i)) }
	schedule := func() (placed []api.AllocationKey) {
		for more := true; more; {
			var fx api.Effects
			fx, more = p.Schedule(start)
			for _, e := range fx {
				if e, ok := e.(api.Placed); ok {
					placed = append(placed, e.Allocation.Key)
				}
			}
		}
		assert.Assert(t, p.Spares() <= core.SparesMax, "%d", p.Spares())
		assert.NilError(t, p.Verify())
		return placed
	}
	p.Apply(start, ask("a", "large", 2, 1, 1))
	assert.Equal(t, len(schedule()), 0)
	for i := range nodes {
		p.Apply(start, api.AddNode{ID: node(i), Capacity: []int64{1, 1, 1}})
	}
	for round := range 3 {
		for i := range nodes {
			p.Apply(start, ask("a", fmt.Sprintf("ask-%d-%04d", round, i), 1, 1, 1))
		}
		placed := schedule()
		assert.Equal(t, len(placed), nodes, "round %d", round)
		assert.Equal(t, p.Spares(), core.SparesMax)
		for _, key := range placed {
			p.Apply(start, api.ReleaseAllocation{Application: "a", Key: key})
		}
	}
	for i := range nodes { // each other node goes while its room is new
		if i%2 == 0 {
			p.Apply(start, api.RemoveNode{ID: node(i)})
		}
	}
	for i := range nodes {
		p.Apply(start, ask("a", fmt.Sprintf("last-%04d", i), 1, 1, 1))
	}
	assert.Equal(t, len(schedule()), nodes/2)
}
