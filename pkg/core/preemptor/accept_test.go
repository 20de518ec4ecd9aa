package preemptor

import (
	"math/rand/v2"
	"slices"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/internal/seeds"
)

// TestCandidatesAreThoseOfPlan offers a resource manager the candidates of Plan,
// and accepts victims from it that are as good as those of Plan.
func TestCandidatesAreThoseOfPlan(t *testing.T) {
	var pl Planner
	chosen := 0
	for seed := range seeds.Of(t, nodes) {
		r := rand.New(rand.NewPCG(seed, 11))
		s := triggered(r, []Trigger{Priority, Guarantee}[seed%2])
		keys, violating := pl.Candidates(s.cfg, s.ask, s.node)
		d := pl.Plan(epoch, s.cfg, s.ask, s.node)
		assert.Equal(t, len(keys), len(violating))
		if d.Reason != Chosen && d.Reason != NothingHelps {
			assert.Equal(t, len(keys), 0, "seed %d: %s", seed, d)
			continue
		}
		want := s.eligible()
		flags := s.violating(want)
		slices.Reverse(want)
		slices.Reverse(flags)
		assert.DeepEqual(t, violating, flags)
		for i, c := range want {
			assert.Equal(t, keys[i], c.Key, "seed %d", seed)
		}
		all := pl.Accept(s.cfg, s.ask, s.node, keys)
		assert.Equal(t, all.Reason == Chosen, s.keeps(want) && (s.cfg.Budgets != HardBudgets || !slices.Contains(flags, true)),
			"seed %d: %s", seed, all.Refusal)
		assert.Equal(t, all.Reason == NotEnough, all.Refusal != "")
		if d.Reason != Chosen {
			continue
		}
		chosen++
		given := keysIn(victimsOf(d))
		r.Shuffle(len(given), func(i, j int) { given[i], given[j] = given[j], given[i] })
		same := pl.Accept(s.cfg, s.ask, s.node, given)
		assert.Assert(t, same.Given && same.Reason == Chosen && same.Cost == d.Cost, "seed %d: %s, %s", seed, same.Refusal, d)
		assert.DeepEqual(t, victimsOf(same), victimsOf(d))
		less := pl.Accept(s.cfg, s.ask, s.node, given[1:])
		assert.Assert(t, less.Reason == NotEnough && less.Missing.Part > 0 && !less.Cost.Feasible(), "seed %d: %s", seed, less)
		assert.Equal(t, len(less.Victims), 0)
	}
	assert.Assert(t, chosen > seeds.Part(t, nodes/6), "%d", chosen)
}

// TestRefuse gives the resource manager's reason back.
func TestRefuse(t *testing.T) {
	s := smallNode(4)
	var pl Planner
	d := pl.Refuse(s.cfg, s.ask, s.node, "no such disk")
	assert.Equal(t, d.Reason, Refused)
	assert.Equal(t, d.Summary(s.node.Kinds), "refused even without the candidates: no such disk")
	assert.Equal(t, d.Cost, Cost{1, missingWhole})
}
