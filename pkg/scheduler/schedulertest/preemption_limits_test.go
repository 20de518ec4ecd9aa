package schedulertest_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/core/preemptor"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler/schedulertest"
)

// Where foreign pods cannot be ended they are no victims, and own ones do not end beside
// them in vain.
func TestForeignPodsThatStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := schedulertest.New(t, schedulertest.Options{KeepReleased: true, KeepsForeign: true})
		m.AddNode("node-1", "vcore=4")
		m.AddApplication("daemons", "root.default")
		m.AddApplication("work", "root.default")
		m.Foreign("foreign-1", "node-1", "vcore=2")
		m.Ask("work", "own", "vcore=1")
		m.WaitPlaced("own")
		m.AskOn("node-1", "daemons", "logs", "vcore=4", func(a *si.Allocation) { a.Priority = 1000 })
		m.Advance(time.Hour)
		told, _ := released(m)
		assert.Equal(t, len(told), 0)
		waits := m.Application("daemons").Asks[0]
		assert.Equal(t, waits.Plan.ByFilter[preemptor.IsForeign], 1, "the explanation tells of what the callback does not end")
		assert.Check(t, cmp.DeepEqual(waits.Plan.Filtered, []preemptor.Filtered{{Key: "foreign-1", Why: preemptor.IsForeign}}))
		assert.Check(t, cmp.Contains(preemptor.IsForeign.String(), "foreign allocations are not preempted"))
		m.Ask("work", "other", "vcore=1")
		assert.Equal(t, m.WaitPlaced("other"), "node-1")
	})
}

// A foreign victim is named by its key alone and confirmed by it; a static one is
// never a victim, whatever its size, and neither is the pod of a daemonset.
func TestForeignVictims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := schedulertest.New(t, schedulertest.Options{KeepReleased: true})
		m.AddNode("node-1", "vcore=6")
		m.AddApplication("daemons", "root.default")
		m.Foreign("foreign-1", "node-1", "vcore=2")
		m.Static("kubelet", "node-1", "vcore=2")
		m.AskOn("node-1", "daemons", "proxy", "vcore=2")
		m.WaitPlaced("proxy")
		m.Heard()
		m.AskOn("node-1", "daemons", "logs", "vcore=2", func(a *si.Allocation) { a.Priority = 1000 })
		m.Advance(startDelay)
		told, _ := released(m)
		assert.Equal(t, len(told), 1)
		assert.Equal(t, told[0].AllocationKey, "foreign-1")
		assert.Equal(t, told[0].ApplicationID, "")
		assert.Equal(t, told[0].TerminationType, si.TerminationType_PREEMPTED_BY_SCHEDULER)
		assert.Equal(t, preempted(m)[0].ObjectID, "foreign-1")
		assert.Check(t, cmp.Contains(preempted(m)[0].Message, "logs"))

		m.Confirm("foreign-1")
		m.Confirm("foreign-1")
		assert.Equal(t, m.WaitPlaced("logs"), "node-1")
		assert.Equal(t, m.Text(m.Node("node-1").Occupied), "vcore=2000")

		// The next ask finds no victim, and says so at once.
		m.AskOn("node-1", "daemons", "more", "vcore=2", func(a *si.Allocation) { a.Priority = 1000 })
		assert.Equal(t, m.Why("more"), "required node has no room: no eligible candidate: needs vcore=2000")
		m.Advance(time.Hour)
		told, _ = released(m)
		assert.Equal(t, len(told), 1)
	})
}

// An ask that could never fit says so at once, with the numbers, once
// for each answer.
func TestTheImpossibleIsSaidAtOnce(t *testing.T) {
	full(t, func(t *testing.T, m *schedulertest.MockScheduler) {
		m.Static("kubelet", "node-1", "vcore=1")
		m.AskOn("node-1", "daemons", "logs", "vcore=5")
		assert.Equal(t, m.Why("logs"), "required node has no room: impossible: needs vcore=6000, at most vcore=5000 can be freed")
		said := func() (times int) {
			for _, e := range m.Events() {
				if e.ObjectID == "logs" && strings.Contains(e.Message, "impossible") {
					times++
				}
			}
			return times
		}
		m.Advance(time.Hour)
		assert.Equal(t, said(), 1)
		// Another answer is said, but not each one of a node that goes to and fro.
		for range 10 {
			m.Release("app-1", "small")
			m.Place("app-1", "small", "node-1", "vcore=2")
		}
		assert.Equal(t, said(), 2)
		assert.Check(t, cmp.Len(preempted(m), 0))
	})
}

// The ask is taken back while its victim is on the way out: the victim goes all
// the same, and its room is for all.
func TestAnAskThatIsTakenBack(t *testing.T) {
	full(t, func(t *testing.T, m *schedulertest.MockScheduler) {
		m.AskOn("node-1", "daemons", "logs", "vcore=2")
		m.Advance(startDelay)
		m.Release("daemons", "logs")
		m.Ask("app-1", "next", "vcore=2")
		m.Confirm("small")
		assert.Equal(t, m.WaitPlaced("next"), "node-1")
		m.Advance(time.Hour)
		assert.Equal(t, m.Look().Preempted.Overdue.Total(), uint64(0))
	})
}

// The node leaves while a victim is on its way out: everything is released by the
// resource manager, and the confirmation says nothing new.
func TestANodeThatLeavesMeanwhile(t *testing.T) {
	full(t, func(t *testing.T, m *schedulertest.MockScheduler) {
		m.AskOn("node-1", "daemons", "logs", "vcore=2")
		m.Advance(startDelay)
		m.RemoveNode("node-1")
		m.Confirm("small")
		m.Advance(time.Hour)
		assert.Equal(t, m.Look().Preempted, api.Preempted{Plans: 2, Victims: forDaemons})
		m.AddNode("node-1", "vcore=5")
		assert.Equal(t, m.WaitPlaced("logs"), "node-1")
	})
}

// A resource manager that confirms each release makes the room at once.
func TestConfirmedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := schedulertest.New(t, schedulertest.Options{})
		m.AddNode("node-1", "vcore=2")
		m.AddApplication("app-1", "root.default")
		m.AddApplication("daemons", "root.default")
		m.Ask("app-1", "pod-1", "vcore=2")
		begin := time.Now()
		m.AskOn("node-1", "daemons", "logs", "vcore=1")
		assert.Equal(t, m.WaitPlaced("logs"), "node-1")
		assert.Equal(t, time.Since(begin), startDelay)
		_, placed := m.Placed("pod-1")
		assert.Check(t, !placed)
	})
}
