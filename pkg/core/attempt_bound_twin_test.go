package core_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/internal/seeds"
)

// boundedHistory is a history of a partition that may work out so little in a batch.
func boundedHistory(seed uint64, evaluations int) *history {
	h := &history{chance: seeded(seed, 61), now: start}
	options := api.Options{Kinds: testKinds(), ReserveDelay: -1, BatchMax: 256, CompletingDelay: time.Hour}
	if h.IntN(2) == 0 {
		options.Budgets = func(keys []api.AllocationKey) (budgets []api.DisruptionBudget) {
			for i := range 3 {
				budgets = append(budgets, api.DisruptionBudget{Name: fmt.Sprint("budget", i), Allowed: i})
				for _, key := range keys {
					if int(key[len(key)-1])%4 <= i {
						budgets[i].Allocations = append(budgets[i].Allocations, key)
					}
				}
			}
			return budgets
		}
	}
	if h.IntN(3) == 0 {
		options.Simulate = func(ask api.AllocationKey, node api.NodeID, _, remove []api.AllocationKey) error {
			if (int(ask[len(ask)-1])+int(node[1]))%3 > len(remove) {
				return errTaint
			}
			return nil
		}
	}
	config := h.config()
	config.Preemption.Disabled, config.Preemption.Budgets = false, preemptor.BudgetPolicy(h.IntN(3))
	h.p = core.NewPartition(options, config)
	h.p.LimitBatches(evaluations)
	h.populate()
	return h
}

// withoutRequired is a random command, but asks may run anywhere: those that require a node are
// tried when a batch begins, so it matters to them where it ends.
func (h *history) withoutRequired() api.Command {
	c := h.command()
	if add, is := c.(api.AddAllocation); is {
		add.Allocation.Required = ""
	}
	return c
}

// decide schedules until nothing is left to do, and says what was done.
func (h *history) decide(t *testing.T) (done []string, calls int) {
	for more := true; more; calls++ {
		assert.Assert(t, calls < 5000, "scheduling does not come to rest")
		var fx api.Effects
		fx, more = h.p.Schedule(h.now)
		for _, e := range fx {
			switch e := e.(type) {
			case api.Placed:
				done = append(done, fmt.Sprintf("placed %s on %s", e.Key, e.Allocation.Node))
			case *api.Claimed:
				done = append(done, fmt.Sprintf("claimed for %s on %s, nominated is %t", e.Key, e.Node, e.Plan != nil))
			case *api.ClaimEnded:
				done = append(done, fmt.Sprintf("claim of %s ended: %s", e.Key, e.Reason))
			case *api.EvictionRequested:
				done = append(done, fmt.Sprintf("evicted %s", e.Key))
			}
		}
	}
	return done, calls
}

// TestTheBoundOfABatchDecidesNothing compares what is decided where nearly nothing may be
// worked out in one batch with what is decided without a bound. Placements go on beside an
// attempt, so an ask may be placed first that comes after it, which changes what the attempt
// finds; a history ends with that.
func TestTheBoundOfABatchDecidesNothing(t *testing.T) {
	longer, decisions, ahead := 0, 0, 0
	for seed := range seeds.Of(t, 2000) {
		bound, free := boundedHistory(seed, 1), boundedHistory(seed, math.MaxInt)
		for i := range 60 {
			for _, h := range [2]*history{bound, free} {
				switch h.IntN(8) {
				case 0:
					h.confirm(h.IntN(2) == 0)
				case 1:
					h.now = h.now.Add(time.Duration(h.IntN(3000)) * time.Millisecond)
				default:
					h.p.Apply(h.now, h.withoutRequired())
				}
			}
			got, calls := bound.decide(t)
			want, least := free.decide(t)
			if calls > least {
				longer++
			}
			decisions += len(want)
			at := 0
			for at < min(len(got), len(want)) && got[at] == want[at] {
				at++
			}
			if at == len(got) && at == len(want) {
				continue
			}
			beside := slices.ContainsFunc(got[:min(at+1, len(got))], func(text string) bool {
				return strings.HasPrefix(text, "placed") || strings.Contains(text, ": placed") // a claim ends so just before
			})
			assert.Assert(t, beside, "seed %d, step %d:\n%q\n%q", seed, i, got, want)
			ahead++
			break
		}
	}
	t.Logf("%d decisions, %d times more batches, %d histories with a placement beside an attempt", decisions, longer, ahead)
	assert.Assert(t, longer > seeds.Part(t, 500) && ahead < 50)
}
