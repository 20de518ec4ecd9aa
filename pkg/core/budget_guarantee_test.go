package core_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/seeds"
)

// TestBudgetsByGuaranteeAcrossNodes sees that victims by guarantee, or for quota, violate no budget
// where any set of victims on any node spares them all.
func TestBudgetsByGuaranteeAcrossNodes(t *testing.T) {
	spared, unavoidable := 0, 0
	for seed := range seeds.Of(t, 10_000) {
		c := rand.New(rand.NewPCG(seed, 17))
		budgets := randomBudgets(c)
		p := core.NewPartition(smallConfig(c, api.Options{Budgets: func([]api.AllocationKey) []api.DisruptionBudget { return slices.Clone(budgets) }}, true))
		o := smallWorld(c, p)
		fx, _ := p.Schedule(start)
		actions, err := actionsOf(fx)
		assert.NilError(t, err)
		if len(actions) == 0 || len(actions[0].victims) == 0 {
			continue
		}
		var gone []*api.Allocation
		for _, a := range o.pods {
			if slices.Contains(actions[0].victims, a.Key) {
				gone = append(gone, a)
			}
		}
		avoidable := false
		o.lawful(func(_ *api.NodeView, victims []*api.Allocation) {
			avoidable = avoidable || o.violations(victims, budgets) == 0
		})
		if !avoidable {
			unavoidable++
			continue
		}
		spared++
		assert.Equal(t, o.violations(gone, budgets), 0, "seed %d: %v violate a budget, and others do not", seed, actions[0])
	}
	t.Logf("%d times budgets can be spared, %d times not", spared, unavoidable)
	assert.Assert(t, spared > seeds.Part(t, 400) && unavoidable > seeds.Part(t, 50))
}
