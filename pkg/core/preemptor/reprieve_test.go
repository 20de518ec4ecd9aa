package preemptor

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/internal/seeds"
)

func keysIn(set []Candidate) []string {
	var keys []string
	for _, c := range set {
		keys = append(keys, c.Key)
	}
	slices.Sort(keys)
	return keys
}

// TestPriorityIsItsTwin compares with the rules written down plainly, and with
// all sets of victims where budgets are exceeded or guarantees leave the pool too
// little.
func TestPriorityIsItsTwin(t *testing.T) {
	chosen, fewer, hard, searches := 0, 0, 0, 0
	var pl Planner
	for seed := range seeds.Of(t, nodes) {
		r := rand.New(rand.NewPCG(seed, 5))
		s := triggered(r, Priority)
		d := pl.Plan(epoch, s.cfg, s.ask, s.node)
		assert.Equal(t, pl.Cost(s.cfg, s.ask, s.node), d.Cost, "seed %d", seed)
		if d.Reason == RoomIsThere || d.Reason == WaitsForReleasing {
			assert.Assert(t, s.enough(nil), "seed %d: %s", seed, d)
			assert.Equal(t, d.Cost, s.naiveCost(nil), "seed %d", seed)
			continue
		}
		pool := s.pool()
		want := s.reprieved(pool, false)
		switch {
		case len(pool) < len(s.eligible()) || !s.enough(pool):
			if want = s.leastImportant(); want != nil {
				searches++
			}
		case s.violations(want) > 0:
			hard++
			if least := s.leastImportant(); least == nil || s.cfg.Budgets != StrictPriority && s.violations(least) < s.violations(want) {
				want = least
				fewer++
			}
			if later := s.reprieved(pool, true); s.cfg.Budgets == StrictPriority && s.violations(later) < s.violations(want) {
				want = later
			}
		}
		assert.Equal(t, d.Reason == Chosen, want != nil, "seed %d: %s", seed, d)
		if d.Reason != Chosen {
			assert.Assert(t, !d.Cost.Feasible() && d.Cost[1] <= missingWhole, "seed %d: %v", seed, d.Cost)
			assert.Equal(t, d.Reason == NoCandidates, len(s.eligible()) == 0, "seed %d: %s", seed, d)
			continue
		}
		chosen++
		if s.cfg.Budgets != StrictPriority || d.Violations >= s.violations(want) { // fewer are as good
			assert.DeepEqual(t, keysIn(victimsOf(d)), keysIn(want))
		}
		s.checkChoice(t, seed, d)
	}
	t.Logf("%d chosen, %d violate at first, %d of them fewer then; %d searched for", chosen, hard, fewer, searches)
	assert.Assert(t, searches > seeds.Part(t, 10) && chosen > seeds.Part(t, nodes/5) && hard > seeds.Part(t, nodes/100) && fewer > seeds.Part(t, 20))
}

// leastImportant tries all sets, and is the one of the least importance that keeps
// the floors and violates as few budgets as possible, or as are allowed.
func (s situation) leastImportant() (least []Candidate) {
	able, fewest := s.eligible(), 0
	for victims := range setsOf(able) {
		if len(victims) == 0 || !s.enough(victims) || !s.keeps(victims) {
			continue
		}
		violations := s.violations(victims)
		switch {
		case s.cfg.Budgets == HardBudgets && violations > 0:
			continue
		case s.cfg.Budgets == StrictPriority:
			violations = 0
		}
		if least == nil || cmp.Or(cmp.Compare(violations, fewest), s.compareImportance(victims, least)) < 0 {
			least, fewest = slices.Clone(victims), violations
		}
	}
	return least
}

// checkChoice holds a choice to the laws of all triggers but that of the required node.
func (s situation) checkChoice(t *testing.T, seed uint64, d Decision) {
	t.Helper()
	victims := victimsOf(d)
	assert.Assert(t, s.enough(victims), "seed %d: %s", seed, d)
	assert.Assert(t, s.keeps(victims), "seed %d: %s", seed, d)
	lowest := victims[0].Priority
	for i, v := range victims {
		lowest = min(lowest, v.Priority)
		assert.Assert(t, s.mayBeVictim(v), "seed %d: %s", seed, v.Key)
		assert.Assert(t, !s.enough(slices.Delete(slices.Clone(victims), i, i+1)), "seed %d: %s could stay", seed, v.Key)
		assert.Assert(t, i == 0 || s.order(victims[i-1], v) < 0, "seed %d: %s is out of order", seed, v.Key)
	}
	assert.Equal(t, d.Violations, s.violations(victims), "seed %d", seed)
	assert.Equal(t, len(d.Broken) > 0, d.Violations > 0, "seed %d: %v", seed, d.Broken)
	if s.cfg.Budgets == HardBudgets {
		assert.Equal(t, d.Violations, 0, "seed %d: %s", seed, d)
	}
	assert.Equal(t, d.Cost, s.naiveCost(victims), "seed %d: %s", seed, d)
	assert.Assert(t, LeastCost(s.cfg, s.ask.Trigger, 1, lowest, time.Time{}).Compare(d.Cost) <= 0, "seed %d: %v", seed, d.Cost)
	assert.Assert(t, !d.Partial && d.Missing.Part == 0, "seed %d", seed)
}

// TestTriggersDoNotMindTheOrder shuffles candidates and numbers of kinds, with a
// planner that has seen others before.
func TestTriggersDoNotMindTheOrder(t *testing.T) {
	var pl Planner
	for trigger := range Trigger(Triggers) {
		for seed := range seeds.Of(t, nodes/10) {
			r := rand.New(rand.NewPCG(seed, 6))
			s := triggered(r, trigger)
			if r.IntN(3) == 0 {
				s.node.Fits = conflictWith(s, "c1", "c4")
			}
			other := renumbered(r, s)
			r.Shuffle(len(other.node.On), func(i, j int) {
				other.node.On[i], other.node.On[j] = other.node.On[j], other.node.On[i]
			})
			one := s.plan()
			two := pl.Plan(epoch, other.cfg, other.ask, other.node)
			assert.Equal(t, one.Explain(s.node.Kinds), two.Explain(other.node.Kinds), "seed %d", seed)
			assert.Equal(t, one.Cost, two.Cost, "%s seed %d", trigger, seed)
			if trigger != RequiredNode { // which may be too young
				assert.Equal(t, pl.Cost(s.cfg, s.ask, s.node), one.Cost, "%s seed %d", trigger, seed)
			}
		}
	}
}

// FuzzTriggers holds every trigger to the laws, with floors, quota and budgets
// together.
func FuzzTriggers(f *testing.F) {
	for seed := range uint64(300) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		var pl Planner
		for _, trigger := range []Trigger{Priority, Guarantee, Quota} {
			s := triggered(rand.New(rand.NewPCG(seed, 12)), trigger)
			d := pl.Plan(epoch, s.cfg, s.ask, s.node)
			assert.Equal(t, d.Reason == Chosen, len(d.Victims) > 0)
			assert.Equal(t, d.Cost.Feasible(), d.Reason == Chosen || d.Reason == RoomIsThere || d.Reason == WaitsForReleasing)
			assert.Equal(t, pl.Cost(s.cfg, s.ask, s.node), d.Cost)
			counted := len(s.eligible())
			for _, count := range d.ByFilter {
				counted += count
			}
			assert.Equal(t, counted, len(s.node.On), "%s: everyone is counted once", trigger)
			switch victims := victimsOf(d); {
			case d.Partial:
				assert.Equal(t, trigger, Quota)
				assert.Assert(t, d.Missing.Part > 0 && s.keeps(victims), "%s", d)
				assert.Assert(t, s.cfg.Budgets != HardBudgets || d.Violations == 0, "%s", d)
			case d.Reason == Chosen:
				s.checkChoice(t, seed, d)
			}
		}
	})
}
