package scheduler_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler/schedulertest"
)

// TestFeasibleForReaders asks the resource manager about asks that wait and nodes that there
// are, and about nothing else; nothing comes of the answers.
func TestFeasibleForReaders(t *testing.T) {
	var asked []string
	options := schedulertest.Options{Predicates: func(args *si.PredicatesArgs) error {
		asked = append(asked, args.AllocationKey+" on "+args.NodeID)
		if args.AllocationKey == "pod-1" {
			return nil
		}
		return fmt.Errorf("%s has no place on %s", args.AllocationKey, args.NodeID)
	}}
	cluster(t, options, "vcore=8", func(t *testing.T, m *schedulertest.MockScheduler) {
		m.Ask("app-1", "pod-1", "vcore=1")
		m.Ask("app-1", "pod-2", "vcore=1")
		m.Settle()
		asked = nil
		for _, question := range []struct {
			ask     api.AllocationKey
			node    api.NodeID
			refused string
		}{
			{"pod-2", "node-1", "pod-2 has no place on node-1"},
			{"pod-2", "node-9", ""},
			{"pod-1", "node-1", ""}, // it runs
			{"", "", ""},
		} {
			refused, err := (&scheduler.Configured{Scheduler: m.Scheduler}).Feasible(t.Context(), "[rm]default", question.ask, question.node)
			assert.NilError(t, err)
			if question.refused == "" {
				assert.NilError(t, refused)
			} else {
				assert.ErrorContains(t, refused, question.refused)
			}
		}
		assert.DeepEqual(t, asked, []string{"pod-2 on node-1"})
		_, err := (&scheduler.Configured{Scheduler: m.Scheduler}).Feasible(t.Context(), "[rm]none", "pod-2", "node-1")
		assert.Assert(t, err != nil && !errors.Is(err, errors.ErrUnsupported), err)
	})
	without := schedulertest.Options{Scheduler: scheduler.Config{SkipPredicates: true}}
	cluster(t, without, "vcore=8", func(t *testing.T, m *schedulertest.MockScheduler) {
		_, err := (&scheduler.Configured{Scheduler: m.Scheduler}).Feasible(t.Context(), "[rm]default", "", "")
		assert.ErrorIs(t, err, errors.ErrUnsupported)
	})
}
