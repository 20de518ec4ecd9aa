package landing

import (
	"testing"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// TestNumbersOfPodsThatWait: pods of an indexed job are one class, until a pod that waits refuses one of them, also where it is the
// last in its cycle.
func TestNumbersOfPodsThatWait(t *testing.T) {
	numbered := func(number string) func(*v1.Pod) {
		return func(p *v1.Pod) { p.Labels[batchv1.JobCompletionIndexAnnotation] = number }
	}
	one, two := pod("job-1", "", 1, numbered("1")), pod("job-2", "", 1, numbered("2"))
	rival := pod("rival", "", 1, func(p *v1.Pod) {
		p.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
				TopologyKey: v1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{batchv1.JobCompletionIndexAnnotation: "1"}},
			}},
		}}
	})
	c := cluster(t, ours, nodes(1), one, two)
	alike := func() bool {
		return c.classOf(c.entries[api.AllocationKey(pods.Key(one))]) == c.classOf(c.entries[api.AllocationKey(pods.Key(two))])
	}
	assert.Assert(t, alike())
	c.Sync(snapshot(nodes(1), one, two, rival))
	assert.Assert(t, !alike())
	assert.Assert(t, c.entries[api.AllocationKey(pods.Key(rival))].waits(), "job-1 was placed before")
	c = cluster(t, ours, nodes(1), one, two, rival)
	assert.Assert(t, !alike())
}
