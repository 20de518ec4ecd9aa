package schedulertest

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"
)

// The verbs, one after the other, and what is heard of each.
func TestTheVerbs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New(t, Options{ID: "shim"})
		steps := []struct {
			does  func()
			heard []string
		}{
			{func() { m.AddNode("node-1", "vcore=2 memory=4Gi") }, []string{"node node-1 accepted"}},
			{func() { m.AddDrainedNode("node-2", "vcore=2") }, []string{"node node-2 accepted"}},
			{func() { m.AddApplication("app-1", "default") }, []string{"application app-1 accepted"}},
			{func() { m.Ask("app-1", "pod-1", "vcore=2") }, []string{
				"application app-1 is Accepted",
				"application app-1 is Running",
				"allocation pod-1 placed on node-1",
			}},
			{func() { m.EnableNode("node-2") }, nil},
			{func() { m.Ask("app-1", "pod-2", "vcore=2") }, []string{"allocation pod-2 placed on node-2"}},
			{func() { m.Place("app-1", "pod-3", "node-2", "vcore=1") }, nil}, // it is known to run
			{func() { m.DrainNode("node-2") }, nil},
			{func() { m.Release("app-1", "pod-1") }, []string{"allocation pod-1 released: STOPPED_BY_RM"}},
			{func() { m.UpdateCapacity("node-1", "vcore=8") }, nil},
			{func() { m.Foreign("pod-4", "node-1", "vcore=1") }, nil},
			{func() { m.RemoveNode("node-2") }, []string{
				"allocation pod-2 released: STOPPED_BY_RM",
				"allocation pod-3 released: STOPPED_BY_RM",
				"application app-1 is Completing",
			}},
			{func() { m.Advance(time.Minute) }, []string{"application app-1 is Completed"}},
			{func() { m.Release("", "pod-4") }, nil},
			{func() { m.AddApplication("app-2", "") }, []string{"application app-2 accepted"}},
			{func() { m.RemoveApplication("app-2") }, nil},
		}
		for _, step := range steps {
			step.does()
			assert.DeepEqual(t, append([]string{}, step.heard...), m.Heard())
		}
	})
}

// A release that the scheduler starts is confirmed like by a shim whose pod is
// gone, unless the test wants to do that.
func TestReleasesOfTheSchedulerAreConfirmed(t *testing.T) {
	for _, keep := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			m := New(t, Options{KeepReleased: keep})
			m.AddNode("node-1", "vcore=2")
			m.AddApplication("app-1", "root.default")
			m.Ask("app-1", "pod-1", "vcore=2")
			err := m.heard.UpdateAllocation(&si.AllocationResponse{Released: []*si.AllocationRelease{{
				ApplicationID: "app-1", AllocationKey: "pod-1", TerminationType: si.TerminationType_PREEMPTED_BY_SCHEDULER,
			}}})
			m.settle(err)
			assert.Equal(t, len(m.Node("node-1").Allocations) == 1, keep)
		})
	}
}

// Waiting lets virtual time pass: an ask that could not be bound is tried again
// after a while.
func TestWaitingForAPlacement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New(t, Options{})
		m.AddNode("node-1", "vcore=2")
		m.AddApplication("app-1", "root.default")
		m.Ask("app-1", "pod-1", "vcore=2")
		m.FailBinding("app-1", "pod-1")
		assert.Equal(t, m.Why("pod-1"), "binding failed")
		begin := time.Now()
		assert.Equal(t, m.WaitPlaced("pod-1"), "node-1")
		assert.Equal(t, time.Since(begin), time.Second)
	})
}
