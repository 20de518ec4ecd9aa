package schedulertest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler/schedulertest"
)

func priority(p int32) func(*si.Allocation) {
	return func(a *si.Allocation) { a.Priority = p }
}

// crowded is a bubble with a node of 10 cores, on which a pod of 3 cores and
// priority 2 and one of 6 cores and priority 1 run.
func crowded(t *testing.T, options schedulertest.Options, test func(t *testing.T, m *schedulertest.MockScheduler)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m := schedulertest.New(t, options)
		m.AddNode("node-1", "vcore=10")
		m.AddApplication("app-1", "root.default")
		m.AddApplication("app-2", "root.default")
		m.Ask("app-1", "three", "vcore=3", priority(2))
		m.Ask("app-1", "six", "vcore=6", priority(1))
		m.Heard()
		test(t, m)
	})
}

// victims are the allocations that were evicted, in order.
func victims(m *schedulertest.MockScheduler) []string {
	keys := []string{}
	told, _ := released(m)
	for _, r := range told {
		if r.TerminationType == si.TerminationType_PREEMPTED_BY_SCHEDULER {
			keys = append(keys, r.AllocationKey)
		}
	}
	return keys
}

// withoutReasons are lines without what people may read after the state of an ask.
func withoutReasons(lines []string) []string {
	for i, line := range lines {
		if at := strings.Index(line, ": nominated to"); at > 0 {
			lines[i] = line[:at]
		}
		if at := strings.Index(line, ": no longer"); at > 0 {
			lines[i] = line[:at]
		}
	}
	return lines
}

// An ask of a higher priority is nominated before its victim is evicted, at once,
// and placed when the victim has ended. A plain resource manager hears the same but
// for the node.
func TestANomination(t *testing.T) {
	for _, plain := range []bool{false, true} {
		crowded(t, schedulertest.Options{KeepReleased: true, Plain: plain}, func(t *testing.T, m *schedulertest.MockScheduler) {
			begin := time.Now()
			m.Ask("app-2", "urgent", "vcore=3", priority(9))
			want := []string{
				"allocation urgent is RESERVED",
				"allocation urgent nominated to node-1",
				"allocation six released: PREEMPTED_BY_SCHEDULER",
			}
			if plain {
				want = slices.Delete(want, 1, 2)
			}
			assert.DeepEqual(t, withoutReasons(ofPods(m)), want)
			_, at := released(m)
			assert.Equal(t, at[0], begin)
			node, nominated := m.Nominated("urgent")
			assert.Equal(t, nominated, !plain)
			assert.Equal(t, node, map[bool]string{false: "node-1"}[plain])

			m.Advance(time.Minute)
			assert.Equal(t, len(ofPods(m)), 0)
			m.Confirm("six")
			assert.DeepEqual(t, ofPods(m), []string{"allocation urgent placed on node-1"})
			_, nominated = m.Nominated("urgent")
			assert.Assert(t, !nominated)
		})
	}
}

// The text of the state says why, and the event where.
func TestTheTextsOfANomination(t *testing.T) {
	crowded(t, schedulertest.Options{KeepReleased: true}, func(t *testing.T, m *schedulertest.MockScheduler) {
		m.Ask("app-2", "urgent", "vcore=3", priority(9))
		var reason string
		for _, call := range m.Calls() {
			if state, ok := call.Message.(*si.UpdateContainerSchedulingStateRequest); ok {
				assert.Equal(t, state.State, si.UpdateContainerSchedulingStateRequest_RESERVED)
				assert.Equal(t, state.ApplicationID, "app-2")
				assert.Equal(t, state.AllocationKey, "urgent")
				reason = state.Reason
			}
		}
		assert.Assert(t, strings.Contains(reason, "node-1"), reason)
		var events []*si.EventRecord
		for _, e := range m.Events() {
			if e.ObjectID == "urgent" && e.EventChangeDetail == si.EventRecord_NODE_RESERVATION {
				events = append(events, e)
			}
		}
		assert.Equal(t, len(events), 1)
		assert.Equal(t, events[0].ReferenceID, "node-1")
		assert.Equal(t, events[0].Message, reason)
		assert.Assert(t, strings.Contains(preempted(m)[0].Message, "to make room for urgent of application app-2"))
	})
}

// A node that leaves takes the nomination with it, which is told.
func TestANominationThatIsCleared(t *testing.T) {
	for _, plain := range []bool{false, true} {
		crowded(t, schedulertest.Options{KeepReleased: true, Plain: plain}, func(t *testing.T, m *schedulertest.MockScheduler) {
			m.Ask("app-2", "urgent", "vcore=3", priority(9))
			m.Heard()
			m.RemoveNode("node-1")
			heard := withoutReasons(ofPods(m))
			assert.Assert(t, slices.Contains(heard, "allocation urgent is SKIPPED"), "%v", heard)
			assert.Equal(t, slices.Contains(heard, "allocation urgent nominated no more"), !plain)
			_, nominated := m.Nominated("urgent")
			assert.Assert(t, !nominated)

			m.AddNode("node-2", "vcore=4")
			assert.Equal(t, m.WaitPlaced("urgent"), "node-2")
		})
	}
}

// A shim takes a nomination into account when the callback has returned; a question
// about the node is not asked before.
func TestQuestionsComeAfterANomination(t *testing.T) {
	var known bool
	options := schedulertest.Options{
		KeepReleased: true,
		During: func(call schedulertest.Call) error {
			if n, ok := call.Message.(schedulertest.Nominated); ok && n.Key == "urgent" {
				time.Sleep(time.Second)
				known = true
			}
			return nil
		},
		PredicatesWith: func(args *scheduler.PredicatesWithArgs) error {
			if args.AllocationKey == "later" && !known {
				return fmt.Errorf("asked too early")
			}
			return nil
		},
	}
	crowded(t, options, func(t *testing.T, m *schedulertest.MockScheduler) {
		m.Ask("app-2", "urgent", "vcore=3", priority(9))
		m.Ask("app-2", "later", "vcore=6", priority(8))
		m.Advance(time.Hour)
		assert.DeepEqual(t, victims(m), []string{"six", "three"})
		asked := m.Asked()
		i := slices.IndexFunc(asked, func(line string) bool { return strings.HasPrefix(line, "may later") })
		assert.Equal(t, asked[i], "may later run on node-1 with [urgent] without [six three]?")
	})
}

// After a panic in an optional interface it is called again, and everything goes on.
func TestPanicsDoNotEndAnything(t *testing.T) {
	options := schedulertest.Options{
		Simulates:         true,
		DisruptionBudgets: func([]string) []scheduler.DisruptionBudget { panic("budgets") },
		During: func(call schedulertest.Call) error {
			if _, ok := call.Message.(schedulertest.Nominated); ok {
				panic("nominated")
			}
			return nil
		},
	}
	crowded(t, options, func(t *testing.T, m *schedulertest.MockScheduler) {
		m.Ask("app-2", "urgent", "vcore=3", priority(9))
		assert.Equal(t, m.WaitPlaced("urgent"), "node-1")
		assert.Equal(t, len(victims(m)), 1)
	})
	options = schedulertest.Options{PredicatesWith: func(*scheduler.PredicatesWithArgs) error { panic("with") }}
	crowded(t, options, func(t *testing.T, m *schedulertest.MockScheduler) {
		m.Ask("app-2", "urgent", "vcore=3", priority(9))
		m.Advance(time.Hour)
		assert.DeepEqual(t, victims(m), []string{})
		m.Release("app-1", "three")
		assert.Equal(t, m.WaitPlaced("urgent"), "node-1")
	})
}
