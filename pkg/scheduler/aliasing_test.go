package scheduler_test

import (
	"maps"
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/scheduler/schedulertest"
)

// TestRequestsBelongToTheirSender: a resource manager can change what it sent as soon as
// the call has returned, and what it was given. The scheduler has copies.
func TestRequestsBelongToTheirSender(t *testing.T) {
	extra := map[string]string{"a": "sent"}
	options := schedulertest.Options{ID: "rm", Config: twoLeaves, ExtraConfig: extra}
	bubble(t, options, func(t *testing.T, m *schedulertest.MockScheduler) {
		attributes, more := map[string]string{"a": "sent"}, map[string]string{"b": "sent"}
		tags, of := map[string]string{"a": "sent"}, map[string]string{"a": "sent"}
		groups := []string{"sent"}
		change := func() {
			for _, sent := range []map[string]string{extra, attributes, more, tags, of} {
				for key := range sent {
					sent[key] = "changed"
				}
			}
			groups[0] = "changed"
		}

		first := node("node-1", si.NodeInfo_CREATE, "vcore=4")
		first.Attributes = attributes
		assert.NilError(t, m.UpdateNodeOf(first))
		assert.NilError(t, m.UpdateApplication(&si.ApplicationRequest{RmID: "rm", New: []*si.AddApplicationRequest{{
			ApplicationID: "app", QueueName: "root.stormy", Tags: of,
			Ugi: &si.UserGroupInformation{User: "ann", Groups: groups},
		}}}))
		m.Settle()
		m.Ask("app", "ask", "vcore=1", func(a *si.Allocation) { a.AllocationTags = tags })
		change()
		assert.DeepEqual(t, m.Node("node-1").Attributes, map[string]string{"a": "sent"})
		assert.DeepEqual(t, m.Application("app").Tags, map[string]string{"a": "sent"})
		assert.DeepEqual(t, m.Application("app").Groups, []string{"sent"})
		assert.DeepEqual(t, m.Node("node-1").Allocations[0].Tags, map[string]string{"a": "sent"})
		assert.Equal(t, m.ExtraConfig("rm")["a"], "sent")

		update := node("node-1", si.NodeInfo_UPDATE, "vcore=4")
		update.Attributes = more
		more["b"] = "sent"
		assert.NilError(t, m.UpdateNodeOf(update))
		m.Settle()
		assert.NilError(t, m.Configure(twoLeaves))
		change()
		assert.DeepEqual(t, m.Node("node-1").Attributes, map[string]string{"b": "sent"})

		given := m.ExtraConfig("rm")
		want := maps.Clone(given)
		given["a"], extra["a"] = "taken", "taken"
		assert.DeepEqual(t, m.ExtraConfig("rm"), want)
	})
}
