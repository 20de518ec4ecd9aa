package schedulertest_test

import (
	"testing"
	"testing/synctest"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

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
