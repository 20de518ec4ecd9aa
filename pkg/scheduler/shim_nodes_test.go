package scheduler_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/scheduler/schedulertest"
)

// The tests of this file and of the other shim_ files are what resource managers
// for Kubernetes rely on, one promise each.

// bubble runs a test in virtual time with a scheduler of its own.
func bubble(t *testing.T, options schedulertest.Options, test func(t *testing.T, m *schedulertest.MockScheduler)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, schedulertest.New(t, options)) })
}

func node(id string, action si.NodeInfo_ActionFromRM, capacity string) *si.NodeInfo {
	return &si.NodeInfo{NodeID: id, Action: action, SchedulableResource: schedulertest.Resource(capacity)}
}

func TestEveryNodeOfTheFirstRequestIsAnswered(t *testing.T) {
	bubble(t, schedulertest.Options{}, func(t *testing.T, m *schedulertest.MockScheduler) {
		var nodes []*si.NodeInfo
		for i := range 100 {
			nodes = append(nodes, node(fmt.Sprintf("node-%d", i), si.NodeInfo_CREATE_DRAIN, "vcore=4"))
		}
		nodes[50].SchedulableResource.Resources["vcore"].Value = -1
		nodes[60].NodeID = "node-1"
		assert.NilError(t, m.UpdateNodeOf(nodes...))
		m.Settle()

		answers := map[string]int{}
		for _, call := range m.Calls() {
			if response, ok := call.Message.(*si.NodeResponse); ok {
				for _, n := range response.Accepted {
					answers["accepted"]++
					answers[n.NodeID]++
				}
				for _, n := range response.Rejected {
					answers["rejected"]++
					answers[n.NodeID]++
					assert.Assert(t, n.Reason != "")
				}
			}
		}
		assert.Equal(t, answers["accepted"], 98)
		assert.Equal(t, answers["rejected"], 2)
		assert.Equal(t, answers["node-50"], 1)
		assert.Equal(t, answers["node-1"], 2)
		assert.Equal(t, answers["node-99"], 1)
	})
}

func TestChangesOfNodesHaveNoAnswer(t *testing.T) {
	bubble(t, schedulertest.Options{}, func(t *testing.T, m *schedulertest.MockScheduler) {
		m.AddDrainedNode("node-1", "vcore=4")
		assert.DeepEqual(t, m.Heard(), []string{"node node-1 accepted"})
		m.EnableNode("node-1")
		m.UpdateCapacity("node-1", "vcore=8")
		m.DrainNode("node-1")
		m.RemoveNode("node-1")
		assert.DeepEqual(t, m.Heard(), []string{})
	})
}

func TestARequestMayBeEmpty(t *testing.T) {
	bubble(t, schedulertest.Options{}, func(t *testing.T, m *schedulertest.MockScheduler) {
		assert.NilError(t, m.UpdateNodeOf())
		assert.NilError(t, m.Send())
		assert.NilError(t, m.UpdateApplication(&si.ApplicationRequest{RmID: "rm"}))
		m.Settle()
		assert.DeepEqual(t, m.Heard(), []string{})
	})
}

func TestADrainedNodeTakesNothingUntilItIsEnabled(t *testing.T) {
	bubble(t, schedulertest.Options{}, func(t *testing.T, m *schedulertest.MockScheduler) {
		m.AddDrainedNode("node-1", "vcore=4")
		m.AddApplication("app-1", "root.default")
		m.Ask("app-1", "pod-1", "vcore=1")
		_, placed := m.Placed("pod-1")
		assert.Assert(t, !placed)
		m.EnableNode("node-1")
		assert.Equal(t, m.WaitPlaced("pod-1"), "node-1")
	})
}

func TestANewCapacityKeepsTheNodeDrained(t *testing.T) {
	bubble(t, schedulertest.Options{}, func(t *testing.T, m *schedulertest.MockScheduler) {
		m.AddDrainedNode("node-1", "vcore=1")
		m.UpdateCapacity("node-1", "vcore=4")
		assert.Equal(t, m.Node("node-1").Schedulable, false)
		assert.Equal(t, m.Text(m.Node("node-1").Capacity), "vcore=4000")
		m.EnableNode("node-1")
		m.UpdateCapacity("node-1", "vcore=8")
		assert.Equal(t, m.Node("node-1").Schedulable, true)
	})
}

// An update with nothing but a capacity, or nothing but the partition, keeps the
// attributes; without a capacity it keeps that.
func TestAnUpdateKeepsWhatItDoesNotSay(t *testing.T) {
	bubble(t, schedulertest.Options{}, func(t *testing.T, m *schedulertest.MockScheduler) {
		m.AddNode("node-1", "vcore=4")
		update := &si.NodeInfo{NodeID: "node-1", Action: si.NodeInfo_UPDATE, Attributes: map[string]string{"si/node-partition": ""}}
		assert.NilError(t, m.UpdateNodeOf(update))
		assert.Equal(t, m.Node("node-1").Attributes["si/hostname"], "node-1")
		assert.Equal(t, m.Text(m.Node("node-1").Capacity), "vcore=4000")

		update.Attributes["si/rackname"] = "rack-1"
		assert.NilError(t, m.UpdateNodeOf(update))
		assert.Equal(t, m.Node("node-1").Attributes["si/rackname"], "rack-1")

		update.SchedulableResource = &si.Resource{}
		assert.NilError(t, m.UpdateNodeOf(update))
		assert.Equal(t, m.Text(m.Node("node-1").Capacity), "nothing")
	})
}

func TestARemovedNodeReleasesWhatRanThere(t *testing.T) {
	bubble(t, schedulertest.Options{}, func(t *testing.T, m *schedulertest.MockScheduler) {
		m.AddNode("node-1", "vcore=4")
		m.AddApplication("app-1", "root.default")
		m.Ask("app-1", "pod-1", "vcore=1")
		m.Ask("app-1", "pod-2", "vcore=1")
		m.Heard()
		m.RemoveNode("node-1")
		assert.DeepEqual(t, m.Heard(), []string{
			"allocation pod-1 released: STOPPED_BY_RM",
			"allocation pod-2 released: STOPPED_BY_RM",
			"application app-1 is Completing",
		})
		assert.Equal(t, m.Text(m.Queue("root").Used), "nothing")
	})
}

func TestANodeMayLoseAKindOfResource(t *testing.T) {
	bubble(t, schedulertest.Options{}, func(t *testing.T, m *schedulertest.MockScheduler) {
		m.AddNode("node-1", "memory=1Gi vcore=4 gpu=2")
		m.UpdateCapacity("node-1", "memory=1Gi vcore=4")
		assert.Equal(t, m.Text(m.Node("node-1").Available), "memory=1073741824 vcore=4000")
		m.UpdateCapacity("node-1", "")
		assert.Equal(t, m.Text(m.Node("node-1").Available), "nothing")
	})
}

func TestAChangeOfAnUnknownNodeIsAnswered(t *testing.T) {
	bubble(t, schedulertest.Options{}, func(t *testing.T, m *schedulertest.MockScheduler) {
		m.UpdateCapacity("node-1", "vcore=1")
		m.DrainNode("node-2")
		m.EnableNode("node-3")
		m.RemoveNode("node-4")
		var rejected []string
		for _, call := range m.Calls() {
			for _, n := range call.Message.(*si.NodeResponse).Rejected {
				assert.Assert(t, n.Reason != "")
				rejected = append(rejected, n.NodeID)
			}
		}
		assert.DeepEqual(t, rejected, []string{"node-1", "node-2", "node-3", "node-4"})
	})
}
