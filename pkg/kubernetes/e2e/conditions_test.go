package e2e

import (
	"testing"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

// TestConditionsOfPods: one of each kind of pod, and for each condition the count that
// holds. A count more or less does not hold.
func TestConditionsOfPods(t *testing.T) {
	pods := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	add := func(name, node string, change func(*corev1.Pod)) {
		p := aPod("web", node)
		p.Name = name
		change(p)
		assert.NilError(t, pods.Add(p))
	}
	phase := func(phase corev1.PodPhase) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Status.Phase = phase } }
	add("runs-1", "n1", phase(corev1.PodRunning))
	add("runs-2", "n2", phase(corev1.PodRunning))
	add("deleted", "n1", func(p *corev1.Pod) { p.Status.Phase, p.DeletionTimestamp = corev1.PodRunning, &metav1.Time{} })
	add("starts", "n1", phase(corev1.PodPending))
	add("waits", "", phase(corev1.PodPending))
	add("unschedulable", "", func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
	})
	add("other", "n1", func(p *corev1.Pod) { p.Labels = map[string]string{appLabel: "other"} })

	view := View{pods: corelisters.NewPodLister(pods)}
	tests := []struct {
		of    func(count int) Condition
		holds int
	}{
		{func(n int) Condition { return Running("web", n) }, 2},
		{func(n int) Condition { return RunningOn("n1", "web", n) }, 1},
		{func(n int) Condition { return Waiting("web", n) }, 2},
		{func(n int) Condition { return Unschedulable("web", n) }, 1},
	}
	for _, test := range tests {
		for _, count := range []int{test.holds - 1, test.holds, test.holds + 1} {
			seen, ok := test.of(count).look(view)
			assert.Equal(t, ok, count == test.holds, "%s: %s", test.of(count).what, seen)
		}
	}
	for least, want := range map[int]bool{3: true, 4: true, 5: false} {
		_, ok := Bound("web", least).look(view)
		assert.Equal(t, ok, want)
	}
	_, ok := Gone("web").look(view)
	assert.Assert(t, !ok)
	_, ok = Gone("nothing").look(view)
	assert.Assert(t, ok)
}

// TestListIsShort: of sixty pods a message names six.
func TestListIsShort(t *testing.T) {
	var pods []*corev1.Pod
	for range 10 * shownMax {
		pods = append(pods, aPod("a", "n1"))
	}
	assert.Equal(t, list(pods[:1]), "a-1  on n1")
	assert.Equal(t, list(pods)[len("a-1  on n1; ")*shownMax:], "and 54 more")
	assert.Equal(t, list(nil), "none")
}
