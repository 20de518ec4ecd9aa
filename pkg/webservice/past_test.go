package webservice

import (
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/events"
)

// past is what the partition of the fixture has been: applications that ended and
// that were rejected, a filler that made room for an agent, and one that does.
func (w *world) past(t testing.TB) *archive.Archive {
	t.Helper()
	a, err := archive.New(archive.Config{})
	assert.NilError(t, err)
	book := a.Open(w.names[0], w.kinds)
	do := func(after time.Duration, command core.Command, effects ...any) {
		book.Observe(events.Step{Now: start.Add(after), Command: command, Effects: effects})
	}
	enter := func(id string, state core.State, message string) any {
		return &si.UpdatedApplication{ApplicationID: id, State: state.String(), Message: message}
	}
	placed := func(key, node string) any {
		amounts := core.ResourceOf(w.kinds, w.amounts(t, 1000, 1<<30, 1))
		return &si.Allocation{AllocationKey: key, ApplicationID: "filler-app", NodeID: node, ResourcePerAlloc: amounts}
	}
	accept := func(id string) any { return &si.AcceptedApplication{ApplicationID: id} }
	do(0, core.Reconfigure{})
	do(0, core.AddNode{ID: "node-1", Attributes: map[string]string{"si/instance-type": "m5.large"}})
	do(0, core.AddApplication{ID: "agents-app", Queue: "root.sys.agents", User: "root"}, accept("agents-app"))
	do(0, core.AddApplication{ID: "done-app", Queue: "root.sys.agents", User: "anna"}, accept("done-app"))
	do(0, core.AddApplication{ID: "filler-app", Queue: "root.low", User: "anna"}, accept("filler-app"))
	do(time.Second, core.AddApplication{ID: "lost-app", Queue: "root.none", User: "bob", Groups: []string{"staff"}},
		&si.RejectedApplication{ApplicationID: "lost-app", Reason: "queue root.none does not exist"})
	do(time.Second, nil, enter("filler-app", core.Accepted, ""))
	do(time.Minute, nil, enter("filler-app", core.Running, ""), placed("filler-0", "node-1"), placed("filler-1", "node-1"), placed("filler-2", "node-1"), placed("filler-3", "node-2"))
	do(2*time.Minute, nil, enter("done-app", core.Accepted, ""), enter("done-app", core.Running, ""), enter("done-app", core.Completing, "nothing is left to run"))
	do(150*time.Second, nil, enter("done-app", core.Completed, ""))

	plan := func(agent, victim string) any {
		return core.Preemption{
			Application: "agents-app", Key: core.AllocationKey(agent), Queue: "root.sys.agents", Node: "node-1", Plan: w.plan(t, agent, victim),
		}
	}
	do(3*time.Minute, nil, enter("agents-app", core.Accepted, ""), plan("agent-0", "filler-0"))
	do(200*time.Second, core.ReleaseAllocation{Application: "filler-app", Key: "filler-0", Termination: si.TerminationType_PREEMPTED_BY_SCHEDULER})
	agents := core.ResourceOf(w.kinds, w.amounts(t, 500, 1<<29, 1))
	do(201*time.Second, nil, &si.Allocation{AllocationKey: "agent-0", ApplicationID: "agents-app", NodeID: "node-1", ResourcePerAlloc: agents},
		enter("agents-app", core.Running, ""))
	do(20*time.Minute, core.ReleaseAllocation{Application: "agents-app", Key: "agent-0"}, enter("agents-app", core.Completing, "nothing is left to run"))
	do(time.Hour, nil, enter("agents-app", core.Accepted, ""),
		&si.UpdateContainerSchedulingStateRequest{
			ApplicationID: "agents-app", AllocationKey: "agent-1", Reason: "no node can take the request",
			State: si.UpdateContainerSchedulingStateRequest_FAILED,
		},
		plan("agent-1", "filler-2"))
	return a
}
