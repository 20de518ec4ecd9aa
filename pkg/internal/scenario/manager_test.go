package scenario

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

func played(t *testing.T, commands ...string) *world {
	t.Helper()
	s, err := parse(strings.Join(commands, "\n") + "\n----\n")
	assert.NilError(t, err)
	w := newWorld(s)
	_, err = w.play(s.steps[0])
	assert.NilError(t, err)
	return w
}

// TestTheManagerAnswersWhatTheScenarioSays shows that the resource manager can do
// only what the verbs of the scenario are about.
func TestTheManagerAnswersWhatTheScenarioSays(t *testing.T) {
	for _, test := range []struct {
		command                     string
		simulates, budgets, chooses bool
	}{
		{command: "node n1 vcore=1"},
		{command: "refuse a n1 no", simulates: true},
		{command: "conflict a b", simulates: true},
		{command: "budget b allowed=1\n  a", budgets: true},
		{command: "choose a b", chooses: true},
	} {
		o := played(t, test.command).options
		assert.Equal(t, o.Simulate != nil, test.simulates, test.command)
		assert.Equal(t, o.Budgets != nil, test.budgets, test.command)
		assert.Equal(t, o.SelectVictims != nil, test.chooses, test.command)
	}
}

// TestConflicts shows that conflicts are between two allocations, in both directions,
// with those that run on the node and those that are added, and not with those that
// are removed.
func TestConflicts(t *testing.T) {
	w := played(t, "conflict a b", "node n1 vcore=4", "node n2 vcore=4", "application x", "ask b application=x node=n1 vcore=1")
	keys := func(list ...api.AllocationKey) []api.AllocationKey { return list }
	assert.ErrorContains(t, w.manager.feasible("a", "n1", true), "conflicts with b")
	assert.NilError(t, w.manager.feasible("a", "n1", false))
	assert.NilError(t, w.manager.feasible("a", "n2", true))
	assert.NilError(t, w.manager.simulate("a", "n1", nil, keys("b")))
	assert.ErrorContains(t, w.manager.simulate("a", "n2", keys("b"), nil), "conflicts with b")
	assert.ErrorContains(t, w.manager.simulate("b", "n2", keys("a"), nil), "conflicts with a")
}

// TestNeeds shows that the allocation that is named first has the need.
func TestNeeds(t *testing.T) {
	w := played(t, "need a b", "node n1 vcore=4", "node n2 vcore=4", "application x", "ask b application=x node=n1 vcore=1")
	assert.NilError(t, w.manager.feasible("a", "n1", true))
	assert.NilError(t, w.manager.feasible("b", "n2", true))
	assert.ErrorContains(t, w.manager.feasible("a", "n2", true), "needs b beside it")
	assert.ErrorContains(t, w.manager.simulate("a", "n1", nil, []api.AllocationKey{"b"}), "needs b beside it")
}

// TestBudgetsCountEvictions shows that evictions use up the budget, and that a
// budget that is set again begins anew.
func TestBudgetsCountEvictions(t *testing.T) {
	w := played(t, "budget web allowed=1\n  a b", "node n1 vcore=2", "application x",
		"ask a application=x node=n1 vcore=1", "ask b application=x node=n1 vcore=1",
		"ask c application=x priority=9 vcore=1", "schedule")
	left := w.manager.budgetsOf([]api.AllocationKey{"a"})
	assert.Equal(t, len(left), 1)
	assert.Equal(t, left[0].Allowed, 0)
	assert.DeepEqual(t, left[0].Allocations, []api.AllocationKey{"a"})
	assert.Equal(t, len(w.manager.budgetsOf([]api.AllocationKey{"c"})), 0)

	s, err := parse("budget web allowed=2\n  a b\n----\n")
	assert.NilError(t, err)
	_, err = w.play(s.steps[0])
	assert.NilError(t, err)
	assert.Equal(t, w.manager.budgetsOf([]api.AllocationKey{"b"})[0].Allowed, 2)
}
