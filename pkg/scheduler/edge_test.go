package scheduler_test

import (
	"strings"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler/schedulertest"
)

// only is the one line that is heard of a request.
func only(t *testing.T, m *schedulertest.MockScheduler, err error) string {
	t.Helper()
	assert.NilError(t, err)
	m.Settle()
	lines := m.Heard()
	assert.Equal(t, len(lines), 1, "%q", lines)
	return lines[0]
}

func TestAllocationsAreRefusedWithAReason(t *testing.T) {
	tags := func(name, value string) func(*si.Allocation) {
		return func(a *si.Allocation) { a.AllocationTags = map[string]string{name: value} }
	}
	foreign := func(a *si.Allocation) { tags("foreign", "default")(a); a.ApplicationID = "" }
	cases := []struct {
		reason string
		edits  []func(*si.Allocation)
	}{
		{"allocation key is missing", []func(*si.Allocation){func(a *si.Allocation) { a.AllocationKey = "" }}},
		{"name is longer than 1024 bytes", []func(*si.Allocation){func(a *si.Allocation) { a.AllocationKey = long }}},
		{"application ID is missing", []func(*si.Allocation){func(a *si.Allocation) { a.ApplicationID = "" }}},
		{"name is longer than 1024 bytes", []func(*si.Allocation){func(a *si.Allocation) { a.ApplicationID = long }}},
		{`application "app-2" is not registered`, []func(*si.Allocation){func(a *si.Allocation) { a.ApplicationID = "app-2" }}},
		{`"nowhere" is not a partition of the resource manager`, []func(*si.Allocation){func(a *si.Allocation) { a.PartitionName = "nowhere" }}},
		{"a placeholder must name its task group", []func(*si.Allocation){func(a *si.Allocation) { a.Placeholder = true }}},
		{"task group is longer than 1024 bytes", []func(*si.Allocation){func(a *si.Allocation) { a.TaskGroupName = long }}},
		{"required node is longer than 1024 bytes", []func(*si.Allocation){tags("yunikorn.apache.org/requiredNode", long)}},
		{"node ID is longer than 1024 bytes", []func(*si.Allocation){func(a *si.Allocation) { a.NodeID = long }}},
		{"node node-9 of allocation pod-1 is not registered", []func(*si.Allocation){func(a *si.Allocation) { a.NodeID = "node-9" }}},
		{"allocation contains no resources", []func(*si.Allocation){func(a *si.Allocation) { a.ResourcePerAlloc = nil }}},
		{"allocation contains no resources", []func(*si.Allocation){func(a *si.Allocation) { a.ResourcePerAlloc.Resources["vcore"] = nil }}},
		{"allocation contains negative resources: vcore=-1", []func(*si.Allocation){func(a *si.Allocation) { a.ResourcePerAlloc.Resources["vcore"].Value = -1 }}},
		{"allocation a resource kind without a name", []func(*si.Allocation){func(a *si.Allocation) { a.ResourcePerAlloc.Resources[""] = &si.Quantity{Value: 1} }}},
		{"a foreign allocation must name the node it runs on", []func(*si.Allocation){foreign}},
		{`unknown value of tag foreign: "", not default or static`, []func(*si.Allocation){tags("foreign", "")}},
	}
	cluster(t, schedulertest.Options{}, "vcore=1", func(t *testing.T, m *schedulertest.MockScheduler) {
		for _, c := range cases {
			a := &si.Allocation{AllocationKey: "pod-1", ApplicationID: "app-1", ResourcePerAlloc: schedulertest.Resource("vcore=1")}
			for _, edit := range c.edits {
				edit(a)
			}
			assert.Equal(t, only(t, m, m.Send(a)), "allocation "+a.AllocationKey+" rejected: "+c.reason)
		}
		assert.Equal(t, only(t, m, m.Send(nil)), "allocation  rejected: the entry is nil")
	})
}

func TestApplicationsAreRefusedWithAReason(t *testing.T) {
	cases := []struct {
		reason string
		edit   func(*si.AddApplicationRequest)
	}{
		{"application ID is missing", func(a *si.AddApplicationRequest) { a.ApplicationID = "" }},
		{"name is longer than 1024 bytes", func(a *si.AddApplicationRequest) { a.ApplicationID = long }},
		{"queue name is longer than 1024 bytes", func(a *si.AddApplicationRequest) { a.QueueName = long }},
		{"user is missing", func(a *si.AddApplicationRequest) { a.Ugi = nil }},
		{"user is missing", func(a *si.AddApplicationRequest) { a.Ugi.User = "" }},
		{"user is longer than 1024 bytes", func(a *si.AddApplicationRequest) { a.Ugi.User = long }},
		{"group is longer than 1024 bytes", func(a *si.AddApplicationRequest) { a.Ugi.Groups = []string{"g", long} }},
		{`"nowhere" is not a partition of the resource manager`, func(a *si.AddApplicationRequest) { a.PartitionName = "nowhere" }},
	}
	bubble(t, schedulertest.Options{}, func(t *testing.T, m *schedulertest.MockScheduler) {
		add := func(a *si.AddApplicationRequest) error {
			return m.UpdateApplication(&si.ApplicationRequest{RmID: "rm", New: []*si.AddApplicationRequest{a}})
		}
		for _, c := range cases {
			a := &si.AddApplicationRequest{ApplicationID: "app-1", Ugi: &si.UserGroupInformation{User: "u"}}
			c.edit(a)
			assert.Equal(t, only(t, m, add(a)), "application "+a.ApplicationID+" rejected: "+c.reason)
		}
		assert.Equal(t, only(t, m, add(nil)), "application  rejected: the entry is nil")
	})
}

func TestNodesAreRefusedWithAReason(t *testing.T) {
	cases := []struct {
		reason string
		edit   func(*si.NodeInfo)
	}{
		{"node ID is missing", func(n *si.NodeInfo) { n.NodeID = "" }},
		{"name is longer than 1024 bytes", func(n *si.NodeInfo) { n.NodeID = long }},
		{"unknown node action: UNKNOWN_ACTION_FROM_RM", func(n *si.NodeInfo) { n.Action = 0 }},
		{"unknown node action: 99", func(n *si.NodeInfo) { n.Action = 99 }},
		{"capacity contains negative resources: vcore=-1", func(n *si.NodeInfo) { n.SchedulableResource.Resources["vcore"].Value = -1 }},
		{`"nowhere" is not a partition of the resource manager`, func(n *si.NodeInfo) { n.Attributes = map[string]string{"si/node-partition": "nowhere"} }},
	}
	bubble(t, schedulertest.Options{}, func(t *testing.T, m *schedulertest.MockScheduler) {
		for _, c := range cases {
			n := node("node-1", si.NodeInfo_CREATE, "vcore=1")
			c.edit(n)
			assert.Equal(t, only(t, m, m.UpdateNodeOf(n)), "node "+n.NodeID+" rejected: "+c.reason)
		}
		assert.Equal(t, only(t, m, m.UpdateNodeOf(nil)), "node  rejected: the entry is nil")
		// A node that has nothing yet is a node.
		assert.Equal(t, only(t, m, m.UpdateNodeOf(&si.NodeInfo{NodeID: "node-2", Action: si.NodeInfo_CREATE})), "node node-2 accepted")
	})
}

// The scheduler keeps what an ask says.
func TestAnAskIsReadWhole(t *testing.T) {
	cluster(t, schedulertest.Options{}, "vcore=4 gpu=2", func(t *testing.T, m *schedulertest.MockScheduler) {
		m.Ask("app-1", "pod-1", "vcore=1500m gpu=1", func(a *si.Allocation) {
			a.Priority = 7
			a.TaskGroupName = "group"
			a.Originator = true
			a.PreemptionPolicy = &si.PreemptionPolicy{AllowPreemptOther: true}
			a.AllocationTags = map[string]string{"creationTime": "1000", "yunikorn.apache.org/requiredNode": "node-1"}
		})
		a := m.Node("node-1").Allocations[0]
		assert.Equal(t, m.Text(a.Amounts), "gpu=1 vcore=1500")
		assert.Equal(t, a.Priority, int32(7))
		assert.Equal(t, a.TaskGroup, "group")
		assert.Equal(t, a.Originator, true)
		assert.Equal(t, a.Preemptable, core.Preemptable{Stated: true, AllowOthers: true})
		assert.Equal(t, a.Created.Unix(), int64(1000))
		assert.Equal(t, a.Required, core.NodeID("node-1"))
		for _, call := range m.Calls() {
			if r, ok := call.Message.(*si.AllocationResponse); ok {
				assert.Equal(t, r.New[0].TaskGroupName, "group")
				assert.Equal(t, r.New[0].PreemptionPolicy.AllowPreemptOther, true)
				assert.Equal(t, strings.Contains(r.New[0].String(), "gpu"), true)
			}
		}
	})
}

// A creation time that is none does not refuse the ask: it is as old as it is known.
func TestACreationTimeMayBeNonsense(t *testing.T) {
	for _, text := range []string{"", "-5", "soon", "1e9", "99999999999999999999"} {
		cluster(t, schedulertest.Options{}, "vcore=4", func(t *testing.T, m *schedulertest.MockScheduler) {
			m.Ask("app-1", "pod-1", "vcore=1", func(a *si.Allocation) {
				a.AllocationTags = map[string]string{"creationTime": text}
			})
			assert.Assert(t, m.Node("node-1").Allocations[0].Created.Equal(time.Now()))
		})
	}
}
