package preemptor

import (
	"fmt"
	"math/rand/v2"
	"slices"
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
// proved for, and with ten times as many. Where few victims are enough they are always found.
// Where all is tight at once, the search may be stopped, and says so.
func TestExactBeyondTheBound(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	var pl Planner
	for _, c := range []struct {
		candidates int
		victims    []int
		slack      int // how much more than needed the planted victims hold, in percent
		stopped    int // in how many of twelve plans the search may be stopped
	}{
		{64, []int{1, 2, 3, 5, 10}, 0, 0},
		{64, []int{20}, 0, 8},
		{64, []int{1, 2, 3, 5, 10}, 10, 0},
		{64, []int{20}, 10, 6},
		{640, []int{1, 2, 3}, 0, 0},
		{640, []int{5}, 0, 2},
		{640, []int{10, 20, 60}, 20, 8},
	} {
		for _, victims := range c.victims {
			stopped := 0
			for seed := range uint64(12) {
				s, lawful := planted(rand.New(rand.NewPCG(seed, 31)), Priority+Trigger(seed%3), c.candidates, victims, c.slack)
				assert.Assert(t, s.enough(lawful) && s.keeps(lawful) && s.violations(lawful) == 0)
				d := pl.Plan(epoch, s.cfg, s.ask, s.node)
				assert.Equal(t, pl.Cost(s.cfg, s.ask, s.node), d.Cost)
				if d.Reason != Chosen || d.Partial { // of a quota what can go goes
					tooLong := slices.ContainsFunc(d.Failures, func(f Failure) bool { return f.Why == TooLong })
					assert.Assert(t, tooLong || d.Proof.Stopped, "%d of %d, seed %d: %v", victims, c.candidates, seed, d.Failures)
					stopped++
					continue
				}
				s.checkChoice(t, seed, d)
			}
			t.Logf("%d of %d with %d%% more: stopped in %d of 12", victims, c.candidates, c.slack, stopped)
			assert.Assert(t, stopped <= c.stopped, "%d of %d: stopped %d times", victims, c.candidates, stopped)
		}
	}
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
	assert.Equal(t, d.Failures[0].String(), "most important stay: stopped after 20000 steps")
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
	steps := pl.plan.search.steps
	assert.Assert(t, steps > 0 && steps < 30_000, "%d steps", steps)
	s.ask.Amounts[0]++
	d = pl.Plan(epoch, s.cfg, s.ask, s.node)
	assert.Equal(t, d.Failures[0].Why, TooLittle)
	assert.Assert(t, pl.plan.search.steps < 30_000, "%d steps", pl.plan.search.steps)
}

// TestTwinsGoInOneOrder: of victims that hold the same, all sets would differ in nothing but names. The search takes the
// less harmful ones first, also where it has to come back to several kinds of them.
func TestTwinsGoInOneOrder(t *testing.T) {
	var pl Planner
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := situation{cfg: DefaultConfig(), node: Node{Kinds: kindsOf(r, 2)}}
		s.cfg.Budgets, s.cfg.StepsMax = HardBudgets, 200_000
		s.ask = Ask{Trigger: Priority, Key: "ask", Priority: 9, Amounts: resources.Amounts{16 + r.Int64N(8), 10 + r.Int64N(8)}}
		for q := range 3 {
			s.node.Floors = append(s.node.Floors, Floor{Queue: fmt.Sprint("root.", q), Surplus: resources.Limits{8 + r.Int64N(12), 5 + r.Int64N(12)}})
			s.node.Budgets = append(s.node.Budgets, Budget{Name: fmt.Sprint("budget-", q), Allowed: 3})
		}
		for i := range 40 {
			c := Candidate{Key: fmt.Sprintf("c%02d", i), Created: epoch, Priority: r.Int32N(3), Amounts: resources.Amounts{1 + r.Int64N(3), 1 + r.Int64N(2)}}
			c.Floors = []int32{r.Int32N(3)}
			c.Budgets = c.Floors
			s.node.On = append(s.node.On, c)
		}
		pl.Plan(epoch, s.cfg, s.ask, s.node)
	}
	assert.Assert(t, pl.Steps() < 4_000_000, "%d steps", pl.Steps())
}
