package schedulertest_test

import (
	"testing"
	"testing/synctest"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler/schedulertest"
)

// The steps of the design for foreign pods, core side, one by one.
func TestForeignPodSmoke(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// Creates a new partition.
		m := schedulertest.New(t, schedulertest.Options{})
		// Registers a node.
		m.AddNode("node-1", "vcore=4 memory=8Gi")
		assert.DeepEqual(t, m.Heard(), []string{"node node-1 accepted"})

		// Sends a request that represents a foreign allocation.
		m.Foreign("pod-1", "node-1", "vcore=1 memory=2Gi")

		node := m.Node("node-1")
		// Verify: the occupied resources of the node have changed.
		assert.Equal(t, m.Text(node.Occupied), "memory=2147483648 vcore=1000")
		// Verify: the available resources have changed.
		assert.Equal(t, m.Text(node.Available), "memory=6442450944 vcore=3000")
		// Verify: the allocated resources are zero.
		assert.Equal(t, m.Text(node.Allocated), "nothing")
		// Verify: the node has a new allocation, in the list of foreign ones.
		assert.Equal(t, len(node.ForeignAllocations), 1)
		pod := node.ForeignAllocations[0]
		assert.Equal(t, pod.Key, api.AllocationKey("pod-1"))
		assert.Equal(t, pod.Node, api.NodeID("node-1"))
		assert.Equal(t, pod.Application, api.ApplicationID(""))
		assert.Equal(t, pod.Origin, api.Foreign)
		assert.Equal(t, pod.Tags["foreign"], "default")
		assert.Equal(t, len(node.Allocations), 0)
		// There is no notification, and no queue pays.
		assert.DeepEqual(t, m.Heard(), []string{})
		assert.Equal(t, m.Text(m.Queue("root").Used), "nothing")

		// Removes the foreign allocation.
		m.Release("", "pod-1")

		node = m.Node("node-1")
		// Verify: the occupied resources are zero.
		assert.Equal(t, m.Text(node.Occupied), "nothing")
		// Verify: the available resources are back to the original capacity.
		assert.Equal(t, m.Text(node.Available), m.Text(node.Capacity))
		assert.Equal(t, m.Text(node.Available), "memory=8589934592 vcore=4000")
		// Verify: the allocated resources are zero.
		assert.Equal(t, m.Text(node.Allocated), "nothing")
		// Verify: the node has no allocation.
		assert.Equal(t, len(node.ForeignAllocations), 0)
		assert.Equal(t, len(node.Allocations), 0)
		assert.DeepEqual(t, m.Heard(), []string{})
	})
}

// The steps of the design on the side of the shim: pods that run already when the
// node is registered, then one more.
func TestForeignPodSmokeOfAShim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// Creates a new mock scheduler, registers a node with some existing foreign
		// allocations, and lets scheduling start.
		m := schedulertest.New(t, schedulertest.Options{})
		m.AddDrainedNode("node-1", "vcore=4 memory=8Gi")
		m.Foreign("existing-1", "node-1", "vcore=500m memory=1Gi")
		m.Static("existing-2", "node-1", "vcore=500m memory=1Gi")
		m.EnableNode("node-1")

		// Verify: existing allocations are registered to the node.
		node := m.Node("node-1")
		assert.Equal(t, len(node.ForeignAllocations), 2)
		assert.Equal(t, node.ForeignAllocations[0].Origin, api.Foreign)
		assert.Equal(t, node.ForeignAllocations[1].Origin, api.Static)
		assert.Equal(t, m.Text(node.Occupied), "memory=2147483648 vcore=1000")
		assert.Equal(t, node.Schedulable, true)

		// Creates a pod of another scheduler and waits until it is processed.
		m.Foreign("pod-1", "node-1", "vcore=1 memory=1Gi")

		node = m.Node("node-1")
		// Verify: the occupied resources have changed.
		assert.Equal(t, m.Text(node.Occupied), "memory=3221225472 vcore=2000")
		// Verify: the available resources have changed.
		assert.Equal(t, m.Text(node.Available), "memory=5368709120 vcore=2000")
		// Verify: the allocated resources are zero.
		assert.Equal(t, m.Text(node.Allocated), "nothing")
		// Verify: the node has a new allocation.
		assert.Equal(t, len(node.ForeignAllocations), 3)

		// Removes the pods.
		m.Release("", "pod-1")
		m.Release("", "existing-1")
		m.Release("", "existing-2")

		node = m.Node("node-1")
		// Verify: the occupied resources are zero.
		assert.Equal(t, m.Text(node.Occupied), "nothing")
		// Verify: the available resources are back to the original capacity.
		assert.Equal(t, m.Text(node.Available), "memory=8589934592 vcore=4000")
		// Verify: the allocated resources are zero.
		assert.Equal(t, m.Text(node.Allocated), "nothing")
		// Verify: the node has no allocation.
		assert.Equal(t, len(node.ForeignAllocations), 0)
		assert.Equal(t, len(node.Allocations), 0)
	})
}

// Foreign pods take room from asks, and give it back.
func TestForeignPodsLeaveLessRoomForAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := schedulertest.New(t, schedulertest.Options{})
		m.AddNode("node-1", "vcore=2")
		m.AddApplication("app-1", "root.default")
		m.Foreign("pod-1", "node-1", "vcore=1500m")
		m.Ask("app-1", "ask-1", "vcore=1")
		_, placed := m.Placed("ask-1")
		assert.Assert(t, !placed)

		m.Release("", "pod-1")
		assert.Equal(t, m.WaitPlaced("ask-1"), "node-1")
	})
}

// A pod may be heard of before its node, twice, on another node, with other
// amounts, and after its end.
func TestForeignPodsInAnyOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := schedulertest.New(t, schedulertest.Options{})
		m.Foreign("pod-1", "node-1", "vcore=1")
		m.Release("", "pod-2")
		m.AddNode("node-1", "vcore=4")
		assert.Equal(t, m.Text(m.Node("node-1").Occupied), "vcore=1000")

		m.Foreign("pod-1", "node-1", "vcore=1")
		m.Foreign("pod-1", "node-1", "vcore=2")
		assert.Equal(t, m.Text(m.Node("node-1").Occupied), "vcore=2000")

		m.AddNode("node-2", "vcore=4")
		m.Foreign("pod-1", "node-2", "vcore=2")
		assert.Equal(t, m.Text(m.Node("node-1").Occupied), "nothing")
		assert.Equal(t, m.Text(m.Node("node-2").Occupied), "vcore=2000")

		m.RemoveNode("node-2")
		m.AddNode("node-2", "vcore=4")
		assert.Equal(t, m.Text(m.Node("node-2").Occupied), "vcore=2000")

		m.Release("", "pod-1")
		m.Release("", "pod-1")
		assert.Equal(t, m.Text(m.Node("node-2").Occupied), "nothing")
	})
}

// What cannot be booked is answered, and is the only thing that is.
func TestForeignPodsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := schedulertest.New(t, schedulertest.Options{})
		m.AddNode("node-1", "vcore=4")
		m.Heard()
		m.Foreign("pod-1", "", "vcore=1")
		m.Foreign("pod-2", "node-1", "")
		m.Ask("", "pod-3", "", func(a *si.Allocation) {
			a.NodeID = "node-1"
			a.AllocationTags = map[string]string{"foreign": "default"}
			a.ResourcePerAlloc = &si.Resource{Resources: map[string]*si.Quantity{"vcore": {Value: -1}}}
		})
		assert.DeepEqual(t, m.Heard(), []string{
			"allocation pod-1 rejected: a foreign allocation must name the node it runs on",
			"allocation pod-2 rejected: allocation contains no resources",
			"allocation pod-3 rejected: allocation contains negative resources: vcore=-1",
		})
		assert.Equal(t, m.Text(m.Node("node-1").Occupied), "nothing")
	})
}

// A pod whose tag is not understood is booked as one that belongs to its node, with a
// warning.
func TestForeignPodsOfAnUnknownKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logs, seen := observer.New(zap.WarnLevel)
		m := schedulertest.New(t, schedulertest.Options{Scheduler: scheduler.Config{Logger: zap.New(logs)}})
		m.AddNode("node-1", "vcore=4")
		m.Heard()
		m.Ask("", "pod-1", "vcore=1", func(a *si.Allocation) {
			a.NodeID = "node-1"
			a.AllocationTags = map[string]string{"foreign": "maybe"}
		})
		assert.DeepEqual(t, m.Heard(), []string{})
		assert.Equal(t, m.Node("node-1").ForeignAllocations[0].Origin, api.Static)
		assert.Equal(t, seen.Len(), 1)
		assert.DeepEqual(t, seen.All()[0].ContextMap(), map[string]any{
			"resourceManager": "rm", "partition": "[rm]default", "id": "pod-1",
			"problem": `unknown value of tag foreign: "maybe", taken for static`,
		})
	})
}

// The events of foreign allocations say that they are foreign.
func TestForeignPodEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := schedulertest.New(t, schedulertest.Options{})
		m.AddNode("node-1", "vcore=4")
		m.Foreign("pod-1", "node-1", "vcore=1")
		m.Release("", "pod-1")
		var changes []si.EventRecord_ChangeType
		for _, e := range m.Events() {
			assert.Assert(t, e.EventChangeDetail.String() != "NODE_OCCUPIED")
			if e.EventChangeDetail == si.EventRecord_NODE_ALLOC {
				assert.Check(t, cmp.Contains(e.Message, "foreign"))
				assert.Check(t, cmp.Equal(e.ReferenceID, "pod-1"))
				changes = append(changes, e.EventChangeType)
			}
		}
		assert.DeepEqual(t, changes, []si.EventRecord_ChangeType{si.EventRecord_ADD, si.EventRecord_REMOVE})
	})
}
