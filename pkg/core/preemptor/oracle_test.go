package preemptor

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/internal/seeds"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// tight is a full node on which hardly any victims are lawful: the ask, the
// floors and the budgets are about what a few random candidates come to. The
// resource manager refuses the ask until one of each of some groups has ended.
func tight(r *rand.Rand, t Trigger) situation {
	width, n := 1+r.IntN(3), 2+r.IntN(5)
	if r.IntN(4) == 0 {
		n = 7 + r.IntN(6)
	}
	s := situation{cfg: DefaultConfig(), node: Node{Kinds: kindsOf(r, width), Free: make(resources.Amounts, width)}}
	s.cfg.Budgets = BudgetPolicy(r.IntN(3))
	s.ask = Ask{Trigger: t, Key: "ask", Priority: 30, Amounts: make(resources.Amounts, width)}
	most := []int64{3, 6, 1000}[r.IntN(3)]
	priorities := 1 + r.IntN(5)
	chains := [][]int32{{1, 0}, {2, 0}, {3}, nil}
	floors, budgets := r.IntN(4) > 0, r.IntN(3) > 0
	used, counts := make([]resources.Amounts, 4), make([]int, 1+r.IntN(3))
	quota := t == Quota || r.IntN(4) == 0
	for i := range n {
		c := Candidate{
			Key: fmt.Sprintf("c%02d", i), Amounts: make(resources.Amounts, width), Priority: int32(r.IntN(priorities)),
			Created: epoch.Add(-time.Duration(r.IntN(9)) * time.Minute), Owner: r.IntN(6) == 0,
			Elsewhere: quota && r.IntN(3) == 0,
		}
		for k := range c.Amounts {
			c.Amounts[k] = r.Int64N(most + 1)
		}
		if floors {
			c.Floors = chains[r.IntN(len(chains))]
		}
		for b := range counts {
			if budgets && r.IntN(2) == 0 {
				c.Budgets = append(c.Budgets, int32(b))
			}
		}
		s.node.On = append(s.node.On, c)
	}
	for _, c := range s.node.On {
		if r.IntN(3) > 0 {
			continue
		}
		for _, f := range c.Floors {
			used[f].Add(c.Amounts)
		}
		for _, b := range c.Budgets {
			counts[b]++
		}
		switch {
		case t == Quota || quota && (c.Elsewhere || r.IntN(3) == 0):
			s.node.Quota.Add(c.Amounts)
		case !c.Elsewhere:
			s.ask.Amounts.Add(c.Amounts)
		}
	}
	for f := range used {
		floor := Floor{Queue: fmt.Sprint("root.", f)}
		for kind := range resources.Kind(width) {
			if r.IntN(4) > 0 {
				floor.Surplus.Set(kind, used[f].Of(kind)+r.Int64N(2))
			}
		}
		if floors {
			s.node.Floors = append(s.node.Floors, floor)
		}
	}
	for b := range counts {
		if budgets {
			s.node.Budgets = append(s.node.Budgets, Budget{Name: fmt.Sprint("budget-", b), Allowed: counts[b] - r.IntN(3)})
		}
	}
	if t != Quota && r.IntN(2) == 0 {
		s.node.Fits = s.refusing(r)
	}
	if t == Quota {
		s.ask.Amounts = nil
	}
	return s
}

// refusing wants one of each of some groups to end.
func (s situation) refusing(r *rand.Rand) func([]string) error {
	var groups [][]string
	for range r.IntN(4) {
		var group []string
		for range 1 + r.IntN(3) {
			group = append(group, s.node.On[r.IntN(len(s.node.On))].Key)
		}
		groups = append(groups, group)
	}
	return func(removed []string) error {
		for _, group := range groups {
			if !slices.ContainsFunc(group, func(key string) bool { return slices.Contains(removed, key) }) {
				return errors.New("conflict")
			}
		}
		return nil
	}
}

// A result is what the oracle says about a set of victims: how many budgets it
// violates, and what it costs.
type result struct {
	price
	violations int
	victims    []Candidate
}

// lawful visits every set of victims that the documents allow: it covers the need,
// leaves every queue its guarantee, keeps hard budgets, and the resource manager
// agrees.
func (s situation) lawful(yield func(result)) {
	var able []Candidate
	for _, c := range s.node.On {
		if s.mayBeVictim(c) || s.node.Fits != nil && !c.Elsewhere {
			able = append(able, c)
		}
	}
	slices.SortFunc(able, s.order)
	for victims := range setsOf(able) {
		if len(victims) == 0 || !s.enough(victims) || !s.keeps(victims) {
			continue
		}
		if s.node.Fits != nil && s.node.Fits(removedWith(s, victims)) != nil {
			continue
		}
		v := result{violations: s.violations(victims), victims: slices.Clone(victims)}
		if s.cfg.Budgets == HardBudgets && v.violations > 0 {
			continue
		}
		v.price = priceOf(s, victims)
		yield(v)
	}
}

// best is the best lawful set by what the trigger promises.
func (s situation) best() (best result, found bool) {
	s.lawful(func(v result) {
		if !found || s.compareResults(v, best) < 0 {
			best, found = v, true
		}
	})
	return best, found
}

// compareResults compares by violations, where those come first. Then victims by
// priority are compared by importance, from the most important on, and others by
// class, priority, number and weight.
func (s situation) compareResults(a, b result) int {
	first, later := cmp.Compare(a.violations, b.violations), 0
	if s.cfg.Budgets == StrictPriority {
		first, later = 0, first
	}
	if s.ask.Trigger == Priority {
		return cmp.Or(first, s.compareImportance(a.victims, b.victims))
	}
	return cmp.Or(first, cmp.Compare(a.class, b.class), cmp.Compare(a.priority, b.priority), later,
		cmp.Compare(a.price.victims, b.price.victims), cmp.Compare(a.weight, b.weight))
}

func (s situation) compareImportance(a, b []Candidate) int {
	for i, j := len(a)-1, len(b)-1; ; i, j = i-1, j-1 {
		switch {
		case i < 0 && j < 0:
			return 0
		case i < 0:
			return -1
		case j < 0:
			return 1
		}
		if c := s.order(a[i], b[j]); c != 0 {
			return c
		}
	}
}

// TestOracle compares with all sets of victims: where a lawful set exists, victims
// are chosen, and they violate no more budgets than any other set.
func TestOracle(t *testing.T) {
	var pl Planner
	var chosen, none, violating, refused [Triggers]int
	undecided := 0
	for seed := range seeds.Of(t, 15_000) {
		trigger := Priority + Trigger(seed%3)
		s := tight(rand.New(rand.NewPCG(seed, 21)), trigger)
		if s.enough(nil) && (s.node.Fits == nil || s.node.Fits(nil) == nil) {
			continue
		}
		d := pl.Plan(epoch, s.cfg, s.ask, s.node)
		if !s.checkOracle(t, seed, d) {
			undecided++
			continue
		}
		if s.node.Fits == nil {
			assert.Equal(t, pl.Cost(s.cfg, s.ask, s.node), d.Cost, "seed %d", seed)
		} else {
			refused[trigger]++
		}
		switch {
		case d.Reason != Chosen || d.Partial:
			none[trigger]++
		case d.Violations > 0:
			violating[trigger]++
			fallthrough
		default:
			chosen[trigger]++
		}
	}
	t.Log("chosen", chosen, "violating", violating, "none", none, "with predicates", refused, "undecided", undecided)
	assert.Assert(t, undecided <= (refused[Priority]+refused[Guarantee])/30)
	for trigger := Priority; trigger <= Quota; trigger++ {
		assert.Assert(t, chosen[trigger] > seeds.Part(t, 1500) && none[trigger] > seeds.Part(t, 250) && violating[trigger] > seeds.Part(t, 500))
	}
}

// checkOracle holds a decision to what the oracle finds. Where guarantees or budgets bind and the
// resource manager wants one of several to end, it may be undecided, and then says so; or, seldom,
// other victims are of less importance.
func (s situation) checkOracle(t *testing.T, seed uint64, d Decision) (decided bool) {
	t.Helper()
	best, found := s.best()
	if s.node.Fits != nil && d.Reason != Chosen && slices.ContainsFunc(d.Failures, func(f Failure) bool { return f.Why == TooLong }) {
		return false
	}
	if !found {
		assert.Assert(t, d.Reason != Chosen || d.Partial, "seed %d: %s", seed, d)
		for _, f := range d.Failures {
			assert.Assert(t, f.Why != TooLong, "seed %d: %s", seed, f)
		}
		return true
	}
	assert.Equal(t, d.Reason, Chosen, "seed %d: %v, not %v", seed, d.Failures, keysIn(best.victims))
	assert.Assert(t, !d.Partial && d.Missing.Part == 0, "seed %d: %v", seed, keysIn(best.victims))
	victims := victimsOf(d)
	assert.Assert(t, s.enough(victims) && s.keeps(victims), "seed %d: %s", seed, d)
	assert.Assert(t, s.node.Fits == nil || s.node.Fits(removedWith(s, victims)) == nil, "seed %d: %s", seed, d)
	for i, v := range victims {
		rest := slices.Delete(slices.Clone(victims), i, i+1)
		assert.Assert(t, !s.enough(rest) || s.node.Fits != nil && s.node.Fits(removedWith(s, rest)) != nil, "seed %d: %s could stay", seed, v.Key)
	}
	assert.Equal(t, d.Violations, s.violations(victims), "seed %d", seed)
	if d.Proof.Stopped && s.node.Fits != nil {
		return false
	}
	assert.Assert(t, !d.Proof.Stopped, "seed %d", seed)
	if s.cfg.Budgets != StrictPriority {
		assert.Equal(t, d.Violations, best.violations, "seed %d: %s, not %v", seed, d, keysIn(best.victims))
	}
	if s.ask.Trigger == Priority && s.cfg.Budgets != StrictPriority && len(s.node.Floors) == 0 {
		if s.node.Fits != nil && len(s.node.Budgets) > 0 && !slices.Equal(keysIn(victims), keysIn(best.victims)) {
			return false
		}
		assert.Assert(t, slices.Equal(keysIn(victims), keysIn(best.victims)), "seed %d: %s, not %v", seed, d, keysIn(best.victims))
	}
	if s.ask.Trigger != Priority && s.node.Fits == nil {
		got := result{price: priceOf(s, victims), violations: d.Violations, victims: victims}
		assert.Equal(t, s.compareResults(got, best), 0, "seed %d: %s %v, not %v %v", seed, d, got.price, keysIn(best.victims), best.price)
		assert.Assert(t, d.Strategy == Minimal && d.Proof.Proved, "seed %d", seed)
	}
	return true
}
