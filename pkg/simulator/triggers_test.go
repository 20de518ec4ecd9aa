package simulator_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/simulator"
)

// byTrigger finds the counts of a trigger, which must be there.
func byTrigger(t testing.TB, r *simulator.Result, name string) simulator.TriggerCount {
	t.Helper()
	i := slices.IndexFunc(r.Preemption.ByTrigger, func(one simulator.TriggerCount) bool { return one.Trigger == name })
	assert.Assert(t, i >= 0, "nothing by %s in %+v", name, r.Preemption.ByTrigger)
	return r.Preemption.ByTrigger[i]
}

// TestFairness: three reasons to make room in one run, and the figures agree with
// each other.
func TestFairness(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	for _, seed := range []uint64{0, 1, 2} {
		r := verified(t, example(t, "fairness"), seed)
		p := r.Preemption
		victims, byQueue, evicted := 0, 0, 0
		for _, name := range []string{"priority", "guarantee", "quota"} {
			one := byTrigger(t, r, name)
			assert.Assert(t, one.Victims > 5, "%+v", one)
			victims += one.Victims
			assert.Equal(t, one.Nominations > 0, name != "quota")
			if name != "quota" {
				assert.Assert(t, one.Helped.Pods > 5, name)
			}
			evicted += r.Queues[0].Victims[name]
		}
		assert.Equal(t, victims, p.Victims)
		assert.Equal(t, evicted, p.Victims)
		for _, one := range p.ByQueue {
			byQueue += one.Victims
			assert.Assert(t, one.From != "root.shop" && one.From != "root.system", "%+v", one)
			assert.Equal(t, one.By == "root.red", one.Trigger == "quota")
		}
		assert.Equal(t, byQueue, p.Victims)
		assert.Assert(t, p.NodesLookedAt > 0)
		assert.Assert(t, byTrigger(t, r, "guarantee").Elsewhere > 0)
		assert.Assert(t, p.Budgets[0].Peak > 0 && p.Budgets[0].Peak <= p.Budgets[0].Allowed, "%+v", p.Budgets)
		assert.Equal(t, p.Violations, 0)
		// A pod that blue was due waits at least the delay, and not much longer.
		assert.Assert(t, byTrigger(t, r, "guarantee").Helped.Mean.Duration() > time.Minute)
		assertSeries(t, r)
	}
}

// TestTriggersWithFaults: whatever becomes of the victims, none is evicted twice, the
// figures agree, and only victims whose end is never reported are releasing at the end.
func TestTriggersWithFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	text, err := simulator.ExampleText("fairness")
	assert.NilError(t, err)
	text = text[:strings.Index(text, "\nfaults:")+1]
	for i, faults := range []string{
		"faults: {release-late: 40%, late: 10s..5m}",
		"faults: {release-twice: 50%, report-twice: 30%, late: 1s..30s}",
		"faults: {bind-fails: 60%, release-late: 30%, foreign-early: 50%, late: 1s..4m}",
		"faults: {release-late: 20%, release-twice: 20%, late: 0s..10s}\ndelays: {start: 0s, stop: 0s, restart: 0s}",
		"faults: {release-never: 10%, bind-fails: 60%}\nincidents: [{at: 35m, what: fail, group: node, count: 5, for: 4m}, " +
			"{at: 50m, what: drain, group: node, count: 4, for: 5m, evicts: true}, {at: 82m, what: fail, group: node, count: 5, for: 4m}]",
	} {
		r := verified(t, parse(t, text+faults), uint64(i)+11)
		p := r.Preemption
		victims, made, cleared := 0, 0, 0
		for _, one := range p.ByTrigger {
			victims, made, cleared = victims+one.Victims, made+one.Nominations, cleared+one.Cleared
		}
		assert.Equal(t, victims, p.Victims, faults)
		assert.Equal(t, made, p.Nominations, faults)
		assert.Equal(t, cleared, p.Cleared, faults)
		assert.Equal(t, len(p.Records), p.Count(), faults)
		assert.Assert(t, p.Releasing <= p.Overdue && (r.Faults.ReleasesNever > 0 || p.Releasing == 0), faults)
		assert.Assert(t, r.Faults.ReleasesLate == 0 || i == 3 || p.Overdue > 10 && cleared > 10, "%s: %d overdue", faults, p.Overdue)
		assertSeries(t, r)
	}
}

// An application whose binding fails again and again after room was made is stopped.
func TestLoopsAreStopped(t *testing.T) {
	r := verified(t, parse(t, `
name: loop
until: 30m
queues:
  partitions:
    - name: default
      preemption: {preemption_loop_max: 1, preemption_loop_window: 1h}
      queues: [{name: root, queues: [{name: a}]}]
nodes: [{name: n, capacity: {vcore: 4}}]
workloads:
  - {name: one, queue: a, pods: 4, resources: {vcore: 1}, runs: forever}
  - {name: two, queue: a, pods: 4, resources: {vcore: 1}, runs: forever, priority: 5}
faults: {bind-fails: 60%}
`), 1)
	assert.Equal(t, r.Preemption.Loops, 1)
	assert.Assert(t, strings.Contains(strings.Join(strings.Fields(outputs(t, r)), " "), "loops stopped"), outputs(t, r)[:1500])
}

// assertSeries checks that what is drawn ends where the figures do.
func assertSeries(t testing.TB, r *simulator.Result) {
	t.Helper()
	s := r.Series.Preemption
	last := func(values []int64) int { return int(values[len(values)-1]) }
	assert.Equal(t, last(s.Victims), r.Preemption.Victims)
	for _, one := range s.ByTrigger {
		assert.Equal(t, last(one.Victims), byTrigger(t, r, one.Trigger).Victims)
	}
	assert.Equal(t, slices.Max(s.Nominated) > 0, r.Preemption.Nominations > 0)
}

// TestTablesOfTriggers: the summary names the triggers, the queues and the plans.
func TestTablesOfTriggers(t *testing.T) {
	text := outputs(t, verified(t, example(t, "fairness"), 0))
	for _, want := range []string{
		"PREEMPTION BY TRIGGER", "VICTIMS BY QUEUE", "DISRUPTION BUDGETS", "with victims by guarantee",
		"priority: regular", "trigger    guarantee", "limit  root.red: guaranteed memory=400Gi vcore=100, max vcore=120",
		`"trigger":"quota"`, `"nominatedPeak":[`, `"victims":{"guarantee":`,
	} {
		assert.Assert(t, strings.Contains(text, want), want)
	}
}

// A pod of a higher priority takes the place of the lowest one, which comes again when
// there is room.
func TestPriority(t *testing.T) {
	const text = `
name: priority
nodes: [{name: n, capacity: {vcore: 4, memory: 8Gi}}]
delays: {stop: 1s, start: 1s, restart: 5s}
workloads:
  - {name: low, queue: default, pods: 2, resources: {vcore: 2, memory: 1Gi}, runs: 10m%s}
  - {name: high, queue: default, pods: 1, arrival: {at: 1m}, resources: {vcore: 2, memory: 1Gi}, runs: 2m, priority: 5%s}
`
	play := func(low, high string) *simulator.Result {
		return verified(t, parse(t, fmt.Sprintf(text, low, high)), 1)
	}
	r := play("", "")
	assert.Equal(t, r.Pods.Preempted, 1)
	assert.Equal(t, byTrigger(t, r, "priority").Helped.Max.Duration(), time.Second)
	record := r.Preemption.Records[0]
	assert.Equal(t, record.Title(), "1m  high/1 on n")
	assert.Equal(t, record.Trigger+record.Strategy+record.Queue, "priority"+"most important stay"+"root.default")
	assert.Equal(t, record.Victims[0].Queue, "root.default")
	assert.DeepEqual(t, r.Preemption.ByQueue, []simulator.QueueVictims{{Trigger: "priority", By: "root.default", From: "root.default", Victims: 1}})

	// With a grace the pod takes its time, and is not overdue before.
	r = play(", grace: 150s", "")
	assert.Equal(t, byTrigger(t, r, "priority").Helped.Max.Duration(), 151*time.Second)
	assert.Equal(t, r.Preemption.Overdue, 0)

	// No pod is evicted for pods that spare others.
	r = play("", ", spare-others: true")
	assert.Assert(t, r.Preemption == nil)
	assert.Equal(t, r.Waiting.Max.Duration(), 9*time.Minute+2*time.Second)

	// When a victim does not end the nomination is cleared, and for a while no other pod is
	// evicted on that node.
	r = play(", stubborn: true", "")
	assert.Equal(t, r.Preemption.Victims, 2)
	assert.Equal(t, r.Preemption.Overdue, 2)
	assert.Equal(t, r.Preemption.Cleared, 2)
	assert.Equal(t, byTrigger(t, r, "priority").Cleared, 2)
	assert.Equal(t, r.Pods.Preempted, 0)
	assert.Equal(t, r.Waiting.Max.Duration(), 9*time.Minute+2*time.Second)
}

// A class of service decides among pods of one priority, where it is configured to.
func TestVictimsByClassOfService(t *testing.T) {
	const text = `
name: qos
queues:
  partitions:
    - {name: default, preemption: {preemption_victim_order: %s}, queues: [{name: root, queues: [{name: a}]}]}
nodes: [{name: n, capacity: {vcore: 2}}]
workloads:
  - {name: first, queue: a, resources: {vcore: 1}, runs: forever, qos: BestEffort}
  - {name: second, queue: a, arrival: {at: 1m}, resources: {vcore: 1}, runs: forever, qos: Guaranteed}
  - {name: high, queue: a, arrival: {at: 2m}, resources: {vcore: 1}, runs: forever, priority: 5}
`
	for order, victim := range map[string]string{"age": "second/1", "qos": "first/1"} {
		r := verified(t, parse(t, fmt.Sprintf(text, order)), 1)
		assert.Equal(t, r.Preemption.Records[0].Victims[0].Key, victim, order)
	}
}

// The devices of a victim count as free, those of other models never do.
func TestPriorityForDevices(t *testing.T) {
	r := verified(t, parse(t, `
name: devices
nodes:
  - {name: g, capacity: {vcore: 8, memory: 8Gi}, gpus: {count: 2, model: T4}}
  - {name: h, capacity: {vcore: 8, memory: 8Gi}, gpus: {count: 2, model: A10}}
delays: {stop: 1s, start: 1s}
until: 30m
workloads:
  - {name: low, queue: default, pods: 8, resources: {vcore: 1, memory: 1Gi}, gpus: {count: 1, milli: 400}, runs: forever}
  - {name: high, queue: default, pods: 1, arrival: {at: 1m}, resources: {vcore: 1, memory: 1Gi}, gpus: {count: 1, milli: 800, models: [A10]}, runs: forever, priority: 5}
  - {name: never, queue: default, pods: 1, arrival: {at: 2m}, resources: {vcore: 1, memory: 1Gi}, gpus: {count: 1, models: [P100]}, runs: forever, priority: 5}
`), 1)
	assert.Equal(t, byTrigger(t, r, "priority").Helped.Pods, 1)
	assert.Equal(t, r.Preemption.Records[0].Node, "h")
	assert.Equal(t, r.Preemption.Victims, 2)
	failed := r.Preemption.Failed
	assert.Assert(t, slices.ContainsFunc(failed, func(a simulator.FailedAttempts) bool {
		return a.Example == "never/1" && a.Trigger == "priority" && a.Pods == 1 && a.Nodes == 2
	}), "%+v", failed)
}

// A queue whose max is lowered loses pods, and one whose max is raised gets more.
func TestChanges(t *testing.T) {
	const text = `
name: changes
until: 30m
queues:
  partitions:
    - name: default
      preemption: {quotapreemptionenabled: true}
      queues:
        - name: root
          queues:
            - {name: a, resources: {max: {vcore: 10}}, properties: {quota.preemption.delay: 1m}}
nodes: [{name: n, capacity: {vcore: 20, memory: 20Gi}}]
delays: {stop: 1s, start: 1s}
workloads: [{name: w, queue: a, pods: 20, resources: {vcore: 1, memory: 1Gi}, runs: forever}]
changes:
  - {at: 15m, queue: root.a, max: {vcore: 12}}
  - {at: 16m, queue: root.a, max: {memory: 50Gi}}
  - {at: 5m, queue: a, max: {vcore: 4}}
`
	s := parse(t, text)
	r := verified(t, s, 1)
	assert.Equal(t, byTrigger(t, r, "quota").Victims, 6)
	assert.Equal(t, r.Pods.Running, 12)
	assert.DeepEqual(t, r.Preemption.ByQueue, []simulator.QueueVictims{{Trigger: "quota", By: "root.a", From: "root.a", Victims: 6}})
	assert.DeepEqual(t, r.Incidents, []simulator.IncidentRecord{
		{At: 300_000, What: "limit", Queue: "root.a", Detail: "max vcore=4"},
		{At: 900_000, What: "limit", Queue: "root.a", Detail: "max vcore=12"},
		{At: 960_000, What: "limit", Queue: "root.a", Detail: "max memory=50Gi"},
	})
	// Under another configuration the changes are worked out anew.
	const other = "partitions: [{queues: [{name: root, queues: [{name: a, resources: {guaranteed: {vcore: %d}}}]}]}]"
	assert.NilError(t, s.UseQueues(fmt.Sprintf(other, 1)))
	assert.Equal(t, verified(t, s, 1).Pods.Running, 20)
	assert.ErrorContains(t, s.UseQueues(fmt.Sprintf(other, 5)), "changes[2]: ")
	assert.ErrorContains(t, s.UseQueues("partitions: [{queues: [{name: root, queues: [{name: b}]}]}]"), "there is no queue root.a")

	_, err := simulator.Parse(strings.Replace(text, "max: {vcore: 4}", "guaranteed: {vcore: 11}", 1))
	assert.ErrorContains(t, err, "18: changes[2]: guaranteed 11 is more than the max beside it, which is 10")
}

// A queue that goes keeps what it has, also after a restart, and takes nothing new until it is back.
func TestAQueueThatGoes(t *testing.T) {
	const text = `
name: gone
ends: 2h
queues: {partitions: [{queues: [{name: root, queues: [{name: a, queues: [{name: b}]}, {name: c}]}]}]}
nodes: [{name: n, capacity: {vcore: 2}}]
incidents: [{at: 10m, what: restart}]
workloads:
  - {name: runs, queue: root.a.b, pods: 3, resources: {vcore: 1}, runs: 20m}
  - {name: refused, queue: a.b, arrival: {at: 6m}, resources: {vcore: 1}, runs: 1m}
  - {name: gang, queue: a.b, pods: 2, arrival: {at: 6m}, resources: {vcore: 1}, runs: 1m, gang: {}}
  - {name: later, queue: a.b, arrival: {at: 16m}, resources: {vcore: 1}, runs: 1m}
changes:
  - {at: 5m, queue: a, gone: true}
  - {at: 15m, queue: root.a, gone: false}
`
	r := verified(t, parse(t, text), 1)
	assert.Equal(t, r.Pods.Ended, 4)
	assert.Equal(t, r.Pods.Rejected, 1)
	assert.Equal(t, r.Gangs.Asked, 2)
	assert.Equal(t, r.Gangs.Placed, 0)
	assert.DeepEqual(t, r.Incidents[0], simulator.IncidentRecord{At: 300_000, What: "queue", Queue: "root.a", Detail: "removed"})
	assert.DeepEqual(t, r.Incidents[2], simulator.IncidentRecord{At: 900_000, What: "queue", Queue: "root.a", Detail: "added"})

	for bad, want := range map[string]string{
		"{at: 1m, queue: root, gone: true}":               "root cannot go",
		"{at: 1m, queue: d, gone: true}":                  "there is no queue root.d",
		"{at: 1m, queue: d, gone: false}":                 "there was no queue root.d",
		"{at: 1m, queue: c, gone: false}":                 "there is a queue root.c",
		"{at: 6m, queue: a.b, gone: false}":               "what is above root.a.b has gone",
		"{at: 6m, queue: a, max: {vcore: 1}}":             "there is no queue root.a",
		"{at: 1m, queue: c, max: {vcore: 1}, gone: true}": "say max or guaranteed, or both, or gone alone",
		"{at: 1m, queue: c, gone: perhaps}":               `"perhaps" is neither true nor false`,
	} {
		_, err := simulator.Parse(text + "  - " + bad + "\n")
		assert.ErrorContains(t, err, want, bad)
	}
}

// A hard budget is kept while pods come back, and a soft one is not.
func TestBudgets(t *testing.T) {
	const text = `
name: budgets
queues:
  partitions:
    - name: default
      preemption: {preemption_disruption_budgets: %s}
      queues: [{name: root, queues: [{name: a}]}]
nodes: [{name: n, capacity: {vcore: 8, memory: 8Gi}}, {name: m, capacity: {vcore: 8, memory: 8Gi}, join: 10m}]
delays: {stop: 1s, start: 10s, restart: 5s}
until: 30m
workloads:
  - {name: web, queue: a, pods: 8, resources: {vcore: 1, memory: 1Gi}, runs: forever%s}
  - {name: high, queue: a, pods: 6, arrival: {at: 1m}, resources: {vcore: 1, memory: 1Gi}, runs: forever, priority: 5}
  - {name: later, queue: a, pods: 4, arrival: {at: 15m}, resources: {vcore: 1, memory: 1Gi}, runs: forever, priority: 5}
budgets: [{name: web, workloads: [web], allowed: 2}]
`
	r := verified(t, parse(t, fmt.Sprintf(text, "hard", "")), 1)
	assert.DeepEqual(t, r.Preemption.Budgets, []simulator.BudgetUse{{Name: "web", Allowed: 2, Peak: 2}})
	assert.Equal(t, r.Pods.Preempted, 2+2) // the first victims run again by then
	assert.Equal(t, r.Preemption.Violations, 0)
	assert.Equal(t, r.Pods.Pending, 2)
	r = verified(t, parse(t, fmt.Sprintf(text, "prefer", "")), 1)
	assert.Equal(t, r.Pods.Preempted, 6+2)
	assert.Equal(t, r.Preemption.Violations, 4)
	assert.Equal(t, r.Preemption.Budgets[0].Peak, 6)
	// A victim that does not end counts too.
	r = verified(t, parse(t, fmt.Sprintf(text, "hard", ", stubborn: true")), 1)
	assert.Equal(t, r.Preemption.Budgets[0].Peak, 2)
	assert.Equal(t, r.Preemption.Victims, 2)
}
