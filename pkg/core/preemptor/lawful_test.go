package preemptor

import (
	"math/rand/v2"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// TestMultipleSavesSteps: where the quick way finds victims, the search takes no steps
// for them. Without it these nodes take 13,709.
func TestMultipleSavesSteps(t *testing.T) {
	steps := int64(0)
	for seed := range uint64(30) {
		s := hardBoundNode(rand.New(rand.NewPCG(seed, 3)), 12)
		steps += s.plan().Proof.Steps
	}
	assert.Assert(t, steps > 0 && steps < 13_300, "%d steps", steps)
}

// TestBoundOfViolations: of a budget that lets one go, another must go as well, however
// little is missing without it.
func TestBoundOfViolations(t *testing.T) {
	for asked, want := range map[int64]int{5: 0, 6: 1, 10: 1, 11: 2} {
		s := situation{cfg: DefaultConfig(), node: Node{Kinds: kindsOf(rand.New(rand.NewPCG(1, 1)), 1)}}
		s.ask = Ask{Trigger: Priority, Key: "ask", Priority: 30, Amounts: resources.Amounts{asked}}
		s.node.Budgets = []Budget{{Name: "budget", Allowed: 1}}
		for i, key := range []string{"a", "b", "c"} {
			s.node.On = append(s.node.On, Candidate{
				Key: key, Created: epoch.Add(-time.Duration(i) * time.Minute), Amounts: resources.Amounts{5}, Budgets: []int32{0},
			})
		}
		var pl Planner
		d := pl.Plan(epoch, s.cfg, s.ask, s.node)
		assert.Equal(t, d.Violations, want, "%s", d)
		r := &pl.plan.reprieval
		assert.Equal(t, r.boundViolations(), want, "asked for %d", asked)
	}
}

// TestTooManyVictims: a budget that does not bind is no reason why there are no victims.
func TestTooManyVictims(t *testing.T) {
	for _, c := range []struct {
		budgets BudgetPolicy
		asked   int64
		allowed int
		why     Bound
	}{
		{PreferBudgets, 11, 1, TooMany},
		{StrictPriority, 11, 1, TooMany},
		{HardBudgets, 10, 1, OverBudget},
		{HardBudgets, 11, 3, TooMany},
	} {
		s := situation{cfg: DefaultConfig(), node: Node{Kinds: kindsOf(rand.New(rand.NewPCG(1, 1)), 1)}}
		s.cfg.Strategies, s.cfg.VictimsMax, s.cfg.Budgets = []Strategy{Minimal}, 2, c.budgets
		s.ask = Ask{Trigger: RequiredNode, Key: "ask", Priority: 30, Amounts: resources.Amounts{c.asked}}
		s.node.Budgets = []Budget{{Name: "budget", Allowed: c.allowed}}
		for _, key := range []string{"a", "b", "c"} {
			s.node.On = append(s.node.On, Candidate{Key: key, Amounts: resources.Amounts{5}, Budgets: []int32{0}})
		}
		d := s.plan()
		assert.Assert(t, len(d.Failures) > 0, "%s", d)
		assert.Equal(t, d.Failures[0].Why, c.why, "%v", d.Failures)
	}
}

// TestProvedMaxIsIncluded: among as many candidates the result is proved.
func TestProvedMaxIsIncluded(t *testing.T) {
	for n, steps := range map[int]int64{ProvedMax: stepsTried, ProvedMax + 1: DefaultConfig().StepsMax} {
		var p plan
		p.ranked, p.rules = make([]eligible, n), &triggerRules{}
		p.cfg = DefaultConfig()
		assert.Equal(t, (&search{plan: &p}).stepsMax(), steps, "%d candidates", n)
	}
}
