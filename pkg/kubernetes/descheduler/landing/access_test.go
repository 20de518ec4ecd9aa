package landing

import (
	"testing"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/config"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// ofUser is a pod of an application of its own, in root.small.
func ofUser(user string) func(*v1.Pod) {
	return func(p *v1.Pod) {
		inQueue("root.small")(p)
		p.Labels[pods.LabelApplicationID], p.Labels[pods.LabelUser] = "app-"+p.Name, user
	}
}

func ended(p *v1.Pod) { p.Status.Phase = v1.PodFailed }

// TestAccessLists: an application of which nothing runs is rejected where its user may not submit, as the scheduler does. So a
// replacement of its only pod, which has ended, lands nowhere, and a pod of it that waits takes no room. What runs is counted,
// and its replacement joins it.
func TestAccessLists(t *testing.T) {
	const silent = "partitions: [{queues: [{name: root, queues: [{name: small}]}]}]"
	const forAnna = "partitions: [{queues: [{name: root, queues: [{name: small, submitacl: anna}]}]}]"
	const resolved = "partitions: [{usergroupresolver: {type: os}, queues: [{name: root, queues: [{name: small, submitacl: anna}]}]}]"
	for _, c := range []struct {
		name, queues, user string
		defaults           config.Defaults
		rejected           bool
	}{
		{"no list", silent, "bob", config.Defaults{}, false},
		{"no list, with the profile", silent, "bob", config.LikeYuniKorn(), true},
		{"the list names another", forAnna, "bob", config.Defaults{}, true},
		{"the list names it", forAnna, "anna", config.LikeYuniKorn(), false},
		{"the scheduler looks groups up", resolved, "bob", config.Defaults{}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := ours
			o.Queues, o.Defaults = c.queues, c.defaults
			gone, runs := pod("gone", "a", 1, ofUser(c.user), ended), pod("runs", "a", 3, ofUser(c.user))
			k := cluster(t, o, nodes(2), gone, runs)
			for range 2 { // each question is answered alike
				_, err := k.whereTo(gone)
				if c.rejected {
					assert.Error(t, err, "the replacement would not be taken in: application team:app-gone: user bob may not submit to queue root.small")
				} else {
					assert.NilError(t, err)
				}
			}
			to, err := k.whereTo(runs)
			assert.NilError(t, err)
			assert.Equal(t, to, "b")

			k.Sync(snapshot(nodes(2), gone, runs, pod("waits", "", 3, ofUser(c.user))))
			to, err = k.whereTo(runs)
			assert.NilError(t, err)
			// A pod that waits has b, and the replacement waits until its own node is free.
			assert.Equal(t, to, map[bool]string{true: "b", false: "a"}[c.rejected])
			assert.NilError(t, k.partition.Verify())
		})
	}
}
