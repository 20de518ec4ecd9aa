package preemptor

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// manyNodes is how many random nodes the tests of this file look at. The
// environment variable NARWHAL_NODES asks for more.
func manyNodes(t *testing.T, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv("NARWHAL_NODES")
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	assert.NilError(t, err)
	return n
}

// A harm is what a set of victims does, in the order in which it counts: how many
// of them break a guarantee, the worst class, how many violate a budget, the
// highest priority, their number, and their weight. With StrictPriority the
// priority comes before the violations.
type harm struct {
	figures      [6]int64
	by           BudgetPolicy
	below, class int
	violations   int
	priority     int
}

func (s situation) harmOf(set []Candidate) harm {
	p := priceOf(s, set)
	h := harm{by: s.cfg.Budgets, below: s.breaking(set), class: p.class, priority: p.priority}
	sorted := slices.Clone(set)
	slices.SortFunc(sorted, s.order)
	h.violations = s.violations(sorted)
	h.figures = [6]int64{int64(h.below), int64(h.class), int64(h.violations), int64(h.priority), int64(p.victims), p.weight}
	if h.by == StrictPriority {
		h.figures[2], h.figures[3] = h.figures[3], h.figures[2]
	}
	return h
}

// breaking is how many of a set must be left out so that the others keep every
// guarantee.
func (s situation) breaking(set []Candidate) int {
	fewest := len(set)
	for left := range 1 << len(set) {
		var others []Candidate
		for i, c := range set {
			if left>>i&1 == 0 {
				others = append(others, c)
			}
		}
		if out := bits.OnesCount(uint(left)); out < fewest && s.keeps(others) {
			fewest = out
		}
	}
	return fewest
}

// leastHarm tries every set of victims on a required node.
func (s situation) leastHarm() (best harm, found bool) {
	var able []Candidate
	for _, c := range s.node.On {
		if mayBeVictim(s, c) && !c.Outside {
			able = append(able, c)
		}
	}
	for set := 1; set < 1<<len(able); set++ {
		if bits.OnesCount(uint(set)) > s.cfg.VictimsMax {
			continue
		}
		var victims []Candidate
		for i, c := range able {
			if set>>i&1 == 1 {
				victims = append(victims, c)
			}
		}
		if !missing(s, victims...).IsZero() {
			continue
		}
		h := s.harmOf(victims)
		if h.by == HardBudgets && h.violations > 0 || found && slices.Compare(h.figures[:], best.figures[:]) >= 0 {
			continue
		}
		best, found = h, true
	}
	return best, found
}

// lists are the lists of strategies that can be configured, with the default.
var lists = [][]Strategy{
	{Single, Multiple, Minimal},
	{Minimal},
	{Multiple, Single, Minimal},
	{Minimal, Single},
	{Single, Minimal},
	{Multiple, Minimal},
	{Single, Multiple},
	{Single},
	{Multiple},
}

// TestListsTakeNoWorseClass compares every list of strategies with brute force: with
// minimal in a list, no choice is of a higher class or priority than the optimum, in
// whatever order the strategies are.
func TestListsTakeNoWorseClass(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	chosen := 0
	for seed := range manyNodes(t, 3000) {
		s := randomSituation(rand.New(rand.NewPCG(seed, 21)))
		best, found := bruteForce(s, s.cfg.VictimsMax)
		if missing(s).IsZero() {
			continue
		}
		for _, list := range lists {
			s.cfg.Strategies = list
			d := s.plan()
			checkLaws(t, seed, s, d)
			if !slices.Contains(list, Minimal) {
				assert.Assert(t, found || d.Reason != Chosen, "seed %d: %s", seed, d)
				continue
			}
			assert.Equal(t, d.Reason == Chosen, found, "seed %d: %v: %s", seed, list, d)
			if found {
				p := priceOf(s, victimsOf(d))
				assert.Equal(t, [2]int{p.class, p.priority}, [2]int{best.class, best.priority}, "seed %d: %v: %s", seed, list, d)
				chosen++
			}
		}
	}
	t.Log(chosen, "choices")
	assert.Assert(t, chosen > 1000)
}

// TestMultipleNeedsNoMinimal sees that multiple finds victims of the class and the
// priority of the optimum by itself, where the number of victims is no bound.
func TestMultipleNeedsNoMinimal(t *testing.T) {
	for seed := range manyNodes(t, 3000) {
		s := randomSituation(rand.New(rand.NewPCG(seed, 23)))
		s.cfg.VictimsMax = VictimsLimit
		best, found := bruteForce(s, s.cfg.VictimsMax)
		if missing(s).IsZero() {
			continue
		}
		for _, list := range [][]Strategy{{Multiple}, {Single, Multiple}, {Multiple, Single}} {
			s.cfg.Strategies = list
			d := s.plan()
			assert.Equal(t, d.Reason == Chosen, found, "seed %d: %v: %s", seed, list, d)
			if found {
				p := priceOf(s, victimsOf(d))
				assert.Equal(t, [2]int{p.class, p.priority}, [2]int{best.class, best.priority}, "seed %d: %v: %s", seed, list, d)
			}
		}
	}
}

// TestRequiredNodeLikeBruteForce does the same where guarantees and budgets bind.
func TestRequiredNodeLikeBruteForce(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	count := map[string]int{}
	for seed := range manyNodes(t, 3000) {
		s := triggered(rand.New(rand.NewPCG(seed, 22)), RequiredNode)
		if len(s.node.On) > 11 || missing(s).IsZero() {
			continue
		}
		best, found := s.leastHarm()
		for _, list := range lists {
			s.cfg.Strategies = list
			d := s.plan()
			if d.Reason != Chosen {
				assert.Assert(t, !found || !slices.Contains(list, Minimal), "seed %d: %v: %s, %v", seed, list, d, d.Failures)
				continue
			}
			victims := victimsOf(d)
			s.checkRequired(t, seed, d)
			h := s.harmOf(victims)
			assert.Assert(t, found, "seed %d: %v: %s", seed, list, d)
			switch {
			case len(list) == 1 && list[0] == Minimal:
				assert.Equal(t, h, best, "seed %d: %s", seed, d)
				assert.Assert(t, d.Proof.Proved, "seed %d: %v", seed, d.Proof)
				count["minimal"]++
				if best.below > 0 {
					count["below"]++
				}
				if best.violations > 0 {
					count["violating"]++
				}
			case slices.Contains(list, Minimal):
				assert.Assert(t, slices.Equal(h.figures[:4], best.figures[:4]), "seed %d: %v: %s: %v, not %v", seed, list, d, h, best)
				count["lists"]++
			}
		}
	}
	t.Log(count)
	assert.Assert(t, count["minimal"] > 200 && count["below"] > 50 && count["violating"] > 30)
}

// checkRequired holds a plan for a required node to the laws of every plan.
func (s situation) checkRequired(t *testing.T, seed uint64, d Decision) {
	t.Helper()
	victims := victimsOf(d)
	assert.Assert(t, len(victims) <= s.cfg.VictimsMax && missing(s, victims...).IsZero(), "seed %d: %s", seed, d)
	for i, v := range victims {
		assert.Assert(t, mayBeVictim(s, v) && !v.Outside, "seed %d: %s may not be a victim", seed, v.Key)
		rest := slices.Delete(slices.Clone(victims), i, i+1)
		assert.Assert(t, !missing(s, rest...).IsZero(), "seed %d: %s could stay", seed, v.Key)
	}
	violations := s.violations(victims)
	assert.Equal(t, d.Violations, violations, "seed %d", seed)
	assert.Assert(t, violations == 0 || s.cfg.Budgets != HardBudgets, "seed %d: %s", seed, d)
	assert.Equal(t, s.keeps(victims), len(d.Below) == 0, "seed %d: %s", seed, d.Below)
}

// hardBoundNode is the hardest node that we know, with guarantees and budgets that
// leave hardly enough.
func hardBoundNode(r *rand.Rand, n int) situation {
	s := worstNode(r, n)
	s.cfg = DefaultConfig()
	for b := range 6 {
		s.node.Budgets = append(s.node.Budgets, Budget{Name: fmt.Sprint("budget-", b), Allowed: r.IntN(2)})
	}
	for i := range s.node.On {
		s.node.On[i].Floors = []int32{int32(1 + i%4), 0}
		if r.IntN(2) == 0 {
			s.node.On[i].Budgets = []int32{int32(r.IntN(6))}
		}
	}
	for f := range 5 {
		floor := Floor{Queue: fmt.Sprint("root.", f)}
		for kind, asked := range s.ask.Amounts {
			surplus := asked * 2 / 3
			if f == 0 {
				surplus = asked * 11 / 10
			}
			floor.Surplus.Set(resources.Kind(kind), surplus)
		}
		s.node.Floors = append(s.node.Floors, floor)
	}
	return s
}

// TestStoppedSearchServes plans for nodes where the search with guarantees and
// budgets is stopped: the ask is served all the same, and what is not proved is said.
func TestStoppedSearchServes(t *testing.T) {
	open := 0
	for seed := range manyNodes(t, 16) {
		s := hardBoundNode(rand.New(rand.NewPCG(seed, 0)), []int{64, 256}[seed%2])
		d := s.plan()
		assert.Equal(t, d.Reason, Chosen, "seed %d: %v", seed, d.Failures)
		victims := victimsOf(d)
		assert.Assert(t, missing(s, victims...).IsZero() && len(victims) <= s.cfg.VictimsMax, "seed %d: %s", seed, d)
		assert.Equal(t, s.keeps(victims), len(d.Below) == 0, "seed %d", seed)
		if d.Strategy == Minimal && !d.Proof.Proved {
			open++
			assert.Assert(t, strings.Contains(d.Explain(s.node.Kinds), "\n  proof      stopped after "), d.Explain(s.node.Kinds))
		}
	}
	assert.Assert(t, open > 0)
}

// TestRequiredNodeConflicts sees that an ask is served wherever any victims end the
// conflicts too, by victims that are all needed and of no higher class than others, nor of a higher
// priority within the same classes.
func TestRequiredNodeConflicts(t *testing.T) {
	chosen, reprieved := 0, 0
	for seed := range manyNodes(t, 3000) {
		r := rand.New(rand.NewPCG(seed, 24))
		s := triggered(r, RequiredNode)
		if len(s.node.On) > 9 {
			continue
		}
		s.cfg.VictimsMax, s.cfg.Budgets = VictimsLimit, PreferBudgets
		s.cfg.Strategies = lists[r.IntN(len(lists))]
		bound := r.IntN(2) == 0
		if !bound {
			s.node.Floors, s.node.Budgets = nil, nil
			for i := range s.node.On {
				s.node.On[i].Floors, s.node.On[i].Budgets = nil, nil
			}
		}
		fits, asked := conflictWith(s, fmt.Sprint("c", r.IntN(12)), fmt.Sprint("c", r.IntN(12))), 0
		s.node.Fits = func(removed []string) error {
			asked++
			return fits(removed)
		}
		enough := func(set []Candidate) bool {
			return missing(s, set...).IsZero() && fits(removedWith(s, set)) == nil
		}
		if enough(nil) {
			continue
		}
		least, found := s.lowest(enough)
		d := s.plan()
		assert.Equal(t, d.Reason == Chosen, found, "seed %d: %v: %s, %v", seed, s.cfg.Strategies, d, d.Failures)
		if !found {
			continue
		}
		chosen++
		// One question for each candidate in each of at most seven rounds (see TestFits).
		most := 7*len(s.node.On) + len(s.cfg.Strategies) + 7
		assert.Assert(t, asked <= most, "seed %d: asked %d times", seed, asked)
		if d.Strategy == Reprieve {
			reprieved++
		}
		victims := victimsOf(d)
		assert.Assert(t, enough(victims), "seed %d: %s", seed, d)
		for i, v := range victims {
			rest := slices.Delete(slices.Clone(victims), i, i+1)
			assert.Assert(t, !enough(rest), "seed %d: %s could stay", seed, v.Key)
		}
		if !bound && !slices.Equal(s.cfg.Strategies, []Strategy{Single}) {
			got := priceOf(s, victims)
			assert.Equal(t, [2]int{got.class, got.priority}, least, "seed %d: %v: %s", seed, s.cfg.Strategies, d)
		}
	}
	t.Log(chosen, reprieved)
	assert.Assert(t, chosen > 300 && reprieved > 100)
}

// lowest is the lowest worst class of any victims that are enough, and then the lowest priority of
// these.
func (s situation) lowest(enough func([]Candidate) bool) (least [2]int, found bool) {
	var able []Candidate
	for _, c := range s.node.On {
		if !c.Overdue && !c.Releasing && !c.Required && !c.Static && !c.Protected && !c.Outside && (c.Priority < s.ask.Priority || c.Priority == s.ask.Priority && !c.Foreign) {
			able = append(able, c)
		}
	}
	for set := 1; set < 1<<len(able); set++ {
		var victims []Candidate
		for i, c := range able {
			if set>>i&1 == 1 {
				victims = append(victims, c)
			}
		}
		p := priceOf(s, victims)
		if worst := [2]int{p.class, p.priority}; (!found || slices.Compare(worst[:], least[:]) < 0) && enough(victims) {
			least, found = worst, true
		}
	}
	return least, found
}
