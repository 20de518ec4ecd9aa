package simulator_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"

	"github.com/narwhal-scheduler/narwhal/pkg/simulator"
)

// TestDaemonSetsSummary is the roll-out over a busy cluster as people read it.
func TestDaemonSetsSummary(t *testing.T) {
	var b bytes.Buffer
	assert.NilError(t, verified(t, example(t, "daemonsets"), 0).WriteText(&b))
	golden.Assert(t, b.String(), "daemonsets.txt.golden")
}

// everyKind are pods of all kinds on full nodes, and a daemonset that comes later.
const everyKind = `
name: every-kind
queues:
  partitions:
    - name: default
      preemption: {preemption_start_delay: %s, preemption_victim_timeout: 40s}
      queues:
        - name: root
          queues:
            - {name: system}
            - {name: work}
            - {name: vault, properties: {preemption.policy: disabled}}
nodes:
  - {name: n, count: 10, capacity: {vcore: 8, memory: 16Gi}}
  - {name: late, count: 2, capacity: {vcore: 8, memory: 16Gi}, join: 4m}
daemonsets:
  - {name: logs, queue: root.system, resources: {vcore: 200m, memory: 256Mi}}
  - {name: agent, queue: root.system, resources: {vcore: 2, memory: 3Gi}, priority: 50, at: 2m}
  - {name: proxy, queue: root.system, resources: {vcore: 1, memory: 4Gi}, priority: 20, at: 130s}
foreign:
  - {name: kubelet, static: true, resources: {vcore: 300m, memory: 256Mi}}
  - {name: other, count: 8, runs: 1m..9m, resources: {vcore: 1, memory: 1Gi}, resizes: [{after: 100s, resources: {vcore: 1500m, memory: 1Gi}}]}
workloads:
  - {name: small, queue: root.work, applications: 6, pods: 2..9, resources: {vcore: 500m, memory: 1Gi}, runs: exponential 4m}
  - {name: large, queue: root.work, applications: 4, pods: 4, driver: true, resources: {vcore: 2, memory: 4Gi}, runs: 3m..9m, priority: 10}
  - {name: quiet, queue: root.work, pods: 8, opt-out: true, resources: {vcore: 1, memory: 3Gi}, runs: 2m..8m}
  - {name: secret, queue: root.vault, pods: 6, resources: {vcore: 1, memory: 2Gi}, runs: 5m..7m}
  - {name: above, queue: root.work, pods: 4, resources: {vcore: 1, memory: 1Gi}, runs: 6m, priority: 60}
  - {name: fill, queue: root.work, pods: 40, resources: {vcore: 500m, memory: 512Mi}, runs: 5m..6m, once: true}
incidents:
  - {at: 3m, what: fail, group: n, count: 2, for: 40s}
  - {at: 151s, what: fail, group: n, count: 1, for: 5s}
  - {at: 160s, what: drain, group: n, count: 2, evicts: true, for: 1m}
`

// TestEveryVictimEnds plays a roll-out with confirmations that come in time, late and
// twice: in the end all victims have ended, and every pod of a daemonset has its
// place.
func TestEveryVictimEnds(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	faults := []string{
		"",
		"faults: {release-late: 40%, late: 10s..3m}",
		"faults: {release-twice: 60%, late: 1s..30s}",
		"faults: {bind-fails: 10%, release-late: 30%, release-twice: 30%, report-twice: 30%, foreign-early: 50%, late: 1s..4m}",
		"faults: {release-late: 20%, release-twice: 20%, late: 0s..10s}\ndelays: {start: 0s, stop: 0s, restart: 0s}",
	}
	victims, overdue, important := 0, 0, 0
	for i, fault := range faults {
		for seed := uint64(1); seed <= 8; seed++ {
			s := parse(t, fmt.Sprintf(everyKind, []string{"0s", "30s"}[seed%2])+fault)
			r := verified(t, s, seed)
			name := fmt.Sprintf("faults %d, seed %d", i, seed)
			if r.Preemption == nil {
				t.Fatalf("%s: no pod was evicted", name)
			}
			assert.Equal(t, r.Preemption.Releasing, 0, name)
			assert.Equal(t, r.Pods.Pending, 0, name)
			releasing := r.Series.Preemption.Releasing
			assert.Equal(t, releasing[len(releasing)-1], int64(0), name)
			assertPlans(t, r)
			victims, overdue = victims+r.Preemption.Victims, overdue+r.Preemption.Overdue
			for i := range r.Preemption.ByTrigger {
				if p := &r.Preemption.ByTrigger[i]; p.Trigger == "priority" {
					important += p.Victims
				}
			}
		}
	}
	assert.Assert(t, victims-important > 500 && important > 200 && overdue > 10, "%d victims, %d by priority, %d overdue", victims, important, overdue)
}

// TestConfirmationsThatNeverCome leaves only those victims on the books that were
// never confirmed, and they are overdue.
func TestConfirmationsThatNeverCome(t *testing.T) {
	releasing := 0
	for seed := uint64(1); seed <= 16; seed++ {
		s := parse(t, fmt.Sprintf(everyKind, "30s")+"faults: {release-never: 25%, release-late: 10%, release-twice: 10%, late: 1s..2m}")
		r := verified(t, s, seed)
		assertPlans(t, r)
		assert.Assert(t, r.Preemption.Releasing <= r.Preemption.Overdue, "seed %d: %+v", seed, r.Preemption)
		assert.Assert(t, r.Preemption.Releasing <= r.Faults.ReleasesNever, "seed %d", seed)
		releasing += r.Preemption.Releasing
	}
	assert.Assert(t, releasing > 0)
}

// assertPlans checks what holds of the plans of every run of everyKind.
func assertPlans(t *testing.T, r *simulator.Result) {
	t.Helper()
	p := r.Preemption
	byKind, planned := 0, 0
	for _, v := range p.ByKind {
		byKind += v.Victims
	}
	for _, plan := range p.Records {
		planned += len(plan.Victims)
		assert.Equal(t, len(plan.Victims) > 0, plan.Outcome == "chosen")
		assert.Assert(t, len(plan.Explanation) > 2, plan.Ask)
		for _, v := range plan.Victims {
			for _, never := range []string{"logs/", "agent/", "proxy/", "kubelet/", "secret/", "above/"} {
				assert.Assert(t, !strings.HasPrefix(v.Key, never), "%s was evicted for %s", v.Key, plan.Ask)
			}
		}
	}
	assert.Equal(t, byKind, p.Victims)
	assert.Equal(t, planned, p.Victims)
	assert.Equal(t, len(p.Records), p.Count())
	series := r.Series.Preemption.Victims
	assert.Equal(t, int(slices.Max(series)), p.Victims)
}

// A pod that is preempted is asked for again after a delay, unless it comes once.
func TestPreemptedPodsComeAgain(t *testing.T) {
	const text = `
name: again
nodes: [{name: n, capacity: {vcore: 4, memory: 8Gi}}, {name: spare, capacity: {vcore: 4, memory: 8Gi}, join: 2m}]
daemonsets: [{name: agent, queue: default, groups: [n], resources: {vcore: 3, memory: 1Gi}, at: 1m}]
delays: {stop: 1s, start: 1s, restart: 5s}
workloads: [{name: web, queue: default, pods: 1, resources: {vcore: 3, memory: 1Gi}, runs: 10m, once: %t}]
`
	r := verified(t, parse(t, fmt.Sprintf(text, false)), 1)
	assert.Equal(t, r.Pods.Preempted, 1)
	assert.Equal(t, r.Pods.Restarted, 1)
	assert.Equal(t, r.Pods.Ended, 1)
	// The delay of the start, and of the confirmation.
	assert.Equal(t, r.Preemption.Helped.Max.Duration(), 31*time.Second)
	r = verified(t, parse(t, fmt.Sprintf(text, true)), 1)
	assert.Equal(t, r.Pods.Preempted, 1)
	assert.Equal(t, r.Pods.Restarted, 0)
}

// An evicted foreign pod ends, and a stubborn one does not.
func TestForeignAndStubbornVictims(t *testing.T) {
	const text = `
name: victims
nodes: [{name: n, capacity: {vcore: 4, memory: 8Gi}}]
daemonsets: [{name: agent, queue: default, priority: 1, resources: {vcore: 4, memory: 1Gi}, at: 1m}]
delays: {stop: 1s, start: 1s}
foreign: [{name: other, resources: {vcore: 2, memory: 1Gi}}]
workloads: [{name: web, queue: default, pods: 1, stubborn: true, resources: {vcore: 2, memory: 1Gi}, runs: 10m}]
`
	r := verified(t, parse(t, text), 1)
	p := r.Preemption
	assert.Equal(t, p.Victims, 2)
	assert.Equal(t, p.Foreign, 1)
	assert.Equal(t, p.Overdue, 1)
	assert.Equal(t, p.Releasing, 0) // it ended by itself after all
	// Nothing else is evicted for the agent, and it runs when the stubborn one has ended.
	assert.Equal(t, p.Helped.Max.Duration(), 9*time.Minute+2*time.Second)
	assert.Equal(t, r.Pods.Preempted, 0)
	assert.Equal(t, r.Pods.Ended, 1)
}

// Without a busy node there is nothing about preemption in the result.
func TestNoPreemptionWithoutNeed(t *testing.T) {
	r := verified(t, example(t, "small"), 0)
	assert.Assert(t, r.Preemption == nil && r.Series.Preemption == nil)
	assert.Assert(t, !strings.Contains(outputs(t, r), "PREEMPTION"))
}

// The victims that ended for an agent are wasted when its node fails before it runs there, and
// its ask goes with the node. The result and the report say so, with the cause.
func TestWastedVictimsAreReported(t *testing.T) {
	const text = `
name: fails
nodes: [{name: n, capacity: {vcore: 4, memory: 8Gi}}]
daemonsets: [{name: agent, queue: default, priority: 1, resources: {vcore: 4, memory: 1Gi}, at: 1m}]
delays: {stop: 1m, start: 1s}
workloads: [{name: web, queue: default, pods: 2, once: true, resources: {vcore: 2, memory: 1Gi}, runs: 10m}]
incidents: [{at: 100s, what: fail, group: n, count: 1, for: 1m}]
`
	r := verified(t, parse(t, text), 1)
	assert.DeepEqual(t, r.Preemption.Wasted, map[string]int{"ask removed": 2})
	var b bytes.Buffer
	assert.NilError(t, r.WriteText(&b))
	at := strings.Index(b.String(), "wasted")
	assert.Assert(t, at >= 0, b.String())
	line, _, _ := strings.Cut(b.String()[at:], "\n")
	assert.DeepEqual(t, strings.Fields(line), []string{"wasted", "ask", "removed", "2"})
}
