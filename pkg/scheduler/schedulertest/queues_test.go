package schedulertest_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler/schedulertest"
)

// quotaConfig has a queue whose max is to be lowered.
func quotaConfig(most int, preemption string) string {
	return fmt.Sprintf(`
partitions:
- name: default
  preemption: {%s}
  queues:
  - name: root
    queues:
    - name: default
      properties: {quota.preemption.delay: 10s}
      resources:
        max: {vcore: %d}
`, preemption, most)
}

// A queue whose max was lowered gives back what is above it: exactly when the delay is
// over, in the order of importance, and with budgets in mind. A confirmation ends it.
func TestAMaxThatIsLowered(t *testing.T) {
	for _, c := range []struct {
		preemption string
		budgets    []scheduler.DisruptionBudget
		want       []string
	}{
		{"quotapreemptionenabled: true", nil, []string{"six"}},
		{
			"quotapreemptionenabled: true, preemption_disruption_budgets: hard",
			[]scheduler.DisruptionBudget{{Name: "web", Allocations: []string{"six"}}},
			[]string{"three"},
		},
		{"quotapreemptionenabled: false", nil, []string{}},
		{"quotapreemptionenabled: true, enabled: false", nil, []string{}},
	} {
		t.Run(c.preemption, func(t *testing.T) {
			options := schedulertest.Options{Config: quotaConfig(10, c.preemption), Budgets: c.budgets, KeepReleased: true}
			crowded(t, options, func(t *testing.T, m *schedulertest.MockScheduler) {
				m.Advance(time.Minute)
				assert.NilError(t, m.Configure(quotaConfig(6, c.preemption)))
				m.Advance(10*time.Second - time.Nanosecond)
				assert.DeepEqual(t, victims(m), []string{})
				m.Advance(time.Nanosecond)
				assert.DeepEqual(t, victims(m), c.want)
				m.Advance(time.Minute)
				for _, key := range c.want {
					m.Confirm(key)
				}
				m.Advance(time.Minute)
				assert.DeepEqual(t, victims(m), c.want)
			})
		})
	}
}

const guaranteeConfig = `
partitions:
- name: default
  queues:
  - name: root
    queues:
    - name: promised
      properties: {preemption.delay: 5s}
      resources:
        guaranteed: {vcore: 4}
    - name: default
      properties: {preemption.policy: %s}
`

// A queue that has less than it is guaranteed gets it back from others, whatever the
// priorities, once its ask has waited for the delay of the queue.
func TestAGuaranteeIsClaimed(t *testing.T) {
	for policy, want := range map[string][]string{"default": {"six"}, "disabled": {}} {
		options := schedulertest.Options{Config: fmt.Sprintf(guaranteeConfig, policy), KeepReleased: true}
		crowded(t, options, func(t *testing.T, m *schedulertest.MockScheduler) {
			m.AddApplication("app-3", "root.promised")
			m.Ask("app-3", "owed", "vcore=4", priority(1))
			m.Advance(5*time.Second - time.Nanosecond)
			assert.DeepEqual(t, victims(m), []string{})
			m.Advance(time.Minute)
			assert.DeepEqual(t, victims(m), want)
			_, nominated := m.Nominated("owed")
			assert.Equal(t, nominated, policy == "default")
			if !nominated {
				return
			}
			m.Confirm("six")
			assert.Equal(t, m.WaitPlaced("owed"), "node-1")
		})
	}
}

const fenceConfig = `
partitions:
- name: default
  queues:
  - name: root
    queues:
    - name: default
    - name: fenced
      parent: true
      properties: {preemption.policy: fence}
      queues:
      - name: inside
`

// An ask inside of a fence takes no place outside of it, and an ask outside takes
// places inside.
func TestAFence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := schedulertest.New(t, schedulertest.Options{Config: fenceConfig, KeepReleased: true})
		m.AddNode("node-1", "vcore=4")
		m.AddApplication("in", "root.fenced.inside")
		m.AddApplication("out", "root.default")
		m.Ask("in", "in-1", "vcore=2", priority(1))
		m.Ask("out", "out-1", "vcore=2")
		m.Ask("in", "in-2", "vcore=2", priority(9))
		m.Advance(time.Hour)
		assert.DeepEqual(t, victims(m), []string{"in-1"})
		m.Confirm("in-1")
		assert.Equal(t, m.WaitPlaced("in-2"), "node-1")
		m.Ask("in", "in-3", "vcore=3", priority(10))
		m.Ask("out", "out-2", "vcore=4", priority(10))
		m.Advance(time.Minute)
		told := victims(m)[1:]
		slices.Sort(told)
		assert.DeepEqual(t, told, []string{"in-2", "out-1"})
		for _, key := range told {
			m.Confirm(key)
		}
		assert.Equal(t, m.WaitPlaced("out-2"), "node-1")
	})
}
