package shimtest_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
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
	serveComposites(w.MockScheduler)
	w.Advance(6 * time.Minute)
	for _, group := range composites {
		w.compose(t, group)
	}
	return w
}

// serveComposites has the API server serve composite groups.
func serveComposites(m *shimtest.MockScheduler) {
	m.API.Serve(pods.CompositePodGroupResource.GroupVersion(), pods.CompositePodGroupResource.Resource)
}

// requiring is a group, composite or not, that requires one value of a label.
func requiring(label string, group *unstructured.Unstructured) *unstructured.Unstructured {
	_ = unstructured.SetNestedSlice(group.Object, []any{map[string]any{"key": label}}, "spec", "schedulingConstraints", "topology")
	return group
}

func (w groupWorld) compose(t *testing.T, group *unstructured.Unstructured) {
	t.Helper()
	_, err := w.API.Dynamic.Resource(pods.CompositePodGroupResource).Namespace(metav1.NamespaceDefault).Create(context.Background(), group, metav1.CreateOptions{})
	assert.NilError(t, err)
	w.Advance(5 * time.Second)
}

// conditionsBegin checks how the conditions of pod groups begin.
func (w groupWorld) conditionsBegin(t *testing.T, by map[string]string) {
	t.Helper()
	for name, want := range by {
		is := w.condition(t, shimtest.PodGroupResource, name)
		assert.Assert(t, strings.HasPrefix(is, want), "%s: %s", name, is)
	}
}

// isSaid checks that an event says something.
func (w groupWorld) isSaid(t *testing.T, text string) {
	t.Helper()
	says := strings.Join(w.Events(), "\n")
	assert.Assert(t, strings.Contains(says, text), says)
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
		w.conditionsBegin(t, map[string]string{"blue": "True Scheduled", "green": "True Scheduled", "red": "False Unschedulable"})
		w.AddNode("node-2", "cpu=1")
		w.Advance(time.Minute)
		assert.Equal(t, len(w.API.Bindings()), 6)
		assert.Assert(t, strings.HasPrefix(w.condition(t, shimtest.PodGroupResource, "red"), "True Scheduled"))
	})
}

// Pods of a replica wait for its composite group, and say so. Those of a composite that says nothing start by themselves.
func TestReplicasWaitForTheirCompositeGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newCompositeWorld(t, "8", shimtest.NewCompositePodGroup("plain", 0))
		w.Create(replica("blue", "serve", 2))
		w.Create(replica("green", "plain", 2))
		w.Advance(time.Minute)
		w.inGang("blue", 1, 2)
		w.inGang("green", 1, 2)
		assert.Equal(t, len(w.API.Bindings()), 2)
		w.isSaid(t, "blue-1 FailedScheduling: its composite pod group serve does not exist, or is not understood")

		w.compose(t, shimtest.NewCompositePodGroup("serve", 1))
		assert.Equal(t, len(w.API.Bindings()), 4)
	})
}

// compositeIn is a composite group in another one, which requires one value of a label, if it says one.
func compositeIn(name, of string, minCount int, topology string) *unstructured.Unstructured {
	group := shimtest.NewCompositePodGroup(name, minCount)
	_ = unstructured.SetNestedField(group.Object, of, "spec", "parentCompositePodGroupName")
	if topology != "" {
		requiring(topology, group)
	}
	return group
}

// Two of three replicas of a leader and two workers start together, each whole and in one rack, whatever comes first of the tree. Each pod group
// says whether it has started.
func TestReplicasOfPartsStartTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newCompositeWorld(t, "3")
		for _, name := range []string{"blue", "green", "red"} {
			w.Create(replica(name+"-leader", name, 1))
			w.Create(replica(name+"-workers", name, 2))
			w.inGang(name+"-leader", 1)
			w.compose(t, compositeIn(name, "serve", 2, "rack"))
		}
		w.AddNode("node-2", "cpu=4")
		for name, rack := range map[string]string{"node-1": "a", "node-2": "b"} {
			w.ChangeNode(name, func(n *v1.Node) { n.Labels = map[string]string{"rack": rack} })
		}
		w.inGang("blue-workers", 1, 2)
		w.inGang("green-workers", 1, 2)
		assert.Equal(t, len(w.API.Bindings()), 0)
		w.isSaid(t, "composite pod group serve, which its composite pod group blue is in, does not exist")

		w.compose(t, shimtest.NewCompositePodGroup("serve", 2))
		w.Advance(time.Minute)
		on := map[string]map[string]bool{}
		for _, bound := range w.API.Bindings() {
			pod, node, _ := strings.Cut(bound, " ")
			name, _, _ := strings.Cut(pod, "-")
			if on[name] == nil {
				on[name] = map[string]bool{}
			}
			on[name][node] = true
		}
		assert.Equal(t, len(w.API.Bindings()), 6, "%v", w.API.Bindings())
		assert.Assert(t, len(on["blue"]) == 1 && len(on["green"]) == 1 && len(on["red"]) == 0, "%v", on)
		w.conditionsBegin(t, map[string]string{"blue-leader": "True Scheduled", "green-workers": "True Scheduled", "red-leader": "False Unschedulable"})
	})
}

// Whatever is in a tree may require a domain, in that of what it is in: all of a hall in one zone, and the pods of one part of it in a rack there.
func TestDomainsDeepInATree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newCompositeWorld(t, "2", shimtest.NewCompositePodGroup("serve", 1), compositeIn("hall", "serve", 2, "zone"), compositeIn("blue", "hall", 1, "rack"))
		w.AddNode("node-2", "cpu=3")
		w.AddNode("node-3", "cpu=4")
		for name, at := range map[string]string{"node-1": "za", "node-2": "zb", "node-3": "yc"} {
			w.ChangeNode(name, func(n *v1.Node) { n.Labels = map[string]string{"zone": at[:1], "rack": at[1:]} })
		}
		w.Create(replica("deep", "blue", 3))
		w.Create(replica("front", "hall", 2))
		w.inGang("deep", 1, 2, 3)
		assert.Equal(t, len(w.API.Bindings()), 0)
		w.inGang("front", 1, 2)
		w.Advance(time.Minute)
		bound := w.API.Bindings()
		slices.Sort(bound)
		assert.DeepEqual(t, bound, []string{"deep-1 node-2", "deep-2 node-2", "deep-3 node-2", "front-1 node-1", "front-2 node-1"})
	})
}

// Two replicas of which each runs on one node take the places of two that are less important, on two nodes of one zone: the filters of kube-scheduler
// tell pods of one group from those of another one, and each node has room for one replica.
func TestReplicasMakeRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{Feasibility: filters})
		m.API.Serve(shimtest.PodGroupResource.GroupVersion(), shimtest.PodGroupResource.Resource)
		serveComposites(m)
		for i, zone := range []string{"a", "b", "a"} {
			name := fmt.Sprintf("node-%d", i+1)
			m.AddNode(name, "cpu=4 pods=110")
			m.ChangeNode(name, func(n *v1.Node) { n.Labels = map[string]string{"zone": zone, v1.LabelHostname: name} })
		}
		m.Start()
		w := groupWorld{m}
		start := func(name string, priority int32) {
			w.compose(t, requiring("zone", shimtest.NewCompositePodGroup(name, 2)))
			for _, part := range []string{name + "-blue", name + "-green"} {
				m.Create(requiring(v1.LabelHostname, replica(part, name, 3)))
				for i := range 3 {
					m.AddPod(fmt.Sprintf("%s-%d", part, i), "cpu=1", inGroup(part), func(pod *v1.Pod) { pod.Spec.Priority = &priority })
				}
			}
			m.Advance(5 * time.Second)
		}
		start("low", 0)
		assert.Equal(t, len(m.API.Bindings()), 6)
		start("high", 1000)
		assert.Equal(t, m.API.Requests("delete"), 4, "%v", m.Events())
		for _, name := range []string{"low-blue", "low-green"} {
			for i := range 3 {
				if pod := fmt.Sprintf("%s-%d", name, i); m.Pod(pod).DeletionTimestamp != nil {
					m.EndPod(pod)
				}
			}
		}
		m.Advance(5 * time.Second)
		on := map[string]string{}
		for _, name := range []string{"high-blue", "high-green"} {
			on[name] = m.Pod(name + "-0").Spec.NodeName
			for i := range 3 {
				assert.Equal(t, m.Pod(fmt.Sprintf("%s-%d", name, i)).Spec.NodeName, on[name], "%v", m.Events())
			}
		}
		assert.Assert(t, on["high-blue"] != on["high-green"] && on["high-blue"] != "node-2" && on["high-green"] != "node-2", "%v", on)
	})
}

// A circle of composite groups is told.
func TestACircleOfComposites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newCompositeWorld(t, "8", compositeIn("round", "about", 1, ""), compositeIn("about", "round", 1, ""))
		w.Create(replica("lost", "about", 2))
		w.inGang("lost", 1, 2)
		assert.Equal(t, len(w.API.Bindings()), 0)
		w.isSaid(t, "it is in more than 4 composite pod groups, one in the other, or in a circle of them")
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
