package shimtest_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim/shimtest"
)

// annotate changes an annotation of the namespace default; an empty text takes it away.
func annotate(t *testing.T, m *shimtest.MockScheduler, name, text string) {
	t.Helper()
	namespaces := m.API.CoreV1().Namespaces()
	namespace, err := namespaces.Get(context.Background(), metav1.NamespaceDefault, metav1.GetOptions{})
	assert.NilError(t, err)
	namespace = namespace.DeepCopy()
	if namespace.Annotations == nil {
		namespace.Annotations = map[string]string{}
	}
	if namespace.Annotations[name] = text; text == "" {
		delete(namespace.Annotations, name)
	}
	_, err = namespaces.Update(context.Background(), namespace, metav1.UpdateOptions{})
	assert.NilError(t, err)
	m.Advance(3 * time.Second)
}

// Quotas, guarantees and limits of a namespace act when its annotations change: raised, lowered, taken away. What cannot be
// read changes nothing, and an event says so.
func TestNamespaceQuotaChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{Queues: byNamespace})
		m.AddNode("node-1", "cpu=8")
		m.Start()
		annotate(t, m, pods.AnnotationQuota, `{"cpu": "1"}`)
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			m.AddPod(name, "cpu=1")
		}
		m.Advance(3 * time.Second)
		waits := func(want ...string) {
			t.Helper()
			got := []string{}
			for _, name := range []string{"a", "b", "c", "d", "e"} {
				if pod := m.Pod(name); pod.Spec.NodeName == "" {
					got = append(got, name+" "+says(pod))
				}
			}
			assert.DeepEqual(t, got, append([]string{}, want...))
		}
		waits("b QuotaExceeded", "c QuotaExceeded", "d QuotaExceeded", "e QuotaExceeded")
		annotate(t, m, pods.AnnotationQuota, `{"cpu": "2"}`)
		waits("c QuotaExceeded", "d QuotaExceeded", "e QuotaExceeded")
		annotate(t, m, pods.AnnotationQuota, `{"cpu": "many"}`)
		waits("c QuotaExceeded", "d QuotaExceeded", "e QuotaExceeded")
		told := strings.Join(m.Events(), "\n")
		assert.Assert(t, strings.Contains(told, "default UnreadableAnnotation: "), told)
		annotate(t, m, pods.AnnotationQuota, `{"cpu": "1"}`)
		m.EndPod("a")
		m.Advance(3 * time.Second)
		assert.Equal(t, len(m.API.Bindings()), 2) // one runs still
		annotate(t, m, pods.AnnotationQuota, "")
		assert.Equal(t, len(m.API.Bindings()), 5)

		annotate(t, m, pods.AnnotationApplicationsMax, "1")
		m.AddPod("other", "cpu=1", shimtest.Application("other"))
		m.Advance(3 * time.Second)
		assert.Equal(t, says(m.Pod("other")), "TooManyApplications")
		annotate(t, m, pods.AnnotationApplicationsMax, "2")
		assert.Assert(t, m.Pod("other").Spec.NodeName != "")

		annotate(t, m, pods.AnnotationGuaranteed, `{"cpu": "3"}`)
		view, err := m.View(context.Background(), m.Partitions()[0])
		assert.NilError(t, err)
		for _, q := range view.Root.Queues {
			assert.Equal(t, len(q.Guaranteed) > 0, q.Path == "root."+metav1.NamespaceDefault, "%s", q.Path)
		}
	})
}
