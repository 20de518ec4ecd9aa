package scheduler_test

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/common"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler/schedulertest"
)

// At a restart nodes are enabled one after the other, an important ask waits, and a pod
// runs on the first. With the settling time the ask takes the second node; without it,
// the pod ends.
func TestARestartEvictsNothingBeforeAllIsTold(t *testing.T) {
	for _, settle := range []time.Duration{-1, 5 * time.Second} {
		options := schedulertest.Options{Scheduler: scheduler.Config{SettleDelay: settle, EchoAdopted: true}}
		bubble(t, options, func(t *testing.T, m *schedulertest.MockScheduler) {
			m.AddDrainedNode("node-1", "vcore=4")
			m.AddDrainedNode("node-2", "vcore=4")
			m.AddApplication("work", "root.default")
			m.EnableNode("node-1")
			m.Place("work", "runs", "node-1", "vcore=4")
			m.Ask("work", "urgent", "vcore=4", func(a *si.Allocation) { a.Priority = 10 })
			m.Advance(4 * time.Second)
			m.EnableNode("node-2")
			node, _ := m.Placed("urgent")
			_, runs := m.Placed("runs")
			assert.Equal(t, runs, settle > 0)
			assert.Equal(t, node, map[bool]string{true: "node-2", false: "node-1"}[settle > 0])
		})
	}
}

// Without a configuration, evictions begin after five seconds.
func TestSettleDelayByDefault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := scheduler.New(scheduler.Config{})
		assert.NilError(t, err)
		defer s.Stop()
		_, err = s.RegisterResourceManager(&si.RegisterResourceManagerRequest{RmID: "rm"}, newCounter())
		assert.NilError(t, err)
		node := &si.NodeInfo{NodeID: "node-1", Action: si.NodeInfo_CREATE, SchedulableResource: schedulertest.Resource("vcore=4")}
		assert.NilError(t, s.UpdateNode(&si.NodeRequest{RmID: "rm", Nodes: []*si.NodeInfo{node}}))
		view, err := s.View(t.Context(), partition)
		assert.NilError(t, err)
		assert.Equal(t, time.Until(view.SettlesAt), 5*time.Second)
		time.Sleep(5 * time.Second)
		view, err = s.View(t.Context(), partition)
		assert.NilError(t, err)
		assert.Assert(t, view.SettlesAt.IsZero())
	})
}

// An application that is forced in runs on although its queue is gone, and its age is
// what its tag says.
func TestARestartKeepsWhatRuns(t *testing.T) {
	bubble(t, schedulertest.Options{}, func(t *testing.T, m *schedulertest.MockScheduler) {
		m.AddNode("node-1", "vcore=4")
		created := time.Now().Add(-time.Hour).Truncate(time.Second)
		assert.NilError(t, m.UpdateApplication(&si.ApplicationRequest{RmID: "rm", New: []*si.AddApplicationRequest{{
			ApplicationID: "work", QueueName: "root.gone", PartitionName: "default",
			Tags: map[string]string{common.AppTagCreateForce: "true", common.CreationTime: strconv.FormatInt(created.Unix(), 10)},
		}}}))
		m.Settle()
		m.Place("work", "runs", "node-1", "vcore=4")
		work := m.Application("work")
		assert.Equal(t, work.Queue, api.RecoveryQueue)
		assert.Equal(t, work.Submitted.Unix(), created.Unix())
		assert.Equal(t, len(work.Allocations), 1)
	})
}
