package schedulertest_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler/schedulertest"
)

// There is room for the ask, but a small pod is in its way: this one goes and no
// other, whether the resource manager simulates or has predicates alone.
func TestAConflictIsResolved(t *testing.T) {
	for _, simulates := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			m := schedulertest.New(t, schedulertest.Options{Simulates: simulates, Conflicts: map[string][]string{"urgent": {"b"}}})
			m.AddNode("node-1", "vcore=12")
			m.AddApplication("app-1", "root.default")
			for _, key := range []string{"a", "b", "c", "d"} {
				m.Ask("app-1", key, "vcore=1", priority(1))
			}
			m.Ask("app-1", "urgent", "vcore=4", priority(9))
			assert.Equal(t, m.WaitPlaced("urgent"), "node-1")
			assert.DeepEqual(t, victims(m), []string{"b"})
		})
	}
}

// Where the resource manager cannot say what a node would be like, nothing is evicted in
// the hope that it helps.
func TestAConflictThatCannotBeSimulated(t *testing.T) {
	options := schedulertest.Options{
		Conflicts:            map[string][]string{"urgent": {"three"}},
		PreemptionPredicates: func(*si.PreemptionPredicatesArgs) *si.PreemptionPredicatesResponse { return nil },
	}
	crowded(t, options, func(t *testing.T, m *schedulertest.MockScheduler) {
		m.Ask("app-2", "urgent", "vcore=1", priority(9))
		m.Advance(time.Hour)
		assert.DeepEqual(t, victims(m), []string{})
		// Room alone is no such question.
		m.Ask("app-2", "large", "vcore=3", priority(9))
		assert.Equal(t, m.WaitPlaced("large"), "node-1")
		assert.DeepEqual(t, victims(m), []string{"six"})
	})
}

// hopeless is a refusal that no eviction would help.
type hopeless struct{}

func (hopeless) Error() string      { return "no such label" }
func (hopeless) Unresolvable() bool { return true }

// A node that refuses an ask whatever is evicted is left alone, and the other one makes room.
func TestAnUnresolvableRefusal(t *testing.T) {
	options := schedulertest.Options{
		Predicates: func(args *si.PredicatesArgs) error {
			if args.AllocationKey == "urgent" && args.NodeID == "node-1" {
				return hopeless{}
			}
			return nil
		},
		PredicatesWith: func(args *scheduler.PredicatesWithArgs) error {
			if args.NodeID == "node-1" {
				return fmt.Errorf("node-1: %w", hopeless{})
			}
			return nil
		},
	}
	crowded(t, options, func(t *testing.T, m *schedulertest.MockScheduler) {
		m.AddNode("node-2", "vcore=10")
		m.Place("app-1", "costly", "node-2", "vcore=10")
		m.Ask("app-2", "urgent", "vcore=3", priority(9))
		assert.Equal(t, m.WaitPlaced("urgent"), "node-2")
		assert.DeepEqual(t, victims(m), []string{"costly"})
	})
}

const preemptionConfig = `
partitions:
- name: default
  preemption: {%s}
  queues:
  - name: root
    queues:
    - name: default
`

// A budget is worth what the configuration says. Under it is the pod of the lower
// priority; either pod makes room.
func TestDisruptionBudgets(t *testing.T) {
	for _, c := range []struct {
		config  string
		allowed int
		want    []string
	}{
		{"", 0, []string{"mid"}},
		{"", 1, []string{"low"}},
		{"preemption_disruption_budgets: prefer", 0, []string{"mid"}},
		{"preemption_disruption_budgets: strict", 0, []string{"low"}},
		{"preemption_disruption_budgets: hard", 0, []string{"mid"}},
		{"preemption_disruption_budgets: hard", 1, []string{"low"}},
		{"preemption_priority: off", 1, []string{}},
	} {
		t.Run(fmt.Sprintf("%s allowed=%d", c.config, c.allowed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := schedulertest.New(t, schedulertest.Options{
					Config:       fmt.Sprintf(preemptionConfig, c.config),
					Budgets:      []scheduler.DisruptionBudget{{Name: "web", Allowed: c.allowed, Allocations: []string{"low"}}},
					KeepReleased: true,
				})
				m.AddNode("node-1", "vcore=10")
				m.AddApplication("app-1", "root.default")
				m.Ask("app-1", "low", "vcore=5", priority(1))
				m.Ask("app-1", "mid", "vcore=5", priority(5))
				m.Ask("app-1", "urgent", "vcore=5", priority(10))
				m.Advance(time.Minute)
				assert.DeepEqual(t, victims(m), c.want)
			})
		})
	}
}

// Which places an ask takes because of its priority, and which of two equal victims is
// evicted, is configured.
func TestPrioritiesAndOrder(t *testing.T) {
	tagged := func(class string) func(*si.Allocation) {
		return func(a *si.Allocation) { a.AllocationTags = map[string]string{"qosClass": class} }
	}
	for _, c := range []struct {
		config string
		asks   int32
		want   []string
	}{
		{"preemption_priority: strict", 1, []string{}},
		{"preemption_priority: strict", 2, []string{"older"}},
		{"preemption_priority: equal", 1, []string{"older"}},
		{"preemption_priority: equal", 0, []string{}},
		{"preemption_priority: off", 2, []string{}},
		{"preemption_victim_order: age", 2, []string{"younger"}},
		{"enabled: false", 2, []string{}},
	} {
		t.Run(fmt.Sprintf("%s asks=%d", c.config, c.asks), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := schedulertest.New(t, schedulertest.Options{Config: fmt.Sprintf(preemptionConfig, c.config), KeepReleased: true})
				m.AddNode("node-1", "vcore=10")
				m.AddApplication("app-1", "root.default")
				m.Ask("app-1", "older", "vcore=5", priority(1), tagged("BestEffort"))
				m.Advance(time.Second)
				m.Ask("app-1", "younger", "vcore=5", priority(1), tagged("Guaranteed"))
				m.Ask("app-1", "urgent", "vcore=5", priority(c.asks))
				m.Advance(time.Minute)
				assert.DeepEqual(t, victims(m), c.want)
			})
		})
	}
}

// An application that has room made again and again waits for the end of the window.
func TestALoopIsStopped(t *testing.T) {
	options := schedulertest.Options{Config: fmt.Sprintf(preemptionConfig, "preemption_loop_max: 1, preemption_loop_window: 1h")}
	crowded(t, options, func(t *testing.T, m *schedulertest.MockScheduler) {
		begin := time.Now()
		m.Ask("app-1", "again", "vcore=6", priority(1))
		m.Ask("app-2", "urgent", "vcore=6", priority(9))
		assert.DeepEqual(t, victims(m), []string{"six"})
		m.FailBinding("app-2", "urgent")
		assert.Equal(t, m.WaitPlaced("again"), "node-1")
		m.Advance(time.Hour - time.Since(begin) - time.Nanosecond)
		assert.DeepEqual(t, victims(m), []string{"six"})
		m.Advance(time.Minute)
		assert.DeepEqual(t, victims(m), []string{"six", "again"})
		_, placed := m.Placed("urgent")
		assert.Assert(t, placed)
	})
}

// What cannot be had within a budget is taken from it, or not at all.
func TestABudgetThatIsInTheWay(t *testing.T) {
	for _, c := range []struct {
		policy string
		want   []string
	}{
		{"prefer", []string{"six"}},
		{"strict", []string{"six"}},
		{"hard", []string{}},
	} {
		t.Log(c.policy)
		options := schedulertest.Options{
			Config:       fmt.Sprintf(preemptionConfig, "preemption_disruption_budgets: "+c.policy),
			Budgets:      []scheduler.DisruptionBudget{{Name: "web", Allocations: []string{"three", "six"}}},
			KeepReleased: true,
		}
		crowded(t, options, func(t *testing.T, m *schedulertest.MockScheduler) {
			m.Ask("app-2", "urgent", "vcore=3", priority(9))
			m.Advance(time.Minute)
			assert.DeepEqual(t, victims(m), c.want)
		})
	}
}

// Two asks that come at once do not both use what one budget allows.
func TestABudgetIsUsedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := schedulertest.New(t, schedulertest.Options{
			Config:       fmt.Sprintf(preemptionConfig, "preemption_disruption_budgets: hard"),
			Budgets:      []scheduler.DisruptionBudget{{Name: "web", Allowed: 1, Allocations: []string{"web-1", "web-2"}}},
			KeepReleased: true,
		})
		m.AddApplication("app-1", "root.default")
		for i := range 2 {
			m.AddNode(fmt.Sprintf("node-%d", i), "vcore=5")
			m.Place("app-1", fmt.Sprintf("web-%d", i+1), fmt.Sprintf("node-%d", i), "vcore=5")
		}
		var asks []*si.Allocation
		for i := range 2 {
			asks = append(asks, &si.Allocation{
				AllocationKey: fmt.Sprintf("urgent-%d", i), ApplicationID: "app-1", PartitionName: "default",
				ResourcePerAlloc: schedulertest.Resource("vcore=5"), Priority: 9,
			})
		}
		assert.NilError(t, m.Send(asks...))
		m.Advance(time.Minute)
		assert.Equal(t, len(victims(m)), 1, "%v", victims(m))
	})
}

// Candidates that would exceed a budget are marked for the choice, and what exceeds a
// hard one is no choice.
func TestVictimsUnderABudget(t *testing.T) {
	var asked []*scheduler.SelectVictimsArgs
	options := schedulertest.Options{
		Config:       fmt.Sprintf(preemptionConfig, "preemption_disruption_budgets: hard"),
		Budgets:      []scheduler.DisruptionBudget{{Name: "web", Allocations: []string{"six"}}},
		KeepReleased: true,
		SelectVictims: func(args *scheduler.SelectVictimsArgs) ([]string, error) {
			asked = append(asked, args)
			return []string{"six"}, nil
		},
	}
	crowded(t, options, func(t *testing.T, m *schedulertest.MockScheduler) {
		m.Ask("app-2", "urgent", "vcore=3", priority(9))
		m.Advance(time.Second)
		assert.DeepEqual(t, victims(m), []string{})
		for _, args := range asked {
			for i, key := range args.Candidates {
				assert.Equal(t, args.Violating[i], key == "six")
			}
		}
		assert.Assert(t, len(asked) > 0)
	})
}

// The resource manager chooses victims. What it names beyond the candidates does not
// count, and a choice that is not enough is none.
func TestVictimsOfTheResourceManager(t *testing.T) {
	for _, c := range []struct {
		name   string
		choice []string
		err    error
		want   []string
	}{
		{"as the scheduler would", []string{"six"}, nil, []string{"six"}},
		{"otherwise", []string{"three"}, nil, []string{"three"}},
		{"with nonsense", []string{"unknown", "three", "three", ""}, nil, []string{"three"}},
		{"too little", []string{}, nil, []string{}},
		{"no choice", nil, errors.New("not here"), []string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			options := schedulertest.Options{
				KeepReleased: true,
				SelectVictims: func(args *scheduler.SelectVictimsArgs) ([]string, error) {
					assert.DeepEqual(t, args, &scheduler.SelectVictimsArgs{
						AllocationKey: "urgent", NodeID: "node-1", Candidates: []string{"three", "six"}, Violating: []bool{false, false},
					})
					return c.choice, c.err
				},
			}
			crowded(t, options, func(t *testing.T, m *schedulertest.MockScheduler) {
				m.Ask("app-2", "urgent", "vcore=3", priority(9))
				m.Advance(time.Second)
				assert.DeepEqual(t, victims(m), c.want)
			})
		})
	}
}
