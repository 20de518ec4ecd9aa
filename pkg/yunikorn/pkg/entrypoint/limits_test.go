package entrypoint

import (
	"net/http"
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"

	"github.com/apache/yunikorn-core/pkg/webservice/dao"
)

const limits = `partitions:
  - name: default
    queues:
      - name: root
        submitacl: '*'
        queues:
          - name: a
            limits:
              - {users: [anna], maxresources: {vcore: 2}, maxapplications: 1}
              - {groups: [dev], maxresources: {vcore: 3}}
`

// TestLimitsOfUsersAndGroups: a user and a group have no more than their limits in a queue,
// and REST shows what they have.
func TestLimitsOfUsersAndGroups(t *testing.T) {
	run(t, limits, func(t *testing.T, s *shim) {
		s.addApplication("app-1", "root.a")
		s.ask("app-1", "pod-1", 1)
		s.ask("app-1", "pod-2", 2) // more than anna may have
		assert.Equal(t, s.runs("pod-1"), "node-1")
		assert.Equal(t, s.runs("pod-2"), "")
		s.addApplication("app-2", "root.a")
		s.ask("app-2", "pod-3", 1) // of the second application of anna
		assert.Equal(t, s.runs("pod-3"), "")
		var user dao.UserResourceUsageDAOInfo
		assert.Equal(t, s.read("/ws/v1/partition/default/usage/user/anna", &user), http.StatusOK)
		assert.DeepEqual(t, user.Queues.Children[0], &dao.ResourceUsageDAOInfo{
			QueuePath: "root.a", ResourceUsage: map[string]int64{"vcore": 1000}, RunningApplications: []string{"app-1"},
			MaxResources: map[string]int64{"vcore": 2000}, MaxApplications: 1,
		})

		s.addApplication("app-3", "root.a", func(a *si.AddApplicationRequest) { a.Ugi.User = "berta" })
		s.ask("app-3", "pod-4", 3)
		s.ask("app-3", "pod-5", 2)
		assert.Equal(t, s.runs("pod-4"), "") // the group may have 3
		assert.Equal(t, s.runs("pod-5"), "node-1")
		var group dao.GroupResourceUsageDAOInfo
		assert.Equal(t, s.read("/ws/v1/partition/default/usage/group/dev", &group), http.StatusOK)
		assert.DeepEqual(t, group.Queues.Children[0].MaxResources, map[string]int64{"vcore": 3000})

		s.release("app-1", "pod-1", si.TerminationType_STOPPED_BY_RM)
		assert.Equal(t, s.runs("pod-2"), "") // anna may have it, the group may not
		s.release("app-3", "pod-5", si.TerminationType_STOPPED_BY_RM)
		assert.Equal(t, s.runs("pod-2"), "node-1")
		assert.Equal(t, s.runs("pod-4"), "")
	})
}
