package preemptor

import (
	"math/rand/v2"
	"slices"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/internal/seeds"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// bestOf tries all sets of these candidates that keep the floors.
func (s situation) bestOf(able []Candidate) (best price, found bool) {
	for victims := range setsOf(able) {
		if p := priceOf(s, victims); len(victims) > 0 && (!found || p.less(best)) && s.enough(victims) && s.keeps(victims) {
			best, found = p, true
		}
	}
	return best, found
}

// TestMinimalKeepsFloors compares with all sets of victims there are, for the
// triggers that ask for the minimum.
func TestMinimalKeepsFloors(t *testing.T) {
	var pl Planner
	chosen, bound, partial := 0, 0, 0
	for seed := range seeds.Of(t, nodes) {
		trigger := Guarantee
		if seed%2 == 0 {
			trigger = Quota
		}
		s := triggered(rand.New(rand.NewPCG(seed, 7)), trigger)
		if len(s.node.On) > 11 {
			continue
		}
		s.node.Budgets = nil
		for i := range s.node.On {
			s.node.On[i].Budgets = nil
		}
		d := pl.Plan(epoch, s.cfg, s.ask, s.node)
		if d.Reason == RoomIsThere || d.Reason == WaitsForReleasing {
			assert.Assert(t, s.enough(nil) && (d.Reason == WaitsForReleasing || trigger != Quota), "seed %d: %s", seed, d)
			continue
		}
		able := s.eligible()
		best, found := s.bestOf(able)
		if !found {
			partial += s.checkUnreached(t, seed, d)
			continue
		}
		chosen++
		if !s.keeps(able) {
			bound++
		}
		assert.Equal(t, d.Reason, Chosen, "seed %d: %v", seed, d.Failures)
		assert.Equal(t, d.Strategy, Minimal, "seed %d: %v", seed, d.Failures)
		assert.Equal(t, priceOf(s, victimsOf(d)), best, "seed %d: %s", seed, d)
		assert.Equal(t, d.Weight, best.weight, "seed %d", seed)
		assert.Assert(t, d.Proof.Proved, "seed %d", seed)
		s.checkChoice(t, seed, d)
	}
	t.Logf("%d chosen, %d of them with floors in the way; %d in part", chosen, bound, partial)
	assert.Assert(t, chosen > seeds.Part(t, nodes/20) && bound > seeds.Part(t, nodes/100) && partial > seeds.Part(t, 50))
}

// checkUnreached checks that no victims are chosen in vain, and that for a quota
// as many as possible are chosen. It returns how often there were any.
func (s situation) checkUnreached(t *testing.T, seed uint64, d Decision) int {
	t.Helper()
	if s.ask.Trigger != Quota || len(s.eligible()) == 0 {
		assert.Assert(t, d.Reason == NoCandidates || d.Reason == Impossible || d.Reason == NothingHelps, "seed %d: %s", seed, d)
		return 0
	}
	assert.Assert(t, d.Partial && d.Reason == Chosen && d.Strategy == Reprieve && d.Cost.Feasible(), "seed %d: %s", seed, d)
	assert.Assert(t, d.Missing.Part > 0 && !d.LackingQuota.IsZero(), "seed %d", seed)
	pool, victims := s.pool(), victimsOf(d)
	assert.Assert(t, s.keeps(victims), "seed %d: %s", seed, d)
	reached := s // what the pool comes to is needed, and no more
	reached.node.Quota = s.node.Quota.Minus(d.LackingQuota)
	assert.Assert(t, reached.enough(pool) && reached.enough(victims), "seed %d: %s", seed, d)
	for i := range reached.node.Quota {
		more := reached
		more.node.Quota = reached.node.Quota.Clone()
		more.node.Quota[i]++
		assert.Assert(t, d.LackingQuota.Of(resources.Kind(i)) == 0 || !more.enough(pool), "seed %d: more could go", seed)
	}
	for i := range victims {
		assert.Assert(t, !reached.enough(slices.Delete(slices.Clone(victims), i, i+1)), "seed %d: %s could stay", seed, victims[i].Key)
	}
	return 1
}
