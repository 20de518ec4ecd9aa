package schedulertest_test

import (
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler/schedulertest"
)

// The resource manager hears of a release of the placeholder only, and of the real pod when
// it has confirmed that.
func TestPlaceholderIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := schedulertest.New(t, schedulertest.Options{KeepReleased: true})
		m.AddNode("node-1", "vcore=2")
		m.AddApplication("app", "root.default")
		m.Ask("app", "placeholder", "vcore=2", func(a *si.Allocation) { a.TaskGroupName, a.Placeholder = "group", true })
		node, _ := m.Placed("placeholder")
		assert.Equal(t, node, "node-1")
		m.Ask("app", "real", "vcore=2", func(a *si.Allocation) { a.TaskGroupName = "group" })
		_, runs := m.Placed("real")
		assert.Assert(t, !runs)
		m.ReleaseAs("app", "placeholder", si.TerminationType_PLACEHOLDER_REPLACED)
		node, _ = m.Placed("real")
		assert.Equal(t, node, "node-1")
	})
}

// addGang sends an application that has a gang of three, whose placeholders may wait for a minute.
func addGang(t *testing.T, m *schedulertest.MockScheduler, style, tag string, created time.Time) {
	t.Helper()
	assert.NilError(t, m.UpdateApplication(&si.ApplicationRequest{RmID: "rm", New: []*si.AddApplicationRequest{{
		ApplicationID: "app", QueueName: "root.default", PartitionName: "default",
		Ugi:            &si.UserGroupInformation{User: "tester"},
		PlaceholderAsk: schedulertest.Resource("vcore=6"), GangSchedulingStyle: style, ExecutionTimeoutMilliSeconds: 60_000,
		Tags: map[string]string{"application.create.force": "true", tag: strconv.FormatInt(created.Unix(), 10)},
	}}}))
	m.Settle()
}

// The scheduler restarts when one place of a gang is taken, one is promised and one is not. What the
// resource manager knows is sent again: the promised place is found anew, the real pods run, and
// the placeholder that is left times out a minute after the application came, not after the
// restart.
func TestRestartInTheMiddleOfAGang(t *testing.T) {
	for _, tag := range []string{"creationTime", "yunikorn.apache.org/creationTime"} {
		t.Run(tag, func(t *testing.T) { restartInTheMiddleOfAGang(t, tag) })
	}
}

func restartInTheMiddleOfAGang(t *testing.T, tag string) {
	synctest.Test(t, func(t *testing.T) {
		m := schedulertest.New(t, schedulertest.Options{KeepReleased: true})
		member := func(a *si.Allocation) { a.TaskGroupName = "group" }
		holder := func(a *si.Allocation) { a.TaskGroupName, a.Placeholder = "group", true }
		load := func() {
			m.AddNode("node-1", "vcore=4")
			m.AddNode("node-2", "vcore=4")
		}
		load()
		created := time.Now()
		addGang(t, m, "Soft", tag, created)
		on := map[string]string{}
		for _, key := range []string{"holder-1", "holder-2", "holder-3"} {
			m.Ask("app", key, "vcore=2", holder)
			on[key], _ = m.Placed(key)
		}
		assert.Equal(t, m.Application("app").State, api.Running)
		m.Ask("app", "real-1", "vcore=2", member)
		first := m.Application("app").Gang.Replacements[0].Placeholder
		m.ReleaseAs("app", string(first), si.TerminationType_PLACEHOLDER_REPLACED)
		m.Ask("app", "real-2", "vcore=2", member)
		assert.Equal(t, len(m.Application("app").Gang.Replacements), 1)
		m.Advance(20 * time.Second)

		m.Register()
		load()
		addGang(t, m, "Soft", tag, created)
		m.Ask("app", "real-1", "vcore=2", member, func(a *si.Allocation) { a.NodeID = on[string(first)] })
		for key, node := range on {
			if key != string(first) {
				m.Ask("app", key, "vcore=2", holder, func(a *si.Allocation) { a.NodeID = node })
			}
		}
		m.Ask("app", "real-2", "vcore=2", member)
		gang := m.Application("app").Gang
		assert.Equal(t, len(gang.Replacements), 1)
		assert.Equal(t, gang.Replacements[0].Ask, api.AllocationKey("real-2"))
		m.ReleaseAs("app", string(gang.Replacements[0].Placeholder), si.TerminationType_PLACEHOLDER_REPLACED)
		_, runs := m.Placed("real-2")
		assert.Assert(t, runs)
		assert.Equal(t, m.Application("app").State, api.Running)
		m.Heard()

		m.Advance(time.Until(created.Add(time.Minute)) - time.Millisecond)
		assert.DeepEqual(t, m.Heard(), []string{})
		m.Advance(2 * time.Millisecond)
		assert.Equal(t, len(m.Heard()), 1) // the release of the placeholder that is left
		assert.Equal(t, len(m.Application("app").Allocations), 3)
	})
}

// The state comes before the releases: a release that reaches the resource manager first would have
// it take the application for one that runs. The time begins with the first placeholder that is
// placed, and those that wait are released, too.
func TestTheStateComesBeforeTheReleasesOfAGang(t *testing.T) {
	for style, state := range map[string]string{"Soft": "Resuming", "Hard": "Failing"} {
		synctest.Test(t, func(t *testing.T) {
			m := schedulertest.New(t, schedulertest.Options{KeepReleased: true})
			addGang(t, m, style, "creationTime", time.Now())
			m.Ask("app", "holder-1", "vcore=2", func(a *si.Allocation) { a.TaskGroupName, a.Placeholder = "group", true })
			m.Ask("app", "holder-2", "vcore=2", func(a *si.Allocation) { a.TaskGroupName, a.Placeholder = "group", true })
			m.Advance(30 * time.Second)
			m.AddNode("node-1", "vcore=2")
			_, placed := m.Placed("holder-1")
			assert.Assert(t, placed)
			m.Advance(59 * time.Second)
			m.Heard()
			m.Advance(2 * time.Second)
			heard := m.Heard()
			t.Log(heard)
			assert.Equal(t, len(heard), 3)
			assert.Assert(t, strings.Contains(heard[0], state), "%s", heard)
			assert.Assert(t, strings.Contains(heard[1], "holder") && strings.Contains(heard[2], "holder"), "%s", heard)
		})
	}
}
