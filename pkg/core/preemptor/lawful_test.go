package preemptor

import (
	"math/rand/v2"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// TestBoundOfViolations: of a budget that lets one go, another must go as well, however
// little is missing without it.
func TestBoundOfViolations(t *testing.T) {
	for asked, want := range map[int64]int{5: 0, 6: 1, 10: 1, 11: 2} {
		s := situation{cfg: DefaultConfig(), node: Node{Kinds: kindsOf(rand.New(rand.NewPCG(1, 1)), 1)}}
		s.ask = Ask{Trigger: RequiredNode, Key: "ask", Priority: 30, Amounts: resources.Amounts{asked}}
		s.node.Budgets = []Budget{{Name: "budget", Allowed: 1}}
		for i, key := range []string{"a", "b", "c"} {
			s.node.On = append(s.node.On, Candidate{
				Key: key, Created: epoch.Add(-time.Duration(i) * time.Minute), Amounts: resources.Amounts{5}, Budgets: []int32{0},
			})
		}
		var pl Planner
		d := pl.Plan(epoch, s.cfg, s.ask, s.node)
		assert.Equal(t, d.Violations, want, "%s", d)
	}
}

// TestTooManyVictims: a budget that does not bind is no reason why there are no victims, and one that does is the reason.
func TestTooManyVictims(t *testing.T) {
	for _, c := range []struct {
		strategy Strategy
		trigger  Trigger
		budgets  BudgetPolicy
		asked    int64
		allowed  int
		why      Bound
	}{
		{Minimal, RequiredNode, PreferBudgets, 11, 1, TooMany},
		{Minimal, RequiredNode, StrictPriority, 11, 1, TooMany},
		{Minimal, RequiredNode, HardBudgets, 10, 1, OverBudget},
		{Minimal, RequiredNode, HardBudgets, 11, 3, TooMany},
		{Multiple, Priority, HardBudgets, 10, 1, OverBudget},
		{Multiple, RequiredNode, HardBudgets, 11, 3, TooMany},
	} {
		s := situation{cfg: DefaultConfig(), node: Node{Kinds: kindsOf(rand.New(rand.NewPCG(1, 1)), 1)}}
		s.cfg.Strategies, s.cfg.VictimsMax, s.cfg.Budgets = []Strategy{c.strategy}, 2, c.budgets
		s.ask = Ask{Trigger: c.trigger, Key: "ask", Priority: 30, Amounts: resources.Amounts{c.asked}}
		s.node.Budgets = []Budget{{Name: "budget", Allowed: c.allowed}}
		for _, key := range []string{"a", "b", "c"} {
			s.node.On = append(s.node.On, Candidate{Key: key, Amounts: resources.Amounts{5}, Budgets: []int32{0}})
		}
		d := s.plan()
		assert.Assert(t, len(d.Failures) > 0, "%s", d)
		assert.Equal(t, d.Failures[0].Why, c.why, "%v", d.Failures)
	}
}
