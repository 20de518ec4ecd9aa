package shimtest_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/feasibility"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/preferences"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim/shimtest"
)

// scores are those of kube-scheduler.
func scores(factory informers.SharedInformerFactory) (shim.Preferences, error) {
	return preferences.New(factory, preferences.Options{})
}

// filters are the filter plugins of kube-scheduler.
func filters(ctx context.Context, client kubernetes.Interface, factory informers.SharedInformerFactory) (shim.Feasibility, error) {
	return feasibility.New(ctx, client, factory, feasibility.Options{Workers: 1})
}

func apart(pod *v1.Pod) {
	pod.Labels["run"] = "apart"
	pod.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"run": "apart"}},
			TopologyKey:   v1.LabelHostname,
		}},
	}}
}

// With the real filters, pods that keep apart are on different nodes, one at a time or many
// at once, and taints are respected.
func TestRealFilters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{Feasibility: filters})
		for i := range 4 {
			m.AddNode(fmt.Sprint("node-", i), "cpu=8 memory=16Gi")
		}
		m.ChangeNode("node-3", func(n *v1.Node) {
			n.Spec.Taints = []v1.Taint{{Key: "gpu", Effect: v1.TaintEffectNoSchedule}}
		})
		m.AddPod("early", "cpu=1", shimtest.On("node-0"), shimtest.Foreign, apart)
		m.Start()
		for i := range 3 {
			m.Create(shimtest.NewPod(fmt.Sprint("apart-", i), "cpu=1", apart))
		}
		m.Advance(10 * time.Second)
		nodes := map[string]int{}
		for i := range 3 {
			nodes[m.Pod(fmt.Sprint("apart-", i)).Spec.NodeName]++
		}
		assert.DeepEqual(t, nodes, map[string]int{"": 1, "node-1": 1, "node-2": 1})
		m.ChangeNode("node-3", func(n *v1.Node) { n.Spec.Taints = nil })
		m.Advance(10 * time.Second)
		assert.DeepEqual(t, m.Booked(), m.Expected())
		assert.Equal(t, len(m.API.Bindings()), 3)
	})
}

// An anti-affinity to a less important pod is a reason to evict it, although there is room.
func TestVictimInTheWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{Feasibility: filters})
		m.AddNode("node-1", "cpu=8 memory=16Gi")
		m.Start()
		m.AddPod("low", "cpu=1", apart)
		m.AddPod("other", "cpu=1")
		m.AddPod("high", "cpu=1", apart, shimtest.Priority(10))
		m.Advance(5 * time.Second)
		assert.DeepEqual(t, m.API.Deleted(), []string{"low"})
		assert.Equal(t, m.Pod("high").Status.NominatedNodeName, "node-1")
		m.EndPod("low")
		m.Advance(5 * time.Second)
		assert.DeepEqual(t, m.Booked(), []string{"high node-1", "other node-1"})
	})
}

// A pod waits for a claim that does not exist yet. When it is there, the pod is tried at
// once, however many of them come, and not only when the core would try it again anyway.
func TestVolumeComesLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{Feasibility: filters})
		m.AddNode("node-1", "cpu=8 memory=16Gi")
		m.Start()
		m.AddPod("db", "cpu=1", func(pod *v1.Pod) {
			pod.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{
				PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "data-7"},
			}}}
		})
		m.Advance(10 * time.Minute) // by now it is tried once a minute
		assert.DeepEqual(t, m.Booked(), []string{"db -"})
		for i := range 10 {
			m.Create(volume(fmt.Sprint("data-", i))...)
		}
		m.Advance(2 * time.Second)
		assert.DeepEqual(t, m.Booked(), []string{"db node-1"})
	})
}

// volume is a claim and the volume that is bound to it.
func volume(name string) []runtime.Object {
	volume := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "volume-" + name}, Status: v1.PersistentVolumeStatus{Phase: v1.VolumeBound}}
	volume.Spec.ClaimRef = &v1.ObjectReference{Namespace: metav1.NamespaceDefault, Name: name, UID: types.UID("uid-" + name)}
	claim := &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: metav1.NamespaceDefault, Name: name, UID: types.UID("uid-" + name),
			Annotations: map[string]string{"pv.kubernetes.io/bind-completed": "yes"},
		},
		Spec:   v1.PersistentVolumeClaimSpec{VolumeName: volume.Name},
		Status: v1.PersistentVolumeClaimStatus{Phase: v1.ClaimBound},
	}
	return []runtime.Object{volume, claim}
}

// A node that is full is kept for a pod that needs all of it, although the filters refuse it as it
// is: small pods that come later do not take each place that comes free.
func TestNodeIsKeptForALargePod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{Feasibility: filters})
		m.AddNode("node-1", "cpu=2 memory=16Gi")
		m.Start()
		m.AddPod("small-1", "cpu=1")
		m.AddPod("small-2", "cpu=1")
		m.Advance(time.Second)
		m.AddPod("large", "cpu=2")
		m.Advance(10 * time.Second)
		m.AddPod("small-3", "cpu=1")
		m.Advance(time.Second)
		m.EndPod("small-1")
		m.Advance(10 * time.Second)
		assert.DeepEqual(t, m.Booked(), []string{"large -", "small-2 node-1", "small-3 -"})
		m.EndPod("small-2")
		m.Advance(10 * time.Second)
		assert.DeepEqual(t, m.Booked(), []string{"large node-1", "small-3 -"})
	})
}
