package simulator_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"

	"github.com/narwhal-scheduler/narwhal/pkg/simulator"
)

func parse(t testing.TB, text string) *simulator.Scenario {
	t.Helper()
	s, err := simulator.Parse(text)
	assert.NilError(t, err)
	return s
}

func example(t testing.TB, name string) *simulator.Scenario {
	t.Helper()
	text, err := simulator.ExampleText(name)
	assert.NilError(t, err)
	return parse(t, text)
}

// verified runs a scenario with every law checked.
func verified(t testing.TB, s *simulator.Scenario, seed uint64) *simulator.Result {
	t.Helper()
	r, err := simulator.Run(s, simulator.Options{Seed: seed, Verify: true})
	assert.NilError(t, err)
	simulator.AssertSums(t, r)
	return r
}

// outputs is everything a run can print.
func outputs(t testing.TB, r *simulator.Result) string {
	t.Helper()
	var b bytes.Buffer
	assert.NilError(t, r.WriteText(&b))
	assert.NilError(t, json.NewEncoder(&b).Encode(r))
	return b.String()
}

func TestSmallSummary(t *testing.T) {
	var b bytes.Buffer
	assert.NilError(t, verified(t, example(t, "small"), 0).WriteText(&b))
	golden.Assert(t, b.String(), "small.txt.golden")
}

func TestSmallJSON(t *testing.T) {
	r := verified(t, example(t, "small"), 0)
	b, err := json.MarshalIndent(r, "", "  ")
	assert.NilError(t, err)
	golden.Assert(t, string(b)+"\n", "small.json.golden")
}

// sameUntil is when the repeated runs of an example stop. By then the largest one
// is full, and pods make room for each other.
const sameUntil = 50 * time.Minute

func TestSameSeedSameBytes(t *testing.T) {
	for _, name := range simulator.Examples() {
		s := example(t, name)
		run := func(s *simulator.Scenario, seed uint64) string {
			s.Until = min(s.Until, sameUntil)
			r, err := simulator.Run(s, simulator.Options{Seed: seed})
			assert.NilError(t, err)
			return outputs(t, r)
		}
		first := run(s, 3)
		assert.Assert(t, first == run(s, 3), "%s: a second run of the same scenario", name)
		assert.Assert(t, first == run(example(t, name), 3), "%s: a run of the scenario read again", name)
		assert.Assert(t, first != run(s, 4), "%s: another seed", name)
	}
}

func TestProgressSeesEverything(t *testing.T) {
	last, moments := time.Duration(-1), 0
	placed := 0
	r, err := simulator.Run(example(t, "small"), simulator.Options{Progress: func(p simulator.Progress) {
		assert.Assert(t, p.Now >= last && p.Placed >= placed)
		last, placed = p.Now, p.Placed
		moments++
	}})
	assert.NilError(t, err)
	assert.Equal(t, placed, r.Pods.Placements)
	assert.Assert(t, moments > r.Pods.Arrived/5)
}

// finite is a cluster with room enough for pods that all end.
const finite = `
name: finite
queues:
  - name: root
    queues:
      - name: a
        resources: {max: {vcore: 40}}
      - name: b
        queues:
          - {name: c}
          - {name: d}
nodes:
  - {name: n, count: 12, capacity: {vcore: 8, memory: 32Gi}}
  - {name: g, count: 3, capacity: {vcore: 8, memory: 32Gi}, gpus: {count: 4, model: T4}}
  - {name: late, count: 2, capacity: {vcore: 8, memory: 32Gi}, join: 90s}
foreign:
  - {name: proxy, static: true, resources: {vcore: 100m, memory: 64Mi}}
  - {name: other, count: 5, at: 40s, runs: 30s..2m, resources: {vcore: 1, memory: 1Gi}, resizes: [{after: 20s, resources: {vcore: 500m, memory: 2Gi}}]}
workloads:
  - {name: w1, queue: a, applications: 12, pods: 1..6, arrival: {poisson: 8/m}, resources: {vcore: 1500m, memory: 2Gi}, runs: exponential 30s, priority: 5}
  - {name: w2, queue: root.b.c, applications: 5, pods: 9, arrival: {every: 11s, of: pods}, resources: {vcore: 2, memory: 1Gi}, runs: 10s..50s}
  - {name: w3, queue: root.b.d, applications: 10, pods: 1..3, arrival: {poisson: 5/m}, resources: {vcore: 1, memory: 1Gi}, gpus: {count: 1, milli: 300, models: [T4]}, runs: 20s..40s}
  - {name: w4, queue: root.b.d, applications: 3, arrival: {at: 1m}, resources: {vcore: 3, memory: 1Gi}, gpus: {count: 2}, runs: 45s}
incidents:
  - {at: 50s, what: fail, group: n, count: 4, for: 30s}
  - {at: 70s, what: drain, group: g, count: 1, evicts: true, for: 40s}
  - {at: 100s, what: fail, nodes: [g-2], for: 1s}
`

// TestEverythingEnds is the law of a cluster with room: every pod is placed,
// and when all have ended nothing is used.
func TestEverythingEnds(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	faults := []string{
		"",
		"faults: {bind-fails: 20%}",
		"faults: {release-late: 30%, release-twice: 30%, late: 5s..90s}",
		"faults: {report-twice: 50%, foreign-early: 50%}",
		"faults: {bind-fails: 10%, release-late: 20%, release-twice: 20%, report-twice: 20%, foreign-early: 20%, late: 1s..4m}\ndelays: {start: 0s, stop: 0s, restart: 0s}",
	}
	for i, extra := range faults {
		s := parse(t, finite+extra)
		for seed := uint64(1); seed <= 10; seed++ {
			t.Run(fmt.Sprintf("%d/%d", i, seed), func(t *testing.T) {
				r := verified(t, s, seed)
				assert.Equal(t, r.Pods.Pending+r.Pods.GaveUp+r.Pods.Rejected+r.Pods.Cancelled+r.Pods.Running, 0)
				for _, q := range r.Series.Queues {
					for kind, used := range q.Used {
						last := used[len(used)-1]
						assert.Equal(t, last, int64(0), "%s of %s at the end", kind, q.Path)
					}
				}
				assert.Equal(t, r.Nodes.AtEnd, 17)
			})
		}
	}
}

// TestReleasesThatNeverCome leaves the books charged, and right.
func TestReleasesThatNeverCome(t *testing.T) {
	for seed := uint64(1); seed <= 10; seed++ {
		r := verified(t, parse(t, finite+"faults: {release-never: 20%, release-twice: 20%, bind-fails: 5%}"), seed)
		assert.Assert(t, r.Faults.ReleasesNever > 0)
		used := r.Series.Resources[0].Used
		assert.Assert(t, used[len(used)-1] > 0)
	}
}

func TestUntilStopsTheClock(t *testing.T) {
	const text = `
name: services
until: 10m
nodes: [{name: n, capacity: {vcore: 4, memory: 8Gi}}]
workloads: [{name: s, queue: default, pods: 6, resources: {vcore: 1, memory: 1Gi}, runs: forever}]
`
	r := verified(t, parse(t, text), 1)
	assert.Equal(t, r.Time.Duration(), 10*time.Minute)
	assert.Equal(t, r.Pods.Running, 4)
	assert.Equal(t, r.Pods.Pending, 2)
	assert.Equal(t, r.Pending[0].Reason, "no node has room")
	assert.Equal(t, r.Pending[0].Queue, "root.default")
	// Without an end the run is over when nothing happens any more.
	r = verified(t, parse(t, text[:len("\nname: services\n")]+text[len("\nname: services\nuntil: 10m\n"):]), 1)
	assert.Assert(t, r.Time.Duration() < time.Minute, "%s", r.Time.Duration())
}

func TestDaemonSetsFollowTheNodes(t *testing.T) {
	r := verified(t, parse(t, `
name: daemons
nodes:
  - {name: a, count: 3, capacity: {vcore: 4, memory: 8Gi}}
  - {name: b, count: 2, capacity: {vcore: 4, memory: 8Gi}, join: 2m}
daemonsets:
  - {name: everywhere, queue: default, resources: {vcore: 100m, memory: 64Mi}}
  - {name: some, queue: default, groups: [b], resources: {vcore: 100m, memory: 64Mi}}
incidents:
  - {at: 1m, what: fail, nodes: [a-1], for: 90s}
  - {at: 3m, what: fail, nodes: [b-2]}
`), 1)
	// Three and two at first, two more on b, one again on the node that
	// returned; two were lost on b-2, one on a-1.
	assert.Equal(t, r.Pods.Placed, 3+2+2+1)
	assert.Equal(t, r.Pods.Lost, 1+2)
	assert.Equal(t, r.Pods.Running, 5)
	assert.Equal(t, r.Nodes.AtEnd, 4)
}

func TestWrongQueueIsFoundAfterAnOverride(t *testing.T) {
	s := example(t, "small")
	assert.NilError(t, s.UseQueues("partitions: [{queues: [{name: root, queues: [{name: blue}, {name: system}]}]}]"))
	_, err := simulator.Run(s, simulator.Options{})
	assert.ErrorContains(t, err, "workload batch: queue root.green is no leaf queue of the configuration; these are: root.blue, root.system")
}
