package shim

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// The core asks about a pod after it has ended. Of ten times 1,024 the last ones are known, and no
// more than twice that are remembered.
func TestTiesOfPodsThatEnded(t *testing.T) {
	const goneMost = 1024
	w := newWaitingTies()
	pod := func(name string) *v1.Pod {
		p := ourPod("")
		p.Name, p.UID, p.Labels = name, types.UID(name), map[string]string{"app": "web"}
		return p
	}
	waiting := pod("waiting")
	waiting.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: v1.DoNotSchedule,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
	}}
	w.wait(waiting, "spread")
	ended := make([]*v1.Pod, 10*goneMost)
	for i := range ended {
		ended[i] = pod(fmt.Sprint("ended-", i))
		w.end(ended[i])
		assert.Assert(t, len(w.gone) <= 2*goneMost)
	}
	for i := range ended {
		switch got := w.to(pods.Key(ended[i]), nil); {
		case i >= len(ended)-goneMost:
			assert.DeepEqual(t, got, []string{"spread"})
		case i < len(ended)-2*goneMost:
			assert.Equal(t, len(got), 0, "it is forgotten")
		}
	}
	w.end(waiting)
	assert.Equal(t, len(w.classes)+len(w.of)+w.tied, 0)
}

// Pods that follow each other by affinity alone are asked about anew when the first of them is placed, and when one ends that
// they follow, and not with each that is placed: it changes no answer.
func TestFollowersAreAskedOnce(t *testing.T) {
	w := newWaitingTies()
	var all []*v1.Pod
	for i := range 5 {
		p := ourPod("")
		p.Name, p.UID, p.Labels = fmt.Sprint("web-", i), types.UID(fmt.Sprint("web-", i)), map[string]string{"app": "web"}
		p.Spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, TopologyKey: v1.LabelTopologyZone,
		}}}}
		w.wait(p, "web")
		all = append(all, p)
	}
	placed := func(i int) []string { return w.to(pods.Key(all[i]), all[i]) }
	assert.DeepEqual(t, placed(0), []string{"web"})
	assert.Equal(t, len(placed(1)), 0)
	assert.Equal(t, len(placed(2)), 0)
	w.end(all[0])
	assert.DeepEqual(t, w.to(pods.Key(all[0]), nil), []string{"web"})
	assert.DeepEqual(t, placed(3), []string{"web"})
}

// Pods of a class may differ by a number that none of their own constraints names. A pod that waits for one of them is asked about
// when that one is placed, and not with the others.
func TestTiesAreThoseOfThePodItself(t *testing.T) {
	w := newWaitingTies()
	job := make([]*v1.Pod, 4)
	for i := range job {
		job[i] = ourPod("")
		job[i].Name, job[i].UID = fmt.Sprint("job-", i), types.UID(fmt.Sprint("job-", i))
		job[i].Labels = map[string]string{batchv1.JobCompletionIndexAnnotation: fmt.Sprint(i)}
		w.wait(job[i], "job")
	}
	follower := ourPod("")
	follower.Name, follower.UID = "follower", "follower"
	follower.Spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{batchv1.JobCompletionIndexAnnotation: "2"}}, TopologyKey: v1.LabelTopologyZone,
	}}}}
	w.wait(follower, "follower")
	for i, pod := range job {
		assert.Equal(t, len(w.to(pods.Key(pod), pod)) == 1, i == 2, pod.Name)
	}
}
