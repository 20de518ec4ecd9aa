package frameworktest

import (
	"testing"

	"gotest.tools/v3/assert"
	apps "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
)

// Controllers has the informers of a factory know the ReplicaSets and StatefulSets of pods, and no others. Each selects pods by
// the label app, as its pods have it. By them kube-scheduler spreads pods.
func Controllers(t testing.TB, factory informers.SharedInformerFactory, pods []*v1.Pod) {
	t.Helper()
	var sets, stateful []any
	known := map[string]bool{}
	for _, p := range pods {
		owner := metav1.GetControllerOfNoCopy(p)
		if owner == nil || known[p.Namespace+owner.Kind+owner.Name] {
			continue
		}
		known[p.Namespace+owner.Kind+owner.Name] = true
		meta := metav1.ObjectMeta{Namespace: p.Namespace, Name: owner.Name}
		selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": p.Labels["app"]}}
		switch owner.Kind {
		case "ReplicaSet":
			sets = append(sets, &apps.ReplicaSet{ObjectMeta: meta, Spec: apps.ReplicaSetSpec{Selector: selector}})
		case "StatefulSet":
			stateful = append(stateful, &apps.StatefulSet{ObjectMeta: meta, Spec: apps.StatefulSetSpec{Selector: selector}})
		}
	}
	of := factory.Apps().V1()
	assert.NilError(t, of.ReplicaSets().Informer().GetIndexer().Replace(sets, ""))
	assert.NilError(t, of.StatefulSets().Informer().GetIndexer().Replace(stateful, ""))
}
