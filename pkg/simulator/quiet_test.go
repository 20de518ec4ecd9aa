package simulator_test

import (
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

// guaranteedLate is a cluster that is full, and an ask that preempts by guarantee after a
// delay. Without delays and without until a run follows timers for five minutes after the last event.
const guaranteedLate = `
name: late
%s
queues:
  - name: root
    queues:
      - {name: a, resources: {guaranteed: {vcore: 1}}, properties: {preemption.delay: %s}}
      - {name: b}
nodes: [{name: n, capacity: {vcore: 2}}]
workloads:
  - {name: b, queue: root.b, pods: 2, resources: {vcore: 1}, runs: forever}
  - {name: a, queue: root.a, pods: 1, arrival: {at: 1m}, resources: {vcore: 1}, runs: forever}
`

// A delay that is longer than that is waited for, with an end of the scenario and without.
func TestDelaysBeyondQuietMax(t *testing.T) {
	for _, until := range []string{"", "until: 2h"} {
		s := parse(t, fmt.Sprintf(guaranteedLate, until, "50m"))
		r := verified(t, s, 1)
		assert.Equal(t, r.Pods.Preempted, 1, until)
		assert.Equal(t, r.Pods.Placed, 3, until)
	}
}

// Ten times the longest that a run goes on is not waited for: the run ends, and its result
// has the ask with the reason for which it waits.
func TestDelaysBeyondQuietLongest(t *testing.T) {
	r := verified(t, parse(t, fmt.Sprintf(guaranteedLate, "", "240h")), 1)
	assert.Equal(t, r.Pods.Preempted, 0)
	assert.Equal(t, r.Pods.Pending, 1)
	assert.Equal(t, r.Pending[0].Reason, "no node has room")
	assert.Assert(t, r.Time.Duration() < 25*time.Hour, "%v", r.Time.Duration())
	assert.Equal(t, r.Headline(), "2 of 3 pods were placed; 1 still wait. The run stopped at 24h01m: no event was planned, and the next "+
		"timer of the scheduler, due at 25h01m, is more than 24h after the last event. With until it goes on.")
}

// A scenario that says when it stops is played until then: what a timer does ten days later is
// in its result, and nothing is said about the end.
func TestPlaysToUntilWhileTimersAreDue(t *testing.T) {
	r := verified(t, parse(t, fmt.Sprintf(guaranteedLate, "until: 250h", "240h")), 1)
	assert.Equal(t, r.Pods.Preempted, 1)
	assert.Equal(t, r.Pods.Placed, 3)
	assert.Equal(t, r.Time.Duration(), 250*time.Hour)
	assert.Assert(t, r.Stopped == nil)
}
