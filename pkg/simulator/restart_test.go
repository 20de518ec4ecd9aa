package simulator_test

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/simulator"
)

const oneAfterTheOther = `
name: one
ends: 1h
nodes: [{name: n, capacity: {vcore: 1}}]
workloads: [{name: w, queue: default, pods: 3, resources: {vcore: 1}, runs: 1m}]
`

// A scheduler that restarts is told what there is: pods that run go on, and those that wait are placed in their turn. Of a pod that has
// ended, of which it was never told, it knows no more.
func TestARestartIsToldWhatThereIs(t *testing.T) {
	r := verified(t, parse(t, oneAfterTheOther+"incidents: [{at: 30s, what: restart, back: 5m}, {at: 90s, what: clock, by: 2h}]\n"), 1)
	assert.Equal(t, r.Pods.Ended, 3)
	assert.Equal(t, r.Pods.Lost+r.Pods.Preempted+r.Pods.Rejected, 0)
	assert.Equal(t, r.Incidents[0].What+" "+r.Incidents[0].Detail, "restart 5m back")
	assert.Equal(t, r.Incidents[1].What+" "+r.Incidents[1].Detail, "clock 2h ahead")

	never := oneAfterTheOther + "faults: {release-never: 100%, until: 2m}\n"
	_, err := simulator.Run(parse(t, never), simulator.Options{Verify: true})
	assert.ErrorContains(t, err, "the pod w/2 has not ended: no node has room")
	r = verified(t, parse(t, never+"incidents: [{at: 3m, what: restart}]\n"), 1)
	assert.Equal(t, r.Pods.Ended, 3)
}

// Where all pods are refused none runs, and once the answer has changed back, without a word, all do.
func TestANodeThatRefusesAllPods(t *testing.T) {
	r := verified(t, parse(t, oneAfterTheOther+"incidents: [{at: 30s, what: refuse, nodes: [n], for: 5m}]\n"), 1)
	assert.Equal(t, r.Pods.Ended, 3)
	assert.Assert(t, r.Waiting.Max.Duration() > 5*time.Minute, "%s", r.Waiting.Max.Duration())
}
