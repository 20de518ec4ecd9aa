package shimtest_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim/shimtest"
)

// replica is a gang of so many pods in a composite group.
func replica(name, of string, minCount int) *unstructured.Unstructured {
	group := shimtest.NewPodGroup(name, minCount)
	_ = unstructured.SetNestedField(group.Object, of, "spec", "parentCompositePodGroupName")
	return group
}

// newCompositeWorld is a cluster with room for so many pods that serves composite groups, and has some.
func newCompositeWorld(t *testing.T, room string, composites ...*unstructured.Unstructured) groupWorld {
	w := newGroupWorldIn(t, shimtest.PodGroupResource, room)
	w.API.Serve(pods.CompositePodGroupResource.GroupVersion(), pods.CompositePodGroupResource.Resource)
	w.Advance(6 * time.Minute)
	for _, group := range composites {
		w.compose(t, group)
	}
	return w
}

func (w groupWorld) compose(t *testing.T, group *unstructured.Unstructured) {
	t.Helper()
	_, err := w.API.Dynamic.Resource(pods.CompositePodGroupResource).Namespace(metav1.NamespaceDefault).Create(context.Background(), group, metav1.CreateOptions{})
	assert.NilError(t, err)
	w.Advance(5 * time.Second)
}

// Two of three replicas of two pods each start together, and not before. The third one waits until there is room for all of it. Each says
// whether it has started.
func TestReplicasStartTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newCompositeWorld(t, "5", shimtest.NewCompositePodGroup("serve", 2))
		w.Create(replica("blue", "serve", 2))
		w.Create(replica("green", "serve", 2))
		w.Advance(time.Minute)
		w.inGang("blue", 1, 2)
		w.inGang("green", 1)
		assert.Equal(t, len(w.API.Bindings()), 0)
		waits := "False Unschedulable: group default/composite/serve waits: 0 of 2 subgroups run: fewer subgroups have their members than must start together"
		assert.Equal(t, w.condition(t, shimtest.PodGroupResource, "blue"), waits)

		w.inGang("green", 2)
		assert.Equal(t, len(w.API.Bindings()), 4)
		w.Create(replica("red", "serve", 2)) // when the others run
		w.inGang("red", 1, 2)
		assert.Equal(t, len(w.API.Bindings()), 4)
		for name, want := range map[string]string{"blue": "True Scheduled", "green": "True Scheduled", "red": "False Unschedulable"} {
			assert.Assert(t, strings.HasPrefix(w.condition(t, shimtest.PodGroupResource, name), want), "%s: %s", name, w.condition(t, shimtest.PodGroupResource, name))
		}
		w.AddNode("node-2", "cpu=1")
		w.Advance(time.Minute)
		assert.Equal(t, len(w.API.Bindings()), 6)
		assert.Assert(t, strings.HasPrefix(w.condition(t, shimtest.PodGroupResource, "red"), "True Scheduled"))
	})
}

// Pods of a replica wait for its composite group, and say so. Those of a composite that says nothing start by themselves, and a tree of more
// levels, which is not understood, does not start in part.
func TestReplicasWaitForTheirCompositeGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newCompositeWorld(t, "8", shimtest.NewCompositePodGroup("plain", 0))
		w.Create(replica("blue", "serve", 2))
		w.Create(replica("green", "plain", 2))
		w.Create(replica("deep", "inner", 2))
		w.Advance(time.Minute)
		w.inGang("blue", 1, 2)
		w.inGang("green", 1, 2)
		w.inGang("deep", 1, 2)
		assert.Equal(t, len(w.API.Bindings()), 2)
		says := strings.Join(w.Events(), "\n")
		assert.Assert(t, strings.Contains(says, "blue-1 FailedScheduling: its composite pod group serve does not exist, or is not understood"), says)

		w.compose(t, shimtest.NewCompositePodGroup("serve", 1))
		assert.Equal(t, len(w.API.Bindings()), 4)
		inner := shimtest.NewCompositePodGroup("inner", 1)
		assert.NilError(t, unstructured.SetNestedField(inner.Object, "outer", "spec", "parentCompositePodGroupName"))
		w.compose(t, inner)
		w.compose(t, shimtest.NewCompositePodGroup("outer", 1))
		assert.Equal(t, len(w.API.Bindings()), 4)
		says = strings.Join(w.Events(), "\n")
		assert.Assert(t, strings.Contains(says, "composite pod group inner is in outer, which says how such groups start together"), says)
	})
}

// What runs of a gang that has lost a pod ends after the time that its group says, so that it may start anew.
func TestBrokenGangsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		group := shimtest.NewPodGroup("train", 3)
		group.SetAnnotations(map[string]string{pods.AnnotationEndBelow: "1m"})
		w := newGroupWorldIn(t, shimtest.PodGroupResource, "3", group)
		w.inGang("train", 1, 2, 3)
		assert.Equal(t, len(w.API.Bindings()), 3)
		w.EndPod("train-1")
		w.Advance(50 * time.Second)
		assert.Equal(t, w.API.Requests("delete"), 0)
		w.Advance(20 * time.Second)
		assert.Equal(t, w.API.Requests("delete"), 2)
	})
}
