package core_test

import (
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A hopelessRollout has an agent ask for each of fifty nodes of 16 on which a pod of 6 runs.
type hopelessRollout struct {
	why      string
	agent    api.Allocation // what each asks for
	max      resources.Limits
	disabled bool
	shrinks  bool // the nodes, when victims were chosen
	sticks   bool // what is evicted never ends
	victims  int
	pods     int // of 500 that come later, how many run
}

const hopelessNodes = 50

func (h hopelessRollout) start() *core.Partition {
	root := api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{{Name: "web"}, {Name: "agents", Max: h.max}}}
	config := api.Config{Name: "default", Root: root}
	config.Preemption.Disabled = h.disabled
	p := core.NewPartition(api.Options{Kinds: testKinds()}, config)
	for _, app := range []api.ApplicationID{"web", "agents"} {
		p.Apply(start, api.AddApplication{ID: app, Queue: api.QueuePath("root." + app)})
	}
	for i := range hopelessNodes {
		node := api.NodeID(fmt.Sprintf("n%02d", i))
		p.Apply(start, api.AddNode{ID: node, Capacity: resources.Amounts{16}})
		pod := ask("web", fmt.Sprintf("web-%02d", i), 6)
		pod.Allocation.Node = node
		p.Apply(start, pod)
		agent := h.agent
		agent.Key, agent.Application, agent.Created, agent.Required = api.AllocationKey(fmt.Sprintf("agent-%02d", i)), "agents", start, node
		p.Apply(start, api.AddAllocation{Allocation: &agent})
	}
	return p
}

// until schedules whenever something is due until a time, and returns how many allocations
// were evicted.
func (h hopelessRollout) until(p *core.Partition, from, end time.Time) (victims int) {
	for now := from; !now.After(end); {
		fx, more := p.Schedule(now)
		for _, e := range fx {
			v, is := e.(*api.EvictionRequested)
			if !is {
				continue
			}
			victims++
			if h.shrinks {
				p.Apply(now, api.UpdateNode{ID: v.Node, Capacity: resources.Amounts{10}})
			}
			if !h.sticks {
				p.Apply(now, api.ReleaseAllocation{Application: v.Application, Key: v.Key})
				more = true
			}
		}
		at, due := p.Due()
		switch {
		case more:
		case !due:
			return victims
		default:
			now = at
		}
	}
	return victims
}

// TestHopelessAgentsCloseNoNode rolls agents out that can never run, or of which few can, and a
// minute later 500 pods that fit beside them. A week later all run that have room.
func TestHopelessAgentsCloseNoNode(t *testing.T) {
	for _, h := range []hopelessRollout{
		{why: "too large", agent: api.Allocation{Amounts: resources.Amounts{20}}, pods: 500},
		{why: "preemption is off", agent: api.Allocation{Amounts: resources.Amounts{11}}, disabled: true, pods: 500},
		{why: "less important", agent: api.Allocation{Amounts: resources.Amounts{11}, Priority: -1}, pods: 500},
		{why: "preempts nothing", agent: api.Allocation{Amounts: resources.Amounts{11}, Preemptable: api.Preemptable{Stated: true, AllowSelf: true}}, pods: 500},
		{why: "nodes shrink", agent: api.Allocation{Amounts: resources.Amounts{11}}, shrinks: true, victims: hopelessNodes, pods: 500},
		{why: "victims hang", agent: api.Allocation{Amounts: resources.Amounts{11}}, sticks: true, victims: hopelessNodes, pods: 500},
		{why: "quota for ten", agent: api.Allocation{Amounts: resources.Amounts{11}}, max: resources.Limits{110}, victims: 10, pods: 450},
	} {
		t.Run(h.why, func(t *testing.T) {
			p := h.start()
			soon := start.Add(time.Minute)
			victims := h.until(p, start, soon)
			p.Apply(soon, api.AddApplication{ID: "late", Queue: "root.web"})
			for i := range 500 {
				pod := ask("late", fmt.Sprintf("late-%03d", i), 1)
				pod.Allocation.Created = soon
				p.Apply(soon, pod)
			}
			victims += h.until(p, soon, start.Add(7*24*time.Hour))
			assert.NilError(t, p.Verify())
			ran := 0
			for _, app := range p.View().Applications {
				for _, a := range app.Allocations {
					if a.Amounts[0] == 1 {
						ran++
					}
				}
			}
			assert.Equal(t, ran, h.pods)
			assert.Equal(t, victims, h.victims)
		})
	}
}

// TestHopelessAsksOfOneNode: of equal asks that require one node and fit there in no way, one is
// planned for when the node changes or another comes, however many there are. Where nothing is known
// of what the resource manager calls alike, each is asked about once until the node changes.
func TestHopelessAsksOfOneNode(t *testing.T) {
	const asks = 1000
	for _, refused := range []bool{false, true} {
		asked := 0
		options := api.Options{Kinds: testKinds()}
		if refused {
			options.Feasible = func(api.AllocationKey, api.NodeID, bool) error { asked++; return errTaint }
			options.Simulate = func(api.AllocationKey, api.NodeID, []api.AllocationKey, []api.AllocationKey) error {
				asked++
				return errTaint
			}
		}
		p := core.NewPartition(options, api.Config{Name: "default", Root: api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{{Name: "q"}}}})
		p.Apply(start, api.AddApplication{ID: "a", Queue: "root.q"})
		p.Apply(start, api.AddNode{ID: "n", Capacity: resources.Amounts{16}})
		add := func(key string, cores int64, priority int32, node api.NodeID) {
			a := ask("a", key, cores)
			a.Allocation.Priority, a.Allocation.Node = priority, node
			if node == "" {
				a.Allocation.Required = "n"
			}
			p.Apply(start, a)
		}
		for i := range 16 {
			add(fmt.Sprint("runs-", i), 1, 9, "n")
		}
		for i := range asks {
			add(fmt.Sprint("waits-", i), 2, 0, "")
		}
		now := untilQuiet(t, p, start, time.Second)
		plans, before := p.View().Preempted.Plans, asked
		for i := range 10 {
			add(fmt.Sprint("comes-", i), 2, 0, "")
			now = untilQuiet(t, p, now, 0)
		}
		for i := range 10 {
			if refused {
				break
			}
			p.Apply(now, api.ReleaseAllocation{Application: "a", Key: api.AllocationKey(fmt.Sprint("runs-", i))})
			add(fmt.Sprint("runs-", i), 1, 9, "n")
			now = untilQuiet(t, p, now, 0)
		}
		assert.Assert(t, p.View().Preempted.Plans-plans <= 60, "%d plans", p.View().Preempted.Plans-plans)
		assert.Assert(t, asked-before <= 60, "%d questions", asked-before)
		why := api.NodeFull
		if refused {
			why = api.Infeasible
		}
		waiting := p.View().Applications[0].Asks
		assert.Equal(t, len(waiting), asks+10)
		for _, a := range waiting {
			assert.Equal(t, a.Waiting.Reason, why)
			assert.Equal(t, a.Waiting.Detail, waiting[0].Waiting.Detail)
		}
	}
}

// TestVictimsBesideAPlacement: an agent is placed, and room is made for another on the same node. Where a resource manager
// answers, it hears of the placement first, else both are done in one batch.
func TestVictimsBesideAPlacement(t *testing.T) {
	yes := func(api.AllocationKey, api.NodeID, bool) error { return nil }
	for _, test := range []struct {
		options api.Options
		batches int
	}{
		{api.Options{Kinds: testKinds()}, 1},
		{api.Options{Kinds: testKinds(), Feasible: yes}, 2},
	} {
		preemption := api.PreemptionConfig{RequiredNode: preemptor.DefaultConfig()}
		preemption.RequiredNode.StartDelay = 0
		p := core.NewPartition(test.options, api.Config{
			Name: "default", Root: api.QueueConfig{Name: "root", Queues: []api.QueueConfig{{Name: "q"}}}, Preemption: preemption,
		})
		p.Apply(start, api.AddNode{ID: "n", Capacity: []int64{4}})
		p.Apply(start, api.AddApplication{ID: "a", Queue: "root.q"})
		web, first, second := ask("b", "web", 3), ask("a", "agent-1", 1), ask("a", "agent-2", 2)
		web.Allocation.Node, first.Allocation.Required, second.Allocation.Required = "n", "n", "n"
		p.Apply(start, api.AddApplication{ID: "b", Queue: "root.q"})
		p.Apply(start, web)
		p.Apply(start, first)
		p.Apply(start, second)
		batches, evicted := 0, 0
		for more := true; more; batches++ {
			var fx api.Effects
			fx, more = p.Schedule(start)
			for _, e := range fx {
				if _, is := e.(*api.EvictionRequested); is {
					evicted++
				}
			}
		}
		assert.Equal(t, evicted, 1)
		assert.Equal(t, batches, test.batches)
	}
}
