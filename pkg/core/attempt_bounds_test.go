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
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// A crowd is a partition with very many candidates or nodes, of which few are of use.
type crowd struct {
	p       *core.Partition
	budgets []api.DisruptionBudget
}

// newCrowd has queues a, b and c below p, with limits of p and guarantees of a and b. If a
// node is given, the resource manager refuses all others.
func newCrowd(p resources.Limits, a, b resources.Amounts, budgets preemptor.BudgetPolicy, only api.NodeID) *crowd {
	c := &crowd{}
	options := api.Options{
		Kinds: testKinds(), ReserveDelay: -1,
		Budgets: func([]api.AllocationKey) []api.DisruptionBudget { return slices.Clone(c.budgets) },
	}
	if only != "" {
		options.Simulate = func(_ api.AllocationKey, n api.NodeID, _, _ []api.AllocationKey) error {
			if n != only {
				return errors.New("no such label")
			}
			return nil
		}
	}
	root := api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{{Name: "p", Max: p, Queues: []api.QueueConfig{
		{Name: "a", Guaranteed: a, Properties: api.QueueProperties{PreemptionDelay: 30 * time.Second}}, {Name: "b", Guaranteed: b}, {Name: "c"},
	}}}}
	config := api.Config{Name: "default", Root: root, Preemption: api.PreemptionConfig{Budgets: budgets}}
	c.p = core.NewPartition(options, config)
	for _, name := range []string{"a", "b", "c"} {
		c.p.Apply(start, api.AddApplication{ID: api.ApplicationID(name), Queue: api.QueuePath("root.p." + name)})
	}
	return c
}

func (c *crowd) node(id string, amounts ...int64) {
	c.p.Apply(start, api.AddNode{ID: api.NodeID(id), Capacity: amounts})
}

// runs adds an allocation; those with larger numbers are younger.
func (c *crowd) runs(app api.ApplicationID, key, node string, age, priority int, amounts ...int64) *api.Allocation {
	a := ask(app, key, amounts...)
	a.Allocation.Node, a.Allocation.Priority = api.NodeID(node), int32(priority)
	a.Allocation.Created = start.Add(-time.Duration(age) * time.Second)
	c.p.Apply(start, a)
	return a.Allocation
}

// victims are those of an ask of priority 10.
func (c *crowd) victims(t *testing.T, amounts ...int64) []string {
	t.Helper()
	return c.victimsBy(t, preemptor.Priority, amounts...)
}

// victimsBy are those of an ask that preempts by a trigger: of priority 10 at once, or of
// priority 0 after a minute, by the guarantee of its queue.
func (c *crowd) victimsBy(t *testing.T, by preemptor.Trigger, amounts ...int64) []string {
	t.Helper()
	wants := ask("a", "wants", amounts...)
	if by == preemptor.Priority {
		wants.Allocation.Priority = 10
	}
	wants.Allocation.Created = start
	c.p.Apply(start, wants)
	keys := c.evicted(start)
	if by == preemptor.Guarantee {
		assert.Equal(t, len(keys), 0, "too early: %v", keys)
		keys = c.evicted(start.Add(time.Minute))
	}
	assert.NilError(t, c.p.Verify())
	return keys
}

// evicted schedules until nothing more is to be done now, and is what is evicted.
func (c *crowd) evicted(now time.Time) (keys []string) {
	for more := true; more; {
		var fx api.Effects
		fx, more = c.p.Schedule(now)
		for _, e := range fx {
			if v, ok := e.(*api.EvictionRequested); ok {
				keys = append(keys, string(v.Allocation.Key))
			}
		}
	}
	return keys
}

// However many candidates a guarantee protects, the one that may go does.
func TestManyProtectedCandidates(t *testing.T) {
	const many = 640
	for _, by := range []preemptor.Trigger{preemptor.Priority, preemptor.Guarantee} {
		c := newCrowd(resources.Limits{many + 5}, resources.Amounts{3}, resources.Amounts{many}, 0, "")
		c.node("n", 10_000, 10_000)
		for i := range many {
			c.runs("b", fmt.Sprintf("b-%03d", i), "n", i%10, 0, 1, 1)
		}
		priority := 1 // a guarantee takes nothing that is more important than the ask
		if by == preemptor.Guarantee {
			priority = 0
		}
		for i := range 5 {
			c.runs("c", fmt.Sprintf("c-%d", i), "n", i, priority, 1, 1)
		}
		assert.DeepEqual(t, c.victimsBy(t, by, 1, 1), []string{"c-0"})
	}
}

// However many candidates a budget protects, one that it does not goes.
func TestManyBudgetedCandidates(t *testing.T) {
	const many = 640
	for _, policy := range []preemptor.BudgetPolicy{preemptor.PreferBudgets, preemptor.HardBudgets} {
		c := newCrowd(resources.Limits{many + 1}, nil, nil, policy, "")
		c.node("n", 10_000, 10_000)
		c.budgets = []api.DisruptionBudget{{Name: "b"}}
		for i := range many {
			c.budgets[0].Allocations = append(c.budgets[0].Allocations, c.runs("b", fmt.Sprintf("b-%03d", i), "n", 0, 0, 1, 1).Key)
		}
		c.runs("c", "c", "n", 100, 0, 1, 1)
		assert.DeepEqual(t, c.victims(t, 1, 1), []string{"c"})
	}
}

// However many candidates asked not to be preempted, one that did not goes.
func TestManyOptedOutCandidates(t *testing.T) {
	const many = 640
	for _, by := range []preemptor.Trigger{preemptor.Priority, preemptor.Guarantee} {
		c := newCrowd(resources.Limits{many + 1}, resources.Amounts{3}, nil, 0, "")
		c.node("n", 10_000, 10_000)
		for i := range many {
			out := ask("b", fmt.Sprintf("b-%03d", i), 1, 1)
			out.Allocation.Node, out.Allocation.Preemptable = "n", api.Preemptable{Stated: true}
			c.p.Apply(start, out)
		}
		c.runs("c", "c", "n", 100, 0, 1, 1)
		assert.DeepEqual(t, c.victimsBy(t, by, 1, 1), []string{"c"})
	}
}

// However many nodes are cheaper and do not go together with the quota, the one that does
// is found.
func TestManyNodesThatFail(t *testing.T) {
	const many = 640
	c := newCrowd(resources.Limits{resources.Unlimited, 4}, nil, nil, preemptor.HardBudgets, "")
	c.budgets = []api.DisruptionBudget{{Name: "b", Allowed: 1, Allocations: []api.AllocationKey{"good"}}}
	for i := range many {
		node := fmt.Sprintf("n%03d", i)
		c.node(node, 2, 100)
		c.budgets[0].Allocations = append(c.budgets[0].Allocations, c.runs("b", "b-"+node, node, 0, 0, 2).Key)
	}
	c.node("z", 2, 100)
	c.runs("b", "good", "z", 0, 5, 2, 4)
	assert.DeepEqual(t, c.victims(t, 2, 4), []string{"good"})
}

// However many nodes the resource manager refuses, the one that it takes is found.
func TestManyNodesThatAreRefused(t *testing.T) {
	const asked, many = 400, 4100 // ten times what is asked in one batch
	c := newCrowd(nil, nil, nil, 0, "z")
	c.p.LimitBatches(asked)
	for i := range many {
		node := fmt.Sprintf("n%05d", i)
		c.node(node, 2, 100)
		c.runs("b", "b-"+node, node, 0, 0, 2)
	}
	c.node("z", 2, 100)
	c.runs("b", "good", "z", 0, 5, 2)
	assert.DeepEqual(t, c.victims(t, 2), []string{"good"})
}

// Of many nodes that cost as much at first sight, the one is found where one victim frees
// both room and quota.
func TestManyNodesOfEqualCost(t *testing.T) {
	c := newCrowd(resources.Limits{resources.Unlimited, 8}, nil, nil, 0, "")
	for i := range 160 {
		node := fmt.Sprintf("n%03d", i)
		c.node(node, 2, 100)
		c.runs("b", "b-"+node, node, 0, 0, 2)
	}
	c.node("m", 1, 100)
	c.runs("b", "m", "m", 0, 0, 1, 4)
	c.node("z", 2, 100)
	c.runs("b", "good", "z", 0, 0, 2, 4)
	assert.DeepEqual(t, c.victims(t, 2, 4), []string{"good"})
}
