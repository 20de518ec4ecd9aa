package scheduler_test

import (
	"errors"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler/schedulertest"
)

// TestDisruptionBudgetsForReaders are those that the resource manager knows; one that
// knows of none says so, and a partition that is not there is an error.
func TestDisruptionBudgetsForReaders(t *testing.T) {
	options := schedulertest.Options{Budgets: []scheduler.DisruptionBudget{{Name: "web", Allowed: 2, Allocations: []string{"pod-1", "pod-2"}}}}
	cluster(t, options, "vcore=8", func(t *testing.T, m *schedulertest.MockScheduler) {
		m.Ask("app-1", "pod-1", "vcore=1")
		m.Settle()
		budgets, err := m.DisruptionBudgets(t.Context(), "[rm]default", []api.AllocationKey{"pod-1"})
		assert.NilError(t, err)
		assert.DeepEqual(t, budgets, []api.DisruptionBudget{{Name: "web", Allowed: 2, Allocations: []api.AllocationKey{"pod-1"}}})
		_, err = m.DisruptionBudgets(t.Context(), "[rm]none", nil)
		assert.Assert(t, err != nil && !errors.Is(err, errors.ErrUnsupported), err)
	})
	bubble(t, schedulertest.Options{Plain: true}, func(t *testing.T, m *schedulertest.MockScheduler) {
		_, err := m.DisruptionBudgets(t.Context(), "[rm]default", nil)
		assert.ErrorIs(t, err, errors.ErrUnsupported)
	})
}
