package preemptor

import (
	"cmp"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/internal/seeds"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// nodes is how many random nodes the tests below look at.
const nodes = 10_000

func eachNode(t *testing.T, check func(t *testing.T, seed uint64, s situation)) {
	t.Helper()
	for seed := range seeds.Of(t, nodes) {
		check(t, seed, randomSituation(rand.New(rand.NewPCG(seed, 0))))
	}
}

func victimsOf(d Decision) []Candidate {
	var victims []Candidate
	for _, v := range d.Victims {
		victims = append(victims, v.Candidate)
	}
	return victims
}

// TestMinimalIsTheOptimum compares with all sets of victims there are.
func TestMinimalIsTheOptimum(t *testing.T) {
	chosen, hard := 0, 0
	eachNode(t, func(t *testing.T, seed uint64, s situation) {
		d := s.with(Minimal).plan()
		if missing(s).IsZero() {
			assert.Assert(t, d.Reason == RoomIsThere || d.Reason == WaitsForReleasing, "seed %d: %s", seed, d)
			return
		}
		want, found := bruteForce(s, s.cfg.VictimsMax)
		assert.Equal(t, d.Reason == Chosen, found, "seed %d: %s, %v", seed, d, d.Failures)
		if !found {
			_, enough := bruteForce(s, len(s.node.On))
			assert.Equal(t, d.Reason == NothingHelps, enough, "seed %d: %s", seed, d)
			return
		}
		chosen++
		if want.victims > 2 {
			hard++
		}
		assert.Equal(t, priceOf(s, victimsOf(d)), want, "seed %d: %s", seed, d)
		assert.Equal(t, d.Weight, want.weight, "seed %d", seed)
		assert.Assert(t, d.Proof.Proved, "seed %d", seed)
	})
	assert.Assert(t, chosen > seeds.Part(t, nodes/3) && hard > seeds.Part(t, nodes/20), "%d chosen, %d with more than two victims", chosen, hard)
}

// TestLaws holds every strategy to what is said of all of them.
func TestLaws(t *testing.T) {
	var chosen [len(strategies)]int
	eachNode(t, func(t *testing.T, seed uint64, s situation) {
		for strategy := range Strategy(len(strategies)) {
			d := s.with(strategy).plan()
			checkLaws(t, seed, s, d)
			if d.Reason == Chosen {
				chosen[strategy]++
			}
		}
		checkLaws(t, seed, s, s.plan())
	})
	t.Log("plans that chose, by strategy:", chosen)
}

func checkLaws(t *testing.T, seed uint64, s situation, d Decision) {
	t.Helper()
	victims := victimsOf(d)
	assert.Equal(t, len(victims) > 0, d.Reason == Chosen, "seed %d: victims and no reason, or the other way", seed)
	counted := len(d.Filtered)
	for class := range d.ByClass {
		counted += d.ByClass[class]
	}
	assert.Equal(t, counted, len(s.node.On), "seed %d: everyone is counted once", seed)
	if d.Reason != Chosen {
		return
	}
	assert.Assert(t, missing(s, victims...).IsZero(), "seed %d: %s does not suffice", seed, d)
	assert.Assert(t, len(victims) <= s.cfg.VictimsMax, "seed %d: %s", seed, d)
	var freed resources.Amounts
	for i, v := range victims {
		freed.Add(v.Amounts)
		assert.Assert(t, mayBeVictim(s, v), "seed %d: %s may not be a victim", seed, v.Key)
		rest := slices.Delete(slices.Clone(victims), i, i+1)
		assert.Assert(t, !missing(s, rest...).IsZero(), "seed %d: %s, and %s can be spared", seed, d, v.Key)
	}
	assert.Assert(t, freed.Equal(d.Freed), "seed %d", seed)
	assert.Assert(t, missing(s).Equal(d.Needed), "seed %d", seed)
	if d.Strategy == Single {
		assert.Equal(t, len(victims), 1)
		for kind, asked := range s.ask.Amounts {
			v := victims[0].Amounts.Of(resources.Kind(kind))
			assert.Assert(t, asked <= 0 || v*100 <= asked*(100+s.cfg.DeviationMax), "seed %d: %s deviates", seed, d)
		}
	}
}

// TestSingleIsTheLeastImportantAndNearest compares with a look at all candidates.
func TestSingleIsTheLeastImportantAndNearest(t *testing.T) {
	eachNode(t, func(t *testing.T, seed uint64, s situation) {
		d := s.with(Single).plan()
		if missing(s).IsZero() {
			return
		}
		var best *Candidate
		for i := range s.node.On {
			c := &s.node.On[i]
			if !mayBeVictim(s, *c) || !missing(s, *c).IsZero() || deviates(s, *c) {
				continue
			}
			if best == nil || cmp.Or(
				cmp.Compare(naiveClass(*c), naiveClass(*best)), cmp.Compare(c.Priority, best.Priority), nearer(s, *c, *best),
			) < 0 {
				best = c
			}
		}
		assert.Equal(t, d.Reason == Chosen, best != nil, "seed %d: %s", seed, d)
		if best != nil {
			victim := d.Victims[0].Candidate
			assert.Equal(t, naiveClass(victim), naiveClass(*best), "seed %d: %s", seed, d)
			assert.Equal(t, victim.Priority, best.Priority, "seed %d: %s", seed, d)
			assert.Equal(t, nearer(s, *best, victim), 0, "seed %d: %s, but %s is nearer", seed, d, best.Key)
		}
	})
}

// naiveDeviation is the largest share of the ask that c holds beyond it. Of a kind
// that is not asked for, it is the share of the node.
func naiveDeviation(s situation, c Candidate) *big.Rat {
	worst := new(big.Rat)
	for i, held := range c.Amounts {
		kind := resources.Kind(i)
		asked := s.ask.Amounts.Of(kind)
		whole := asked
		if asked == 0 {
			whole = max(s.node.Free.Of(kind), 0)
			for _, other := range s.node.On {
				whole += other.Amounts.Of(kind)
			}
		}
		if held > asked {
			if share := big.NewRat(held-asked, whole); share.Cmp(worst) > 0 {
				worst = share
			}
		}
	}
	return worst
}

func deviates(s situation, c Candidate) bool {
	return naiveDeviation(s, c).Cmp(big.NewRat(s.cfg.DeviationMax, 100)) > 0
}

func nearer(s situation, a, b Candidate) int {
	return naiveDeviation(s, a).Cmp(naiveDeviation(s, b))
}

// TestOrderOfInputDoesNotMatter shuffles the candidates and renumbers the
// kinds, and sees that nothing was changed and nothing is shared.
func TestOrderOfInputDoesNotMatter(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	eachNode(t, func(t *testing.T, seed uint64, s situation) {
		r := rand.New(rand.NewPCG(seed, 1))
		other := renumbered(r, s)
		r.Shuffle(len(other.node.On), func(i, j int) {
			other.node.On[i], other.node.On[j] = other.node.On[j], other.node.On[i]
		})
		before := renumbered(rand.New(rand.NewPCG(0, 0)), s)
		for strategy := range Strategy(len(strategies)) {
			one, two := s.with(strategy).plan(), other.with(strategy).plan()
			assert.Equal(t, one.Explain(s.node.Kinds), two.Explain(other.node.Kinds), "seed %d", seed)
			for i := range one.Victims {
				one.Victims[i].Amounts.Set(0, -1) // ours, not the node's
			}
			one.Free.Set(0, -1)
			one.Asked.Set(0, -1)
		}
		after := renumbered(rand.New(rand.NewPCG(0, 0)), s)
		assert.DeepEqual(t, before.node.On, after.node.On)
		assert.DeepEqual(t, before.ask, after.ask)
		assert.DeepEqual(t, before.node.Free, after.node.Free)
	})
}

// renumbered is a copy with other numbers for the kinds.
func renumbered(r *rand.Rand, s situation) situation {
	kinds := kindsOf(r, s.node.Kinds.Len())
	again := func(a resources.Amounts) resources.Amounts {
		other := make(resources.Amounts, kinds.Len())
		for i := range a {
			kind, _ := kinds.Lookup(s.node.Kinds.Name(resources.Kind(i)))
			other.Set(kind, a[i])
		}
		return other
	}
	s.ask.Amounts = again(s.ask.Amounts)
	s.node.Free = again(s.node.Free)
	s.node.Quota = again(s.node.Quota)
	s.node.Floors = slices.Clone(s.node.Floors)
	for i := range s.node.Floors {
		var surplus resources.Limits
		for kind := range resources.Kind(kinds.Len()) {
			old, _ := s.node.Kinds.Lookup(kinds.Name(kind))
			surplus.Set(kind, s.node.Floors[i].Surplus.Of(old))
		}
		s.node.Floors[i].Surplus = surplus
	}
	s.node.On = slices.Clone(s.node.On)
	for i := range s.node.On {
		s.node.On[i].Amounts = again(s.node.On[i].Amounts)
	}
	s.node.Kinds = kinds
	return s
}
