package upstream

import (
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/frameworktest"
)

// TestPreferences: what pods of kube-scheduler only prefer has as many of them evicted as upstream does.
// The order of the core says nothing of preferences, so the plugin chooses among the nodes.
func TestPreferences(t *testing.T) {
	e := newEngine(t)
	for _, c := range []struct {
		plugin, args string
		pods         []*v1.Pod
		want         int
	}{
		{"RemoveDuplicates", "{}", concat(several("w", "n0", 4, "500m"), several("w", "n1", 2, "500m"), several("o", "n2", 4, "400m"), several("q", "n0", 4, "400m")), 6},
		{
			"RemovePodsViolatingNodeAffinity", "{nodeAffinityType: [preferredDuringSchedulingIgnoredDuringExecution]}",
			concat(several("w", "n0", 1, "500m", frameworktest.Prefers("zone", "b", 100)), several("x", "n1", 1, "500m")), 1,
		},
		{
			"RemovePodsViolatingTopologySpreadConstraint", "{constraints: [DoNotSchedule, ScheduleAnyway]}",
			concat(several("w", "n0", 4, "300m", frameworktest.Spread("app=w", "zone", 1, v1.ScheduleAnyway)), several("o", "n1", 4, "300m")), 2,
		},
	} {
		t.Run(c.plugin, func(t *testing.T) {
			point := "balance"
			if c.plugin == "RemovePodsViolatingNodeAffinity" {
				point = "deschedule"
			}
			w := &world{now: time.Now(), pods: c.pods, policy: policyOf("{nodeFit: true}", c.plugin, c.args, point)}
			for i, zone := range []string{"a", "b", "a"} {
				w.nodes = append(w.nodes, frameworktest.Node(fmt.Sprint("n", i), "cpu=8", "zone="+zone))
			}
			ours, why := e.ours(w)
			assert.Equal(t, len(theirs(t, w, 0)), c.want)
			assert.Equal(t, len(ours), c.want, "%v", why)
		})
	}
}

func concat(lists ...[]*v1.Pod) (of []*v1.Pod) {
	for _, l := range lists {
		of = append(of, l...)
	}
	return of
}

// several are n pods of one owner on a node.
func several(owner, node string, n int, cpu string, edits ...func(*v1.Pod)) (of []*v1.Pod) {
	for i := range n {
		p := frameworktest.Pod(fmt.Sprintf("d/%s-%s-%d", owner, node, i), node, "cpu="+cpu+" memory=128Mi",
			append(edits, frameworktest.Owned("ReplicaSet/"+owner), frameworktest.Labelled("app="+owner))...)
		p.Spec.SchedulerName = v1.DefaultSchedulerName
		p.CreationTimestamp = metav1.NewTime(time.Now().Add(-time.Hour))
		of = append(of, p)
	}
	return of
}
