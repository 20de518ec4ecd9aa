package core_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/seeds"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// randomBudgets are two budgets for some of the allocations of a small world.
func randomBudgets(c chance) []api.DisruptionBudget {
	budgets := []api.DisruptionBudget{{Name: "x", Allowed: c.IntN(3)}, {Name: "y", Allowed: c.IntN(2)}}
	for i := range 6 {
		for b := range budgets {
			if c.IntN(2) == 0 {
				budgets[b].Allocations = append(budgets[b].Allocations, api.AllocationKey(fmt.Sprint("k", i)))
			}
		}
	}
	return budgets
}

// violations is how many of the victims exceed a budget, the least important
// counted first.
func (o oracle) violations(gone []*api.Allocation, budgets []api.DisruptionBudget) (count int) {
	gone = slices.Clone(gone)
	slices.SortFunc(gone, func(a, b *api.Allocation) int { return o.importance(b, a) })
	left := make([]int, len(budgets))
	for b := range budgets {
		left[b] = budgets[b].Allowed
	}
	for _, a := range gone {
		violates := false
		for b := range budgets {
			if slices.Contains(budgets[b].Allocations, a.Key) {
				violates = violates || left[b] <= 0
				left[b]--
			}
		}
		if violates {
			count++
		}
	}
	return count
}

// suffices reports whether the victims make room on a node.
func (o oracle) suffices(n *api.NodeView, gone []*api.Allocation) bool {
	var sum resources.Amounts
	for _, a := range gone {
		sum.Add(a.Amounts)
	}
	return o.need(n).FitsIn(sum) && o.ask.Amounts.FitsIn(n.Capacity)
}

// ways visits every set of victims of lower priorities that makes room on one of
// the nodes.
func (o oracle) ways(yield func(n *api.NodeView, gone []*api.Allocation)) {
	for _, n := range o.view.Nodes {
		lower := slices.DeleteFunc(slices.Clone(n.Allocations), func(a *api.Allocation) bool { return a.Priority >= o.ask.Priority })
		for set := range uint(1) << len(lower) {
			var gone []*api.Allocation
			for i, a := range lower {
				if set>>i&1 == 1 {
					gone = append(gone, a)
				}
			}
			if o.suffices(n, gone) {
				yield(n, gone)
			}
		}
	}
}

// TestBudgetsLikeTheOracle compares how many budgets the victims of asks violate
// with the fewest of all sets of victims on all nodes, and sees that no victim could
// stay alone.
func TestBudgetsLikeTheOracle(t *testing.T) {
	count := map[preemptor.BudgetPolicy]int{}
	violating := 0
	for seed := range seeds.Of(t, 8000) {
		c := rand.New(rand.NewPCG(seed, 4))
		budgets := randomBudgets(c)
		options, config := smallConfig(c, api.Options{Budgets: func([]api.AllocationKey) []api.DisruptionBudget { return slices.Clone(budgets) }}, false)
		p := core.NewPartition(options, config)
		o := smallWorld(c, p)
		fx, _ := p.Schedule(start)
		actions, err := actionsOf(fx)
		assert.NilError(t, err)
		if len(actions) > 0 && actions[0].what == "place" {
			continue
		}
		policy, fewest, lowest := config.Preemption.Budgets, 99, int32(99)
		o.ways(func(_ *api.NodeView, gone []*api.Allocation) {
			fewest = min(fewest, o.violations(gone, budgets))
			lowest = min(lowest, slices.MaxFunc(gone, func(a, b *api.Allocation) int { return int(a.Priority - b.Priority) }).Priority)
		})
		if fewest == 99 || policy == preemptor.HardBudgets && fewest > 0 {
			assert.NilError(t, noneLeft(actions), "seed %d", seed)
			continue
		}
		assert.Equal(t, len(actions), 1, "seed %d: %d violations would do", seed, fewest)
		gone := o.spared(t, actions[0])
		if policy == preemptor.StrictPriority {
			assert.Equal(t, slices.MaxFunc(gone, func(a, b *api.Allocation) int { return int(a.Priority - b.Priority) }).Priority, lowest, "seed %d", seed)
		} else {
			assert.Equal(t, o.violations(gone, budgets), fewest, "seed %d: %v", seed, actions)
		}
		count[policy]++
		if fewest > 0 {
			violating++
		}
	}
	t.Log(count, "with violations", violating)
	assert.Assert(t, len(count) == 3 && count[preemptor.HardBudgets] > seeds.Part(t, 200) && violating > seeds.Part(t, 200))
}

// spared are the victims, all of which are needed.
func (o oracle) spared(t *testing.T, d action) (gone []*api.Allocation) {
	t.Helper()
	n := o.nodes[d.node]
	for _, key := range d.victims {
		gone = append(gone, o.allocation(key))
	}
	assert.Assert(t, o.suffices(n, gone), "%v", d)
	for i := range gone {
		assert.Assert(t, !o.suffices(n, slices.Delete(slices.Clone(gone), i, i+1)), "%v: %s could stay", d, gone[i].Key)
	}
	return gone
}
