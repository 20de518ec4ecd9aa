package schedulertest_test

import (
	"slices"
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

// What holds where nothing is configured: how old a reservation is that has room
// made, and how long a victim has to go.
const (
	startDelay    = 30 * time.Second
	victimTimeout = 2 * time.Minute
)

// forDaemons counts the one victim of an ask that must run on its node.
var forDaemons = api.VictimCount{preemptor.RequiredNode: {preemptor.Regular: 1}}

// full is a bubble with a full node: two pods of an application, of 2 and of 3
// cores. Only the test confirms releases.
func full(t *testing.T, test func(t *testing.T, m *schedulertest.MockScheduler)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m := schedulertest.New(t, schedulertest.Options{KeepReleased: true})
		m.AddNode("node-1", "vcore=5")
		m.AddApplication("app-1", "root.default")
		m.AddApplication("daemons", "root.default")
		m.Ask("app-1", "small", "vcore=2")
		m.Ask("app-1", "large", "vcore=3")
		m.Heard()
		test(t, m)
	})
}

// evictionOf is the only line that is heard of an eviction.
func evictionOf(key string) []string {
	return []string{"allocation " + key + " released: PREEMPTED_BY_SCHEDULER"}
}

// ofPods is what was heard lately, without applications.
func ofPods(m *schedulertest.MockScheduler) []string {
	return slices.DeleteFunc(m.Heard(), func(line string) bool { return strings.HasPrefix(line, "application ") })
}

// released are the releases that were announced, whole, with their times.
func released(m *schedulertest.MockScheduler) (releases []*si.AllocationRelease, at []time.Time) {
	for _, call := range m.Calls() {
		if response, ok := call.Message.(*si.AllocationResponse); ok {
			for _, r := range response.Released {
				releases, at = append(releases, r), append(at, call.At)
			}
		}
	}
	return releases, at
}

// preempted are the event records of victims.
func preempted(m *schedulertest.MockScheduler) []*si.EventRecord {
	var events []*si.EventRecord
	for _, e := range m.Events() {
		if e.EventChangeDetail == si.EventRecord_ALLOC_PREEMPT {
			events = append(events, e)
		}
	}
	return events
}

// The whole hand-shake: the node is reserved, nothing happens before the delay and
// the victim is told at exactly its end, the room is free with the confirmation
// and not before, and the ask is placed.
func TestRoomIsMade(t *testing.T) {
	full(t, func(t *testing.T, m *schedulertest.MockScheduler) {
		asked := time.Now()
		m.AskOn("node-1", "daemons", "logs", "vcore=2")
		assert.DeepEqual(t, m.Node("node-1").Reservations,
			[]api.Reservation{{Node: "node-1", Key: "logs", At: asked, Required: true, Amounts: m.Node("node-1").Reservations[0].Amounts}})

		m.Advance(startDelay - time.Nanosecond)
		assert.Check(t, cmp.Len(m.Node("node-1").Evictions, 0))
		told, _ := released(m)
		assert.Equal(t, len(told), 0)

		m.Advance(time.Nanosecond)
		told, at := released(m)
		assert.Equal(t, len(told), 1)
		assert.Equal(t, told[0].TerminationType, si.TerminationType_PREEMPTED_BY_SCHEDULER)
		assert.Equal(t, told[0].AllocationKey, "small")
		assert.Equal(t, told[0].ApplicationID, "app-1")
		assert.Equal(t, told[0].PartitionName, "[rm]default")
		assert.Equal(t, told[0].Message, "preempted on node node-1 to make room for logs of application daemons")
		assert.Equal(t, at[0].Sub(asked), startDelay)

		// It runs until it is confirmed.
		node := m.Node("node-1")
		assert.Equal(t, m.Text(node.Available), "nothing")
		assert.DeepEqual(t, node.Evictions, []api.Eviction{{Key: "small", For: "logs", Since: asked.Add(startDelay)}})
		m.Advance(time.Minute)
		_, placed := m.Placed("logs")
		assert.Check(t, !placed)

		m.Confirm("small")
		assert.Equal(t, m.WaitPlaced("logs"), "node-1")
		node = m.Node("node-1")
		assert.Check(t, cmp.Len(node.Evictions, 0))
		assert.Check(t, cmp.Len(node.Reservations, 0))
		assert.DeepEqual(t, ofPods(m), append(evictionOf("small"), "allocation logs placed on node-1"))
		assert.Equal(t, m.Text(m.Queue("root").Used), "vcore=5000")
	})
}

// The owner of the partition sleeps from the ask to the end of the delay: nothing
// is looked at in between.
func TestTheOwnerWakesAtTheDelayAndNotBefore(t *testing.T) {
	full(t, func(t *testing.T, m *schedulertest.MockScheduler) {
		m.AskOn("node-1", "daemons", "logs", "vcore=2")
		before := m.Look()
		for range 29 {
			m.Advance(time.Second)
		}
		now := m.Look()
		assert.Equal(t, now.Work.Attempts, before.Work.Attempts)
		assert.Equal(t, now.Preempted.Plans, before.Preempted.Plans)
		m.Advance(time.Second)
		now = m.Look()
		assert.Equal(t, now.Preempted.Plans, before.Preempted.Plans+1)
		assert.Equal(t, now.Preempted.Victims.Total(), uint64(1))
	})
}

// The event of the victim names the ask, and comes through SendEvent.
func TestTheEventOfAVictim(t *testing.T) {
	full(t, func(t *testing.T, m *schedulertest.MockScheduler) {
		m.AskOn("node-1", "daemons", "logs", "vcore=2")
		m.Advance(startDelay)
		events := preempted(m)
		assert.Equal(t, len(events), 1)
		e := events[0]
		assert.Equal(t, e.Type, si.EventRecord_REQUEST)
		assert.Equal(t, e.EventChangeType, si.EventRecord_REMOVE)
		assert.Equal(t, e.ObjectID, "small")
		assert.Equal(t, e.ReferenceID, "app-1")
		assert.Check(t, cmp.Contains(e.Message, "to make room for logs of application daemons"))
		m.Confirm("small")
		assert.Equal(t, len(preempted(m)), 1)
	})
}

// If room appears during the delay, nothing is evicted.
func TestRoomThatAppearsInTime(t *testing.T) {
	full(t, func(t *testing.T, m *schedulertest.MockScheduler) {
		m.AskOn("node-1", "daemons", "logs", "vcore=2")
		m.Advance(startDelay - time.Second)
		m.Release("app-1", "small")
		assert.Equal(t, m.WaitPlaced("logs"), "node-1")
		m.Advance(time.Hour)
		assert.Check(t, cmp.Len(preempted(m), 0))
		assert.Equal(t, m.Look().Preempted.Victims.Total(), uint64(0))
	})
}

// A confirmation that is late, but in time, is as good as another.
func TestALateConfirmation(t *testing.T) {
	full(t, func(t *testing.T, m *schedulertest.MockScheduler) {
		m.AskOn("node-1", "daemons", "logs", "vcore=2")
		m.Advance(startDelay)
		m.Advance(victimTimeout - time.Nanosecond)
		assert.Check(t, !m.Node("node-1").Evictions[0].Overdue)
		m.Confirm("small")
		assert.Equal(t, m.WaitPlaced("logs"), "node-1")
		m.Advance(time.Hour)
		assert.Equal(t, m.Look().Preempted, api.Preempted{Plans: 2, Victims: forDaemons})
	})
}

// A confirmation that comes twice frees the room once.
func TestAConfirmationThatComesTwice(t *testing.T) {
	full(t, func(t *testing.T, m *schedulertest.MockScheduler) {
		m.AskOn("node-1", "daemons", "logs", "vcore=2")
		m.Advance(startDelay)
		m.Confirm("small")
		m.WaitPlaced("logs")
		heard := m.Heard()
		for range 2 {
			m.Confirm("small")
		}
		assert.DeepEqual(t, m.Heard(), []string{})
		assert.Equal(t, heard[len(heard)-1], "allocation logs placed on node-1")
		assert.Equal(t, m.Text(m.Node("node-1").Allocated), "vcore=5000")
	})
}

// A victim that does not end in time is overdue: its room is not counted on, and the node
// is not held any more. No other is evicted for the same ask. When it ends after all, the
// ask gets the room.
func TestAConfirmationThatNeverComes(t *testing.T) {
	full(t, func(t *testing.T, m *schedulertest.MockScheduler) {
		m.AskOn("node-1", "daemons", "logs", "vcore=2")
		m.Advance(startDelay)
		m.Heard()
		m.Advance(victimTimeout - time.Nanosecond)
		assert.DeepEqual(t, m.Heard(), []string{})
		m.Advance(time.Nanosecond)
		assert.DeepEqual(t, m.Heard(), []string{})
		evictions := m.Node("node-1").Evictions
		assert.Equal(t, len(evictions), 1)
		assert.Assert(t, evictions[0].Overdue && evictions[0].Key == "small")
		assert.Equal(t, evictions[0].For, api.AllocationKey("logs"))
		assert.Check(t, cmp.Len(m.Node("node-1").Reservations, 0))
		assert.Equal(t, m.Look().Preempted.Overdue.Total(), uint64(1))

		m.Confirm("small")
		assert.Equal(t, m.WaitPlaced("logs"), "node-1")
		assert.Check(t, cmp.Len(m.Node("node-1").Evictions, 0))
	})
}

// When no victim ends, one plan is made, and the ask waits and says why.
func TestNoVictimEnds(t *testing.T) {
	full(t, func(t *testing.T, m *schedulertest.MockScheduler) {
		m.AskOn("node-1", "daemons", "logs", "vcore=2")
		m.Advance(24 * time.Hour)
		told, _ := released(m)
		assert.Equal(t, len(told), 2) // after the time-out, another one
		assert.Equal(t, len(preempted(m)), 2)
		assert.Equal(t, m.Look().Preempted.Overdue.Total(), uint64(2))
		m.Confirm("small")
		assert.Equal(t, m.WaitPlaced("logs"), "node-1")
	})
}

// A victim that ends by itself, before the wish of the scheduler reaches it, is
// released like any pod, and the confirmation that follows says nothing new.
func TestAVictimThatEndsByItself(t *testing.T) {
	full(t, func(t *testing.T, m *schedulertest.MockScheduler) {
		m.AskOn("node-1", "daemons", "logs", "vcore=2")
		m.Advance(startDelay)
		m.Heard()
		m.Release("app-1", "small")
		assert.DeepEqual(t, ofPods(m), []string{
			"allocation small released: STOPPED_BY_RM",
			"allocation logs placed on node-1",
		})
		m.Confirm("small")
		m.Advance(victimTimeout)
		assert.Equal(t, m.Look().Preempted, api.Preempted{Plans: 2, Victims: forDaemons})
		assert.Equal(t, m.Text(m.Node("node-1").Allocated), "vcore=5000")
	})
}

// Another pod of the node that ends meanwhile makes room at once. The victim was
// told and goes; what it held is free for all.
func TestRoomFromAnotherThanTheVictim(t *testing.T) {
	full(t, func(t *testing.T, m *schedulertest.MockScheduler) {
		m.AskOn("node-1", "daemons", "logs", "vcore=2")
		m.Advance(startDelay)
		m.Release("app-1", "large")
		assert.Equal(t, m.WaitPlaced("logs"), "node-1")
		m.Confirm("small")
		assert.Equal(t, m.Text(m.Node("node-1").Available), "vcore=3000")
		m.Ask("app-1", "next", "vcore=3")
		assert.Equal(t, m.WaitPlaced("next"), "node-1")
	})
}

// The room of a victim is for the ask that it was made for, whatever else waits.
func TestNoOtherAskTakesTheRoom(t *testing.T) {
	full(t, func(t *testing.T, m *schedulertest.MockScheduler) {
		m.AskOn("node-1", "daemons", "logs", "vcore=2")
		for _, key := range []string{"eager-1", "eager-2"} {
			m.Ask("app-1", key, "vcore=1")
		}
		m.Advance(startDelay)
		m.Confirm("small")
		assert.Equal(t, m.WaitPlaced("logs"), "node-1")
		m.Advance(time.Minute)
		for _, key := range []string{"eager-1", "eager-2"} {
			_, placed := m.Placed(key)
			assert.Check(t, !placed, key)
		}
	})
}

// Part of the freed room is left over: it stays closed until the ask runs, and is
// for all asks then.
func TestWhatIsLeftOverIsForAll(t *testing.T) {
	full(t, func(t *testing.T, m *schedulertest.MockScheduler) {
		m.AskOn("node-1", "daemons", "logs", "vcore=2500m")
		m.Ask("app-1", "patient", "vcore=500m")
		m.Advance(startDelay)
		m.Heard()
		m.Confirm("large")
		assert.DeepEqual(t, ofPods(m), []string{
			"allocation logs placed on node-1",
			"allocation patient placed on node-1",
		})
	})
}

// Two asks for one node are both served, each with room of its own.
func TestTwoAsksForOneNode(t *testing.T) {
	full(t, func(t *testing.T, m *schedulertest.MockScheduler) {
		m.AskOn("node-1", "daemons", "logs", "vcore=2")
		m.AskOn("node-1", "daemons", "proxy", "vcore=3")
		m.Advance(startDelay)
		told, _ := released(m)
		assert.Equal(t, len(told), 2)
		m.Confirm("large")
		m.Confirm("small")
		assert.Equal(t, m.WaitPlaced("logs"), "node-1")
		assert.Equal(t, m.WaitPlaced("proxy"), "node-1")
		m.Advance(time.Hour)
		assert.Equal(t, m.Look().Preempted.Victims.Total(), uint64(2))
	})
}

// Two equal asks do not count on the same room: both have a victim at once.
func TestTwoEqualAsksForOneNode(t *testing.T) {
	full(t, func(t *testing.T, m *schedulertest.MockScheduler) {
		m.AskOn("node-1", "daemons", "logs", "vcore=2")
		m.AskOn("node-1", "daemons", "proxy", "vcore=2")
		m.Advance(startDelay)
		told, at := released(m)
		assert.Equal(t, len(told), 2)
		assert.Equal(t, at[0], at[1])
		m.Confirm("small")
		assert.Equal(t, m.WaitPlaced("logs"), "node-1")
		_, placed := m.Placed("proxy")
		assert.Check(t, !placed)
		m.Confirm("large")
		assert.Equal(t, m.WaitPlaced("proxy"), "node-1")
	})
}
