package core

import (
	"errors"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// TestEveryQuestionIsCounted: a batch is over after so many questions, whatever they are about.
func TestEveryQuestionIsCounted(t *testing.T) {
	asked := 0
	refuses := func() error {
		asked++
		return errors.New("refused")
	}
	p := NewPartition(api.Options{
		Kinds:    new(resources.Kinds),
		Feasible: func(api.AllocationKey, api.NodeID, bool) error { return refuses() },
		Simulate: func(api.AllocationKey, api.NodeID, []api.AllocationKey, []api.AllocationKey) error { return refuses() },
		SelectVictims: func(api.AllocationKey, api.NodeID, []api.AllocationKey, []bool) ([]api.AllocationKey, error) {
			return nil, refuses()
		},
	}, api.Config{Name: "default", Root: api.QueueConfig{Name: "root", Parent: true, Queues: []api.QueueConfig{{Name: "q"}}}})
	now := time.Unix(0, 0)
	p.Apply(now, api.AddNode{ID: "n", Capacity: resources.Amounts{8}})
	p.Apply(now, api.AddApplication{ID: "a", Queue: "root.q"})
	p.Apply(now, api.AddAllocation{Allocation: &api.Allocation{Key: "runs", Application: "a", Node: "n", Amounts: resources.Amounts{1}}})
	p.Apply(now, api.AddAllocation{Allocation: &api.Allocation{Key: "waits", Application: "a", Amounts: resources.Amounts{1}}})
	p.Schedule(now)
	q, n, waits, runs := &p.predicates, p.FindNode("n"), p.Requests["waits"], p.Requests["runs"]
	victim := []api.AllocationKey{"runs"}
	for name, question := range map[string]func() error{
		"a placement":                func() error { _, err := q.Check(waits, n, true); return err },
		"the first node with room":   func() error { p.refused.AskAnew(p.ClassOf(waits)); p.refused.FirstFeasible(waits); return nil },
		"victims":                    func() error { return q.Simulate(waits, n, victim) },
		"two asks":                   func() error { return q.Beside(waits, n, victim, nil) },
		"one nominated to the node":  func() error { return q.Spoils("other", n, victim, nil) },
		"the place of a placeholder": func() error { q.MayReplace(waits, runs); return nil },
		"the choice of victims": func() error {
			q.BeginAttempt(waits)
			_, err := q.Choose(waits, n, []string{"runs"}, []bool{false})
			return err
		},
	} {
		asked = 0
		q.BeginBatch()
		_ = question()
		assert.Assert(t, asked > 0, name)
		assert.Equal(t, q.Calls, asked, name)
	}
}
