package live_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/simulator/live"
)

// TestLiveRequests: what a scenario says of pods is in requests and answers.
func TestLiveRequests(t *testing.T) {
	s := parse(t, `
name: x
until: 2h
nodes: [{name: node, count: 2, capacity: {vcore: 8}}]
workloads:
  - {name: w, queue: root.default, resources: {vcore: 1}, selector: {a: b}, runs: forever, grace: 90s, opt-out: true, driver: true, priority: 3}
  - {name: v, queue: root.default, resources: {vcore: 1}, runs: forever}
budgets: [{name: one, workloads: [w], allowed: 1}]
incidents: [{at: 1h, what: drain, nodes: [node-1], evicts: true}]
delays: {start: 0s, stop: 0s, restart: 0s}
`)
	synctest.Test(t, func(t *testing.T) {
		over := make(chan struct{})
		cluster, err := live.New(s, live.Options{Speed: 60, Over: func() { close(over) }})
		assert.NilError(t, err)
		assert.Assert(t, cluster.Constrained())
		ctx, cancel := context.WithCancel(t.Context())
		finished := make(chan error)
		p := &fakeScheduler{asked: make(chan struct{}, 10)}
		go func() { finished <- cluster.Run(ctx, p) }()
		<-p.asked
		synctest.Wait()

		w, v := p.all[0].Allocations[0], p.all[1].Allocations[0]
		assert.Assert(t, w.PreemptionPolicy != nil && !w.PreemptionPolicy.AllowPreemptSelf && w.PreemptionPolicy.AllowPreemptOther)
		assert.Assert(t, v.PreemptionPolicy == nil)
		assert.Equal(t, w.AllocationTags[api.TagGrace], "2", "90 seconds at a speed of 60, in whole seconds")
		assert.Equal(t, w.Priority, int32(3))
		assert.Assert(t, w.Originator && !v.Originator)

		budgets := p.callback.(scheduler.DisruptionBudgeter).DisruptionBudgets([]string{"v/1", "w/1"})
		assert.DeepEqual(t, budgets, []scheduler.DisruptionBudget{{Name: "one", Allowed: 1, Allocations: []string{"w/1"}}})
		ask := func(key string) error {
			return p.callback.(scheduler.PredicateSimulator).PredicatesWith(&scheduler.PredicatesWithArgs{AllocationKey: key, NodeID: "node-1"})
		}
		assert.NilError(t, ask("v/1"))
		var lasting interface{ Unresolvable() bool }
		assert.Assert(t, errors.As(ask("w/1"), &lasting) && lasting.Unresolvable())
		assert.Assert(t, p.callback.Predicates(&si.PredicatesArgs{AllocationKey: "w/1", NodeID: "node-1"}) != nil)

		// A drain ends the pod and asks for its successor: in that order, which one
		// request would reverse.
		p.place("v/1", "node-1")
		<-over
		cancel()
		assert.NilError(t, <-finished)
		assert.Equal(t, len(p.all), 4)
		assert.Equal(t, p.all[2].Releases.AllocationsToRelease[0].AllocationKey, "v/1")
		assert.Equal(t, p.all[3].Allocations[0].AllocationKey, "v/1~2")
	})
}
