package preemptor

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// planted is a node of many candidates below ten queues with guarantees and in ten
// budgets. Some random victims, on which no allowance is wasted, are exactly
// enough, so that hardly any others are lawful.
func planted(r *rand.Rand, t Trigger, n, victims, slack int) (s situation, lawful []Candidate) {
	s = situation{cfg: DefaultConfig(), node: Node{Kinds: kindsOf(r, 2)}}
	s.cfg.Budgets = HardBudgets
	s.ask = Ask{Trigger: t, Key: "ask", Priority: 30, Amounts: make(resources.Amounts, 2)}
	surplus, allowed := make([]resources.Amounts, 11), make([]int, 10)
	sizes := []int64{100, 250, 500, 1000, 2000, 4000}
	chosen := r.Perm(n)[:victims]
	for i := range n {
		c := Candidate{
			Key: fmt.Sprintf("c%03d", i), Priority: int32(r.IntN(20)), Created: epoch.Add(-time.Duration(r.IntN(999)) * time.Minute),
			Amounts: resources.Amounts{sizes[r.IntN(6)], sizes[r.IntN(6)] << 20},
			Floors:  []int32{int32(1 + r.IntN(10)), 0}, Budgets: []int32{int32(r.IntN(10))},
		}
		s.node.On = append(s.node.On, c)
		if slices.Contains(chosen, i) {
			lawful = append(lawful, c)
			s.ask.Amounts.Add(c.Amounts)
			allowed[c.Budgets[0]]++
			for _, f := range c.Floors {
				surplus[f].Add(c.Amounts)
			}
		}
	}
	for k, v := range s.ask.Amounts {
		s.ask.Amounts[k] = v - v*int64(slack)/100
	}
	if t == Quota {
		s.node.Quota, s.ask.Amounts = s.ask.Amounts, nil
	}
	for f := range surplus {
		s.node.Floors = append(s.node.Floors, Floor{Queue: fmt.Sprint("root.", f), Surplus: resources.Limits(surplus[f].Plus(resources.Amounts{0, 0}))})
	}
	for b := range allowed {
		s.node.Budgets = append(s.node.Budgets, Budget{Name: fmt.Sprint("budget-", b), Allowed: allowed[b]})
	}
	return s, lawful
}

// TestExactBeyondTheBound plans for nodes with as many candidates as the result is
// proved for, where the search always comes to an end, and with ten times as many,
// where it finds what is not a needle in a haystack.
func TestExactBeyondTheBound(t *testing.T) {
	var pl Planner
	for _, c := range []struct {
		candidates int
		victims    []int
		slack      int // how much more than needed the planted victims hold, in percent
	}{
		{64, []int{1, 2, 3, 5, 10, 20}, 0},
		{64, []int{1, 2, 3, 5, 10, 20}, 10},
		{640, []int{1, 2, 3, 5}, 0},
		{640, []int{10, 20, 60}, 20},
	} {
		for _, victims := range c.victims {
			for seed := range uint64(12) {
				s, lawful := planted(rand.New(rand.NewPCG(seed, 31)), Priority+Trigger(seed%3), c.candidates, victims, c.slack)
				assert.Assert(t, s.enough(lawful) && s.keeps(lawful) && s.violations(lawful) == 0)
				d := pl.Plan(epoch, s.cfg, s.ask, s.node)
				assert.Assert(t, d.Reason == Chosen && !d.Partial, "%d of %d, seed %d: %v", victims, c.candidates, seed, d.Failures)
				s.checkChoice(t, seed, d)
				assert.Equal(t, pl.Cost(s.cfg, s.ask, s.node), d.Cost)
			}
		}
	}
}

// crowded is a node of few sizes below three queues, which can spare about a half, and
// in two budgets.
func crowded(r *rand.Rand, n int) situation {
	s := situation{cfg: DefaultConfig(), node: Node{Kinds: kindsOf(r, 2)}}
	sums := make([]resources.Amounts, 4)
	for i := range n {
		c := Candidate{
			Key: fmt.Sprintf("c%02d", i), Priority: int32(r.IntN(5)), Created: epoch,
			Amounts: resources.Amounts{1 << r.IntN(3), 1 + r.Int64N(3)}, Floors: []int32{int32(1 + r.IntN(3)), 0}, Budgets: []int32{int32(r.IntN(2))},
		}
		for _, f := range c.Floors {
			sums[f].Add(c.Amounts)
		}
		s.node.On = append(s.node.On, c)
	}
	for f, sum := range sums {
		s.node.Floors = append(s.node.Floors, Floor{Queue: fmt.Sprint("root.", f), Surplus: resources.Limits{sum.Of(0) * 55 / 100, sum.Of(1) * 45 / 100}})
	}
	s.node.Budgets = []Budget{{Name: "web", Allowed: r.IntN(5)}, {Name: "db", Allowed: r.IntN(5)}}
	part := 25 + r.Int64N(20)
	s.ask = Ask{Trigger: Priority, Key: "ask", Priority: 9, Amounts: resources.Amounts{sums[0][0] * part / 100, sums[0][1] * part / 100}}
	return s
}

// TestExactDescentIsItsTwin compares the two ways to search, each of which can answer
// alone, on nodes of few sizes, where states come back.
func TestExactDescentIsItsTwin(t *testing.T) {
	var pl Planner
	var answers [3]int
	for seed := range uint64(1500) {
		r := rand.New(rand.NewPCG(seed, 33))
		s := crowded(r, 12+r.IntN(9))
		s.cfg.Budgets = BudgetPolicy(r.IntN(3))
		p := &pl.plan
		p.start(s.cfg, s.ask, s.node)
		if p.filter(); p.nothingToChoose() {
			continue
		}
		p.rank()
		all := make([]int, len(p.ranked))
		for i := range all {
			all[i] = i
		}
		x := &p.exact
		x.reset(&p.problem)
		x.begin(all, r.IntN(4)-1)
		if x.refuted {
			continue
		}
		want := x.searchByImportance(1 << 40)
		victims := slices.Clone(x.best)
		x.setGroups()
		x.relax()
		got := x.findWithin(1 << 40)
		assert.Equal(t, got, want, "seed %d", seed)
		answers[got]++
		if got == yes {
			x.spare()
			assert.DeepEqual(t, x.best, victims)
		}
	}
	t.Log(answers)
	assert.Assert(t, answers[yes] > 100 && answers[no] > 100)
}

// TestExactProvesThatThereAreNone asks for a little more than there is.
func TestExactProvesThatThereAreNone(t *testing.T) {
	var pl Planner
	for _, victims := range []int{1, 2, 3, 5, 10, 20} {
		for seed := range uint64(12) {
			s, _ := planted(rand.New(rand.NewPCG(seed, 32)), Priority+Trigger(seed%2), 64, victims, -1)
			for _, f := range pl.Plan(epoch, s.cfg, s.ask, s.node).Failures {
				assert.Assert(t, f.Why == TooLittle || f.Why == OverBudget, "%d victims, seed %d: %s", victims, seed, f)
			}
		}
	}
}

// TestExactSaysWhatIsNotProved stops the search.
func TestExactSaysWhatIsNotProved(t *testing.T) {
	s, _ := planted(rand.New(rand.NewPCG(1, 31)), Priority, 640, 20, 0)
	d := s.plan()
	assert.Equal(t, d.Reason, NothingHelps)
	assert.Equal(t, d.Failures[0].String(), "most important stay: stopped after 40000 steps")
	s.cfg.Budgets, s.node.Floors = PreferBudgets, nil
	for i := range s.node.On {
		s.node.On[i].Floors = nil
	}
	text := s.plan().Explain(s.node.Kinds)
	assert.Assert(t, strings.Contains(text, "stopped after"), text)
}

// TestExactGroupsEqualCandidates plans for equal pods of ten queues, each of which can
// spare three of them in ten budgets: thirty are needed, and no more may go.
func TestExactGroupsEqualCandidates(t *testing.T) {
	s := situation{cfg: DefaultConfig(), node: Node{Kinds: kindsOf(rand.New(rand.NewPCG(1, 1)), 1)}}
	s.cfg.Budgets = HardBudgets
	s.ask = Ask{Trigger: Priority, Key: "ask", Priority: 9, Amounts: resources.Amounts{30}}
	for q := range 10 {
		s.node.Floors = append(s.node.Floors, Floor{Queue: fmt.Sprint("root.", q), Surplus: resources.Limits{3}})
		s.node.Budgets = append(s.node.Budgets, Budget{Name: fmt.Sprint("budget-", q), Allowed: 3})
	}
	for i := range 640 {
		// What the least important of a queue leave of their budget is too little for others.
		c := Candidate{Key: fmt.Sprintf("c%03d", i), Created: epoch, Amounts: resources.Amounts{1}, Floors: []int32{int32(i % 10)}, Budgets: []int32{int32(i / 64)}}
		s.node.On = append(s.node.On, c)
	}
	var pl Planner
	d := pl.Plan(epoch, s.cfg, s.ask, s.node)
	assert.Equal(t, d.Reason, Chosen, "%v", d.Failures)
	s.checkChoice(t, 0, d)
	steps := pl.plan.exact.steps
	assert.Assert(t, steps > 0 && steps < 30_000, "%d steps", steps)
	s.ask.Amounts[0]++
	d = pl.Plan(epoch, s.cfg, s.ask, s.node)
	assert.Equal(t, d.Failures[0].Why, TooLittle)
	assert.Assert(t, pl.plan.exact.steps < 30_000, "%d steps", pl.plan.exact.steps)
}
