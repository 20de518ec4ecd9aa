package preemptor

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/internal/seeds"
)

// conflictWith refuses the ask as long as any of these is on the node.
func conflictWith(s situation, keys ...string) func([]string) error {
	return func(removed []string) error {
		for _, c := range s.node.On {
			if slices.Contains(keys, c.Key) && !slices.Contains(removed, c.Key) {
				return errors.New("conflicts with " + c.Key)
			}
		}
		return nil
	}
}

// TestFits runs random situations in which one or two candidates are in the
// way, whatever they hold.
func TestFits(t *testing.T) {
	var pl Planner
	chosen, refused, alone := 0, 0, 0
	for seed := range seeds.Of(t, nodes) {
		r := rand.New(rand.NewPCG(seed, 8))
		s := triggered(r, []Trigger{Priority, Guarantee}[seed%2])
		s.cfg.Budgets = BudgetPolicy(r.IntN(2)) // HardBudgets would exclude candidates that conflict
		s.node.Floors = nil
		fits := conflictWith(s, fmt.Sprint("c", r.IntN(15)), fmt.Sprint("c", r.IntN(15)))
		asked := 0
		s.node.Fits = func(removed []string) error {
			asked++
			return fits(removed)
		}
		d := pl.Plan(epoch, s.cfg, s.ask, s.node)
		releasing := removedWith(s, nil)
		if d.Reason == RoomIsThere || d.Reason == WaitsForReleasing {
			assert.Assert(t, s.enough(nil) && fits(releasing) == nil, "seed %d: %s", seed, d)
			continue
		}
		assert.Assert(t, !s.enough(nil) || fits(releasing) != nil, "seed %d: %s", seed, d)
		if d.Reason == Refused {
			refused++
			assert.Equal(t, d.Refusal, fits(removedWith(s, s.candidates())).Error(), "seed %d", seed)
			assert.Equal(t, d.Cost, Cost{1, missingWhole})
			continue
		}
		if d.Reason != Chosen {
			continue
		}
		chosen++
		victims := victimsOf(d)
		assert.Assert(t, s.enough(victims) && fits(removedWith(s, victims)) == nil, "seed %d: %s", seed, d)
		for i, v := range victims {
			rest := slices.Delete(slices.Clone(victims), i, i+1)
			assert.Assert(t, !s.enough(rest) || fits(removedWith(s, rest)) != nil, "seed %d: %s could stay", seed, v.Key)
		}
		if s.enough(nil) {
			alone++
		}
		assert.Equal(t, d.Violations, s.violations(victims), "seed %d", seed)
		rounds := 2 // one for what amounts choose, one for what must end as well
		switch {
		case len(s.node.Budgets) == 0:
		case s.cfg.Budgets == StrictPriority:
			rounds = 4 // and one with those that violate a budget first
		default:
			rounds = 8 // and for each search for fewer violations
		}
		assert.Assert(t, asked <= rounds*len(s.node.On)+8, "seed %d: asked %d times", seed, asked)
	}
	t.Logf("%d chosen, %d of them though amounts are there; %d refused", chosen, alone, refused)
	assert.Assert(t, chosen > seeds.Part(t, 500) && alone > seeds.Part(t, 50) && refused > seeds.Part(t, 50))
}

// candidates are the possible victims if one of them conflicts with the ask.
func (s situation) candidates() []Candidate {
	var able []Candidate
	for _, c := range s.node.On {
		c.Amounts = slices.Clone(c.Amounts)
		all := s
		all.node.Quota = nil
		all.ask.Amounts = nil
		if !c.Elsewhere {
			for i := range c.Amounts {
				c.Amounts[i]++ // every candidate on the node is useful
			}
			all.ask.Amounts = []int64{1 << 40, 1 << 40, 1 << 40, 1 << 40}
		}
		if all.mayBeVictim(c) {
			able = append(able, c)
		}
	}
	return able
}

// removedWith are the keys that have left the node once these victims have ended.
func removedWith(s situation, victims []Candidate) []string {
	var keys []string
	for _, c := range s.node.On {
		if c.Releasing && !c.Overdue && !c.Elsewhere {
			keys = append(keys, c.Key)
		}
	}
	for _, c := range victims {
		if !c.Elsewhere {
			keys = append(keys, c.Key)
		}
	}
	return keys
}
