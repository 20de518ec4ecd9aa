package scheduler_test

import (
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler/schedulertest"
)

// limitedApart are two partitions whose queues have the same paths. Other groups are found for a
// user in each, and other limits hold.
const limitedApart = `
partitions:
- name: default
  usergroupresolver: {type: test}
  queues:
  - name: root
    queues:
    - name: default
      limits:
      - {limit: of testers, groups: [testers], maxresources: {vcore: 1}}
      - {limit: of others, users: [testuser2], maxresources: {vcore: 4}}
- name: gpu
  usergroupresolver: {type: ldap}
  queues:
  - name: root
    queues:
    - name: default
      limits:
      - {limit: of the LDAP server, groups: [of-testuser2], maxresources: {vcore: 5}}
      - {limit: of users, users: [testuser2], maxresources: {vcore: 2}}
`

// TestPartitionsHaveLimitsOfTheirOwn: a user is limited in each partition by what is configured
// there, with the groups of the resolver there, and what it uses in one counts for no other.
func TestPartitionsHaveLimitsOfTheirOwn(t *testing.T) {
	resolving(t, schedulertest.Options{Config: limitedApart}, func(t *testing.T, m *schedulertest.MockScheduler, r *slowResolver) {
		want := map[string]struct {
			groups []string
			used   string
			reason string
		}{
			"default": {[]string{"testuser2", "testers"}, "vcore=1000", "group limit exceeded: group testers in queue root.default"},
			"gpu":     {[]string{"of-testuser2"}, "vcore=2000", "user limit exceeded: user testuser2 in queue root.default"},
		}
		other := m.Join(schedulertest.Options{ID: "rm", Config: limitedApart, Partition: "gpu"})
		in := map[string]*schedulertest.MockScheduler{"default": m, "gpu": other}
		m.AddNode("node-1", "vcore=10")
		other.AddNode("node-2", "vcore=10")
		for partition := range want {
			request := of("testuser2", "app-"+partition)
			request.New[0].PartitionName = partition
			assert.NilError(t, in[partition].UpdateApplication(request))
		}
		r.let("testuser2")
		other.Settle()
		for partition, own := range want {
			app := "app-" + partition
			for _, key := range []string{"a", "b", "c"} {
				in[partition].Ask(app, partition+key, "vcore=1", func(a *si.Allocation) { a.PartitionName = partition })
			}
			assert.DeepEqual(t, in[partition].Application(app).Groups, own.groups)
			assert.Equal(t, m.Text(in[partition].Queue("root.default").Used), own.used, partition)
			assert.Equal(t, reasons(in[partition])[api.AllocationKey(partition+"c")], own.reason)
		}
	})
}
