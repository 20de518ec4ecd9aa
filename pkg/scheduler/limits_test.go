package scheduler_test

import (
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler/schedulertest"
)

// limitedConfig has a limit of a user and one of a group.
const limitedConfig = `
partitions:
- name: default
  queues:
  - name: root
    limits:
    - {limit: ann, users: [ann], maxresources: {vcore: 2}}
    - {limit: dev, groups: [dev], maxapplications: 1}
    queues: [{name: a}, {name: b}]
`

const unlimitedConfig = `
partitions:
- name: default
  queues: [{name: root, queues: [{name: a}, {name: b}]}]
`

// submit sends an application of a user with groups.
func submit(t *testing.T, m *schedulertest.MockScheduler, id, queue, user string, groups ...string) {
	t.Helper()
	assert.NilError(t, m.UpdateApplication(&si.ApplicationRequest{RmID: "rm", New: []*si.AddApplicationRequest{{
		ApplicationID: id, PartitionName: "default", QueueName: queue, Ugi: &si.UserGroupInformation{User: user, Groups: groups},
	}}}))
	m.Settle()
}

// reasons are why asks wait, by key.
func reasons(m *schedulertest.MockScheduler) map[api.AllocationKey]string {
	out := map[api.AllocationKey]string{}
	for _, app := range m.Look().Applications {
		for _, a := range app.Asks {
			out[a.Key] = a.Reason.String() + ": " + a.Detail
		}
	}
	return out
}

// TestLimitsOfUsersAndGroups: the user and the groups that come with an application are limited in
// all queues together, and what ends lets the next ask run.
func TestLimitsOfUsersAndGroups(t *testing.T) {
	bubble(t, schedulertest.Options{Config: limitedConfig}, func(t *testing.T, m *schedulertest.MockScheduler) {
		m.AddNode("node-1", "vcore=10")
		submit(t, m, "one", "root.a", "ann")
		submit(t, m, "two", "root.b", "ann")
		m.Ask("one", "one-1", "vcore=1")
		m.Ask("two", "two-1", "vcore=1")
		m.Ask("two", "two-2", "vcore=1")
		submit(t, m, "bob", "root.a", "bob", "dev")
		submit(t, m, "eve", "root.b", "eve", "ops", "dev")
		m.Ask("bob", "bob-1", "vcore=1")
		m.Ask("eve", "eve-1", "vcore=1")
		assert.DeepEqual(t, reasons(m), map[api.AllocationKey]string{
			"two-2": "user limit exceeded: user ann in queue root",
			"eve-1": "too many applications of a group: group dev in queue root",
		})
		m.Heard()
		m.Release("one", "one-1")
		assert.DeepEqual(t, m.Heard(), []string{
			"allocation one-1 released: STOPPED_BY_RM", "application one is Completing", "allocation two-2 placed on node-1",
		})
		m.RemoveApplication("bob")
		assert.DeepEqual(t, reasons(m), map[api.AllocationKey]string{})
	})
}

// TestLimitsAcrossUpdates: a limit that comes counts what runs, and evicts nothing; one that goes
// lets all run. A restart counts what is restored, and refuses none of it.
func TestLimitsAcrossUpdates(t *testing.T) {
	bubble(t, schedulertest.Options{Config: unlimitedConfig}, func(t *testing.T, m *schedulertest.MockScheduler) {
		m.AddNode("node-1", "vcore=10")
		submit(t, m, "one", "root.a", "ann")
		for _, key := range []string{"one-1", "one-2", "one-3"} {
			m.Ask("one", key, "vcore=1")
		}
		m.Heard()
		assert.NilError(t, m.Configure(limitedConfig))
		m.Ask("one", "one-4", "vcore=1")
		m.Advance(time.Hour)
		assert.DeepEqual(t, m.Heard(), []string{})
		m.Release("one", "one-1")
		assert.DeepEqual(t, reasons(m), map[api.AllocationKey]string{"one-4": "user limit exceeded: user ann in queue root"})

		m.Register() // begins anew with the first configuration
		m.AddNode("node-1", "vcore=10")
		submit(t, m, "one", "root.a", "ann")
		assert.NilError(t, m.Configure(limitedConfig))
		for _, key := range []string{"one-2", "one-3", "one-5"} {
			m.Place("one", key, "node-1", "vcore=1")
		}
		m.Ask("one", "one-4", "vcore=1")
		m.Advance(time.Hour)
		assert.DeepEqual(t, reasons(m), map[api.AllocationKey]string{"one-4": "user limit exceeded: user ann in queue root"})
		m.Heard()
		assert.NilError(t, m.Configure(unlimitedConfig))
		assert.DeepEqual(t, m.Heard(), []string{"allocation one-4 placed on node-1"})
	})
}
