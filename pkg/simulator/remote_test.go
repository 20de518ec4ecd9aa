package simulator_test

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/simulator"
)

// TestRemote: what happens is counted from the time at which the scheduler did it, and the
// scenario is over when nothing more is to come.
func TestRemote(t *testing.T) {
	r := simulator.NewRemote(parse(t, `
name: x
nodes: [{name: n, capacity: {vcore: 8}}]
workloads: [{name: w, queue: default, resources: {vcore: 1}, runs: 1m}]
delays: {start: 0s, stop: 0s, restart: 0s}
`), 0)
	commands, _ := r.Advance(0)
	assert.Equal(t, len(commands), 3, "a node, an application, a pod")
	assert.Assert(t, r.Has("w/1"))
	r.Observe(10*time.Second, api.Placed{Allocation: &api.Allocation{Key: "w/1", Application: "w", Node: "n"}})
	for next := 10 * time.Second; next <= 70*time.Second; {
		commands, next = r.Advance(next)
	}
	assert.Equal(t, len(commands), 1)
	assert.Equal(t, commands[0].(api.ReleaseAllocation).Key, api.AllocationKey("w/1"))
	_, next := r.Advance(70 * time.Second)
	assert.Equal(t, next, 70*time.Second+5*time.Minute)
	assert.NilError(t, r.Breach())
	r.Observe(80*time.Second, &api.NodeRejected{ID: "n", Reason: "why"})
	assert.Error(t, r.Breach(), "at 1m20s: node n was rejected: why")
	assert.NilError(t, r.Breach())
}
