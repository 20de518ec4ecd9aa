package simulator_test

import (
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/simulator"
)

const gangText = `
name: gangs
nodes: [{name: n, count: 3, capacity: {vcore: 4}}]
delays: {start: 1s, stop: 2s, restart: 1s}
workloads:
  - {name: g, queue: root.default, applications: 2, pods: %d, arrival: {every: %s}, resources: {vcore: 2}, runs: 1m, gang: {%s}}
%s`

// TestGangs plays gangs with room, without, and with nodes that fail while they gather.
func TestGangs(t *testing.T) {
	type counts struct {
		gangs                   simulator.GangCounts
		arrived, ended, pending int
	}
	for _, c := range []struct {
		name  string
		pods  int
		every string
		gang  string
		rest  string
		want  counts
	}{
		{
			"both fit", 3, "1s", "after: 10s", "",
			counts{simulator.GangCounts{Asked: 6, Placed: 6, Replaced: 6}, 6, 6, 0},
		},
		{
			"one after the other", 6, "10m", "timeout: 5m", "",
			counts{simulator.GangCounts{Asked: 12, Placed: 12, Replaced: 12}, 12, 12, 0},
		},
		{
			"never all of it: the pods come without placeholders", 7, "10m", "timeout: 1m, style: soft", "",
			counts{simulator.GangCounts{Asked: 14, Placed: 12, TimedOut: 14}, 14, 14, 0},
		},
		{
			"never all of it: the application fails", 7, "10m", "timeout: 1m, style: hard", "",
			counts{simulator.GangCounts{Asked: 14, Placed: 12, TimedOut: 14}, 0, 0, 0},
		},
		{
			"a node fails while they gather, and returns", 7, "10m", "timeout: 8m",
			"incidents: [{at: 30s, what: fail, nodes: [n-1], for: 1m}]\n",
			counts{simulator.GangCounts{Asked: 16, Placed: 14, TimedOut: 14, Again: 2}, 14, 14, 0},
		},
		{
			"a node fails when they run", 6, "10m", "timeout: 5m",
			"incidents: [{at: 30s, what: fail, nodes: [n-1], for: 1m}]\n",
			counts{simulator.GangCounts{Asked: 12, Placed: 12, Replaced: 12}, 14, 12, 0},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := parse(t, fmt.Sprintf(gangText, c.pods, c.every, c.gang, c.rest))
			for seed := range uint64(5) {
				r, err := simulator.Run(s, simulator.Options{Verify: true, Seed: seed + 1})
				assert.NilError(t, err)
				got := counts{r.Gangs, r.Pods.Arrived, r.Pods.Ended, r.Pods.Pending}
				assert.Equal(t, got, c.want)
				assert.Equal(t, r.Pods.Running, 0)
			}
		})
	}
}

// TestGangsThatAreRefused: what does not go with a gang is said.
func TestGangsThatAreRefused(t *testing.T) {
	for _, c := range []struct{ gang, rest, want string }{
		{"style: firm", "", "neither soft nor hard"},
		{"after: soon", "", "after"},
		{"", "gpus: {count: 1}, ", "goes with neither gpus nor pods that come one by one"},
	} {
		text := strings.ReplaceAll(fmt.Sprintf(gangText, 2, "1s", c.gang, ""), "runs: 1m", c.rest+"runs: 1m")
		_, err := simulator.Parse(text)
		assert.ErrorContains(t, err, c.want)
	}
}
