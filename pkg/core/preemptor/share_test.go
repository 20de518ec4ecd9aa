package preemptor

import (
	"math/rand/v2"
	"slices"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/internal/seeds"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// severalAsks is a situation in which equal asks wait, of which a node may hold some.
func severalAsks(r *rand.Rand, t Trigger) situation {
	s := triggered(r, t)
	s.node.Quota = nil
	for i := range s.node.On {
		s.node.On[i].Elsewhere = false
	}
	part := 1 + r.Int64N(4)
	for i, v := range s.ask.Amounts {
		s.ask.Amounts[i] = (v + part - 1) / part
	}
	s.ask.Behind, s.ask.Step = []Behind{{s.ask.Amounts, 1 + r.Int64N(7)}}, s.ask.Amounts
	return s
}

// timesAsk is the situation of one ask as large as several.
func (s situation) timesAsk(asks int) situation {
	s.ask.Amounts = s.ask.Amounts.Clone()
	for i := range s.ask.Amounts {
		s.ask.Amounts[i] *= int64(asks)
	}
	return s
}

// fewestWithin is the fewest lawful victims, not more important than the worst of others
// and with no more violations; zero if there are none.
func (s situation) fewestWithin(worst []Candidate) int {
	able := slices.DeleteFunc(s.eligible(), func(c Candidate) bool {
		class, priority, order := 0, c.Priority-1, 1
		for _, w := range worst {
			class, priority = max(class, naiveClass(w)), max(priority, w.Priority)
			w.Created, w.Key, w.Amounts = c.Created, c.Key, c.Amounts
			order = min(order, s.order(c, w))
		}
		if s.ask.Trigger == Priority {
			return order > 0
		}
		return naiveClass(c) > class || c.Priority > priority
	})
	fewest := 0
	for victims := range setsOf(able) {
		if (fewest == 0 || len(victims) < fewest) && s.enough(victims) && s.keeps(victims) && s.violations(victims) <= s.violations(worst) {
			fewest = len(victims)
		}
	}
	return fewest
}

// TestSharedVictims compares plans for several equal asks with all sets of victims for
// each number of asks. With several kinds the largest are not always the fewest.
func TestSharedVictims(t *testing.T) {
	for _, trigger := range []Trigger{Priority, Guarantee} {
		shared, missed := 0, 0
		var pl, other Planner
		for seed := range seeds.Of(t, nodes/2) {
			s := severalAsks(rand.New(rand.NewPCG(seed, 77)), trigger)
			before := pl.Steps()
			cost := pl.Cost(s.cfg, s.ask, s.node)
			asks := pl.Served().Asks
			d := pl.Plan(epoch, s.cfg, s.ask, s.node)
			var fresh Planner
			assert.DeepEqual(t, fresh.Cost(s.cfg, s.ask, s.node), cost)
			fresh.Plan(epoch, s.cfg, s.ask, s.node)
			assert.Equal(t, pl.Steps()-before, fresh.Steps(), "seed %d: one that was used before takes as many steps", seed)
			one := s
			one.ask.Behind = nil
			alone := other.Plan(epoch, one.cfg, one.ask, one.node)
			assert.Equal(t, d.Reason, alone.Reason, "seed %d", seed)
			if d.Reason != Chosen {
				assert.Equal(t, asks, 1, "seed %d", seed)
				continue
			}
			worst := chosenOf(alone)
			assert.Assert(t, s.fewestWithin(worst) <= len(worst), "seed %d", seed)
			best, count := 1, len(worst)
			for m := 2; m <= 1+int(s.ask.Behind[0].Asks); m++ {
				if v := s.timesAsk(m).fewestWithin(worst); v > 0 && v*best < count*m {
					best, count = m, v
				}
			}
			got := max(d.Together.Victims, 0)
			if d.Together.Asks == 0 {
				assert.DeepEqual(t, keysIn(chosenOf(d)), keysIn(worst))
				got, asks = len(worst), 1
			}
			assert.Assert(t, got*best >= count*asks, "seed %d: %d for %d, %d for %d are the fewest", seed, got, asks, count, best)
			if got*best > count*asks {
				missed++
			}
			if d.Together.Asks > 0 {
				shared++
				s.checkShared(t, seed, d, worst)
				assert.Equal(t, d.Cost, cost, "seed %d", seed)
			}
		}
		t.Logf("%s: %d plans for several asks, %d not the best", trigger, shared, missed)
		assert.Assert(t, shared > seeds.Part(t, nodes/40) && missed*4 < shared)
	}
}

// checkShared checks the victims that the first of several asks gets.
func (s situation) checkShared(t *testing.T, seed uint64, d Decision, worst []Candidate) {
	t.Helper()
	victims := chosenOf(d)
	assert.Assert(t, s.enough(victims) && s.keeps(victims), "seed %d: %s", seed, d)
	assert.Assert(t, s.violations(victims) <= s.violations(worst), "seed %d: %s", seed, d)
	assert.Assert(t, len(victims) <= d.Together.Victims && d.Together.Asks <= 1+int(s.ask.Behind[0].Asks), "seed %d: %s", seed, d)
	for i := range victims {
		assert.Assert(t, !s.enough(slices.Delete(slices.Clone(victims), i, i+1)), "seed %d: %s is not needed", seed, victims[i].Key)
	}
	var largest resources.Amounts
	var releasing resources.Amounts
	for _, c := range s.node.On {
		if c.Releasing && !c.Overdue {
			releasing.Add(c.Amounts)
		}
		largest.Raise(c.Amounts)
	}
	least := LeastVictims(s.ask.Amounts, s.node.Free, releasing, largest, s.ask.Step)
	assert.Assert(t, least <= int64(d.Together.Victims)*wholeAsk/int64(d.Together.Asks), "seed %d: %d", seed, least)
}

func chosenOf(d Decision) (list []Candidate) {
	for _, v := range d.Victims {
		list = append(list, v.Candidate)
	}
	return list
}

// TestSharingAllocatesNothing pins that nothing is paid where no victim serves two asks.
func TestSharingAllocatesNothing(t *testing.T) {
	s := situation{cfg: DefaultConfig(), ask: Ask{Trigger: Priority, Amounts: resources.Amounts{2}, Priority: 9}}
	s.ask.Behind, s.ask.Step = []Behind{{s.ask.Amounts, 1000}}, s.ask.Amounts
	s.node = Node{Kinds: kindsOf(rand.New(rand.NewPCG(1, 1)), 1), Free: resources.Amounts{1}}
	for _, key := range []string{"a", "b", "c", "d"} {
		s.node.On = append(s.node.On, Candidate{Key: key, Amounts: resources.Amounts{2}})
	}
	var pl Planner
	pl.Cost(s.cfg, s.ask, s.node)
	assert.Equal(t, testing.AllocsPerRun(100, func() { pl.Cost(s.cfg, s.ask, s.node) }), 0.0)
	assert.Equal(t, LeastVictims(s.ask.Amounts, s.node.Free, nil, resources.Amounts{2}, s.ask.Step), int64(wholeAsk))
}

// TestAVictimServesTenThousand has a victim that serves many more asks than there are candidates.
func TestAVictimServesTenThousand(t *testing.T) {
	s := situation{cfg: DefaultConfig(), ask: Ask{Trigger: Guarantee, Amounts: resources.Amounts{1}}}
	s.ask.Behind, s.ask.Step = []Behind{{s.ask.Amounts, 20_000}}, s.ask.Amounts
	s.node = Node{Kinds: kindsOf(rand.New(rand.NewPCG(1, 1)), 1), On: []Candidate{
		{Key: "large", Amounts: resources.Amounts{10_000}}, {Key: "small", Amounts: resources.Amounts{1}},
	}}
	d := s.plan()
	assert.Equal(t, d.Together, Together{Asks: 10_000, Victims: 1})
	assert.Equal(t, d.Victims[0].Key, "large")
}

// TestLeastVictimsIsTight: a bound below the least would have nodes looked at in vain.
func TestLeastVictimsIsTight(t *testing.T) {
	for _, c := range []struct {
		ask, free, largest resources.Amounts
		thirds             int64 // of a victim for each ask
		shares             bool  // fewer than for one alone
	}{
		{resources.Amounts{4}, resources.Amounts{0}, resources.Amounts{4}, 3, false},
		{resources.Amounts{4}, resources.Amounts{1}, resources.Amounts{2}, 6, false},
		{resources.Amounts{4}, resources.Amounts{0}, resources.Amounts{3}, 4, true},
		{resources.Amounts{4, 4}, resources.Amounts{0, 12}, resources.Amounts{3, 0}, 4, true},
		{resources.Amounts{4, 5}, resources.Amounts{0, 0}, resources.Amounts{8, 3}, 5, true},
	} {
		assert.Equal(t, MayShare(c.ask, c.free, nil, c.largest, c.ask), c.shares, "%v", c)
		assert.Equal(t, LeastVictims(c.ask, c.free, nil, c.largest, c.ask), c.thirds*wholeAsk/3, "%v", c)
	}
}
