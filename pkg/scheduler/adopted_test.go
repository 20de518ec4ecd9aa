package scheduler_test

import (
	"testing"
	"testing/synctest"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler/schedulertest"
)

// A resource manager that restarts reports what runs, and asks for more. It is told to start
// only what it asked for, unless it waits for an echo.
func TestWhatRunsIsEchoedOnRequestOnly(t *testing.T) {
	for _, echo := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			m := schedulertest.New(t, schedulertest.Options{Scheduler: scheduler.Config{EchoAdopted: echo}})
			m.AddNode("node-1", "vcore=4")
			m.AddApplication("work", "root.default")
			m.Place("work", "runs", "node-1", "vcore=1")
			m.Ask("work", "waits", "vcore=1")
			assert.Equal(t, m.WaitPlaced("waits"), "node-1")
			_, told := m.Placed("runs")
			assert.Equal(t, told, echo)
			assert.Equal(t, len(m.Node("node-1").Allocations), 2)
		})
	}
}

// Readers may leave the resource manager out of the name of a partition while one only has it. The
// error says which there are.
func TestAShortNameFindsTheOnlyPartition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := schedulertest.New(t, schedulertest.Options{ID: "one"})
		for _, name := range []string{"[one]default", "default", "DEFAULT", ""} {
			view, err := one.View(t.Context(), name)
			assert.NilError(t, err)
			assert.Equal(t, view.Partition, "[one]default")
		}
		_, err := one.View(t.Context(), "gpu")
		assert.Error(t, err, "partition gpu: no such partition by that name; there are: [one]default")

		one.Join(schedulertest.Options{ID: "two"})
		_, err = one.View(t.Context(), "default")
		assert.ErrorIs(t, err, scheduler.ErrNoPartition)
		assert.Error(t, err, "partition default: no such partition by that name; there are: [one]default, [two]default")
		view, err := one.View(t.Context(), "[two]default")
		assert.NilError(t, err)
		assert.Equal(t, view.Partition, "[two]default")
	})
}
