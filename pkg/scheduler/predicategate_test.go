package scheduler

import (
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
)

// A gate is as large as what runs and what is under way, and not as what ever was.
func TestAGateForgets(t *testing.T) {
	g := newGate(newOutbox(meter{}), nil, zap.NewNop())
	tell := func(effect any) {
		g.note(core.Effects{effect}, g.outbox.put("p", effect))
	}
	placed := &si.Allocation{AllocationKey: "pod-1", NodeID: "node-1"}
	tell(&si.AcceptedNode{NodeID: "node-1"})
	tell(placed)
	tell(&si.Allocation{AllocationKey: "pod-2", NodeID: "node-2"})
	assert.DeepEqual(t, g.last, map[string]uint64{"node-1": 2, "node-2": 3})

	// The first two are delivered: of them nothing is kept but where the pod runs.
	g.outbox.done(2)
	tell(&si.AllocationRelease{AllocationKey: "pod-2", TerminationType: si.TerminationType_STOPPED_BY_RM})
	assert.DeepEqual(t, g.last, map[string]uint64{"node-2": 4})
	assert.DeepEqual(t, g.runsOn, map[string]string{"pod-1": "node-1"})

	// A release that the resource manager is to confirm still runs until it does.
	tell(&si.AllocationRelease{AllocationKey: "pod-1", TerminationType: si.TerminationType_TIMEOUT})
	assert.Equal(t, g.runsOn["pod-1"], "node-1")
	assert.Equal(t, g.last["node-1"], uint64(5))
	g.forget("pod-1")
	g.outbox.done(3)
	g.note(nil, 5)
	assert.Equal(t, len(g.last)+len(g.trail)+len(g.runsOn), 0)
}
