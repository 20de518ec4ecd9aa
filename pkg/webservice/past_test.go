package webservice

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/events"
)

// past is what the partition of the fixture has been: applications that ended and
// that were rejected, a filler that made room for an agent, and one that does.
func (w *world) past(t testing.TB) *archive.Archive {
	t.Helper()
	a, err := archive.New(archive.Config{})
	assert.NilError(t, err)
	book := a.Open(w.names[0])
	do := func(after time.Duration, effects ...core.Event) {
		book.Observe(events.Step{Now: start.Add(after), Effects: effects})
	}
	queues := map[core.ApplicationID]core.QueuePath{"agents-app": "root.sys.agents", "done-app": "root.sys.agents", "filler-app": "root.low"}
	accept := func(id core.ApplicationID, user string) core.Event {
		return &core.ApplicationAccepted{ID: id, Queue: queues[id], User: user}
	}
	states := map[core.ApplicationID]core.State{}
	enter := func(id core.ApplicationID, state core.State, message string) core.Event {
		from := states[id]
		states[id] = state
		return &core.ApplicationChanged{ID: id, Queue: queues[id], From: from, State: state, Message: message}
	}
	allocation := func(app core.ApplicationID, key core.AllocationKey, node core.NodeID) *core.Allocation {
		if app == "agents-app" {
			return &core.Allocation{Key: key, Application: app, Node: node, Amounts: w.amounts(t, 500, 1<<29, 1), Placed: start.Add(201 * time.Second)}
		}
		return &core.Allocation{Key: key, Application: app, Node: node, Amounts: w.amounts(t, 1000, 1<<30, 1), Priority: -10, Placed: start.Add(time.Minute)}
	}
	evicted := func(victim, agent core.AllocationKey) core.Event {
		return &core.EvictionRequested{Allocation: allocation("filler-app", victim, "node-1"), For: agent, Trigger: preemptor.RequiredNode}
	}
	placed := func(key core.AllocationKey, node core.NodeID) core.Event {
		return core.Placed{Allocation: allocation("filler-app", key, node)}
	}
	planned := func(agent, victim string) core.Event {
		return &core.PreemptionPlanned{
			Application: "agents-app", Key: core.AllocationKey(agent), Queue: "root.sys.agents", Node: "node-1", Plan: w.plan(t, agent, victim),
		}
	}
	waits := func(agent core.AllocationKey) core.Event {
		return core.AskAdded{Allocation: allocation("agents-app", agent, "")}
	}
	do(0, &core.Reconfigured{After: core.QueueConfig{Name: "root"}})
	do(0, &core.NodeAdded{ID: "node-1", Attributes: map[string]string{"si/instance-type": "m5.large"}})
	do(0, accept("agents-app", "root"))
	do(0, accept("done-app", "anna"))
	do(0, accept("filler-app", "anna"))
	do(time.Second, &core.ApplicationRejected{
		ID: "lost-app", Queue: "root.none", User: "bob", Groups: []string{"staff"}, Reason: "queue root.none does not exist",
	})
	do(time.Second, enter("filler-app", core.Accepted, ""))
	do(time.Minute, enter("filler-app", core.Running, ""),
		placed("filler-0", "node-1"), placed("filler-1", "node-1"), placed("filler-2", "node-1"), placed("filler-3", "node-2"))
	do(2*time.Minute, enter("done-app", core.Accepted, ""), enter("done-app", core.Running, ""), enter("done-app", core.Completing, "nothing is left to run"))
	do(150*time.Second, enter("done-app", core.Completed, ""), &core.ApplicationGone{ID: "done-app", Queue: queues["done-app"], State: core.Completed})

	do(3*time.Minute, waits("agent-0"), enter("agents-app", core.Accepted, ""), planned("agent-0", "filler-0"), evicted("filler-0", "agent-0"))
	do(200*time.Second, &core.Ended{Allocation: allocation("filler-app", "filler-0", "node-1"), Cause: core.CausePreempted, Evicted: true})
	do(201*time.Second, core.Placed{Allocation: allocation("agents-app", "agent-0", "node-1")}, enter("agents-app", core.Running, ""))
	do(20*time.Minute, &core.Ended{Allocation: allocation("agents-app", "agent-0", "node-1"), Cause: core.CauseReleased},
		enter("agents-app", core.Completing, "nothing is left to run"))
	do(time.Hour, waits("agent-1"), enter("agents-app", core.Accepted, ""),
		&core.Unschedulable{Allocation: allocation("agents-app", "agent-1", ""), Reason: "no node can take the request"},
		planned("agent-1", "filler-2"), evicted("filler-2", "agent-1"))
	return a
}
