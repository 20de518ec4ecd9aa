package live_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/simulator/live"
)

const gangText = `
name: gangs
until: 3m
nodes: [{name: n, count: 3, capacity: {vcore: 4}}]
delays: {start: 1s, stop: 2s, restart: 1s}
workloads:
  - {name: g, queue: root.default, pods: %d, resources: {vcore: 2}, runs: forever, gang: {%s}}
`

// TestGangsLive plays gangs before a real scheduler, sixty times as fast: placeholders are
// replaced, and time out as much sooner.
func TestGangsLive(t *testing.T) {
	for _, c := range []struct {
		pods, want int
		gang       string
	}{{6, 6, "timeout: 5m"}, {7, 6, "timeout: 1m"}, {7, 0, "timeout: 1m, style: hard"}} {
		t.Run(fmt.Sprint(c.pods, " ", c.gang), func(t *testing.T) {
			s := parse(t, fmt.Sprintf(gangText, c.pods, c.gang))
			synctest.Test(t, func(t *testing.T) {
				l := started(t, s, live.Options{Speed: 60}, nil)
				<-l.over
				view, err := l.View(t.Context(), livePartition)
				assert.NilError(t, err)
				l.stop(t)
				got := 0
				for _, app := range view.Applications {
					for _, a := range app.Allocations {
						assert.Assert(t, !a.Placeholder, a.Key)
						got++
					}
				}
				assert.Equal(t, got, c.want)
			})
		})
	}
}

// guaranteedLate is a cluster that is full, and an ask that preempts by guarantee after a
// delay. Without delays a cluster follows timers for five minutes after the last event.
const guaranteedLate = `
name: late
%s
queues:
  - name: root
    queues:
      - {name: a, resources: {guaranteed: {vcore: 1}}, properties: {preemption.delay: 50m}}
      - {name: b}
nodes: [{name: n, capacity: {vcore: 2}}]
workloads:
  - {name: b, queue: root.b, pods: 2, resources: {vcore: 1}, runs: forever}
  - {name: a, queue: root.a, pods: 1, arrival: {at: 1m}, resources: {vcore: 1}, runs: forever}
`

// A delay that is longer than that is waited for, with an end of the scenario and without.
func TestLiveWaitsForLongDelays(t *testing.T) {
	for _, until := range []string{"", "until: 2h"} {
		s := parse(t, fmt.Sprintf(guaranteedLate, until))
		synctest.Test(t, func(t *testing.T) {
			l := started(t, s, live.Options{Speed: 60}, nil)
			<-l.over
			view, err := l.View(t.Context(), livePartition)
			assert.NilError(t, err)
			l.stop(t)
			assert.Equal(t, view.Preempted.Victims.By(preemptor.Guarantee), uint64(1), until)
		})
	}
}
