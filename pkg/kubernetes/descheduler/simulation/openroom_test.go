package simulation

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	ft "github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/frameworktest"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim/shimtest"
)

// inRacks has domains of the label rack.
const inRacks = "partitions: [{name: default, topology: {levels: [[rack]]}, queues: [{name: root, queues: [{name: a}]}]}]"

// openRoom is a policy with OpenRoom, whose pods go by migration.
const openRoom = `
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
- name: default
  pluginConfig: [{name: OpenRoom, args: {waitsFor: 1m}}]
  plugins:
    balance: {enabled: [OpenRoom]}
    evict: {enabled: [MigrationController]}
`

// pieces are two racks of two nodes, in each of which the room for two pods of 3 lies in pieces, and a spare node in none.
func pieces() framework.Objects {
	var o framework.Objects
	for i, rack := range []string{"r1", "r1", "r2", "r2"} {
		o.Nodes = append(o.Nodes, ft.Node(fmt.Sprintf("n%d", i+1), "cpu=4 memory=16Gi pods=110", "rack="+rack))
	}
	o.Nodes = append(o.Nodes, ft.Node("spare", "cpu=2 memory=16Gi pods=110", ""))
	for i, size := range []int{1, 3, 2, 2} {
		o.Pods = append(o.Pods, running(fmt.Sprintf("ns0/b%d", i+1), fmt.Sprintf("n%d", i+1), fmt.Sprintf("cpu=%d", size), ft.Owned(fmt.Sprintf("ReplicaSet/set%d", i%2))))
	}
	return migratable(o)
}

// waiting is a pod that waits.
func (w *migrating) waiting(name, requests, group string) {
	p := running("ns0/"+name, "", requests)
	ours("train", queueNames[0])(p)
	p.Namespace, p.UID, p.Status = namespace, types.UID("uid-"+name), v1.PodStatus{Phase: v1.PodPending}
	if p.CreationTimestamp = metav1.NewTime(time.Now()); group != "" {
		p.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &group}
	}
	w.Put(p)
}

// TestARackIsOpened: a job of two pods that needs one rack waits, since in each the room lies in pieces. The two pods whose moves open a rack get
// their places elsewhere first, and move; the job runs in that rack, whole, and no other pod moved.
func TestARackIsOpened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newMigrating(t, pieces(), inRacks)
		w.API.Serve(shimtest.PodGroupResource.GroupVersion(), shimtest.PodGroupResource.Resource)
		group := shimtest.NewPodGroup("train", 2)
		assert.NilError(t, unstructured.SetNestedSlice(group.Object, []any{map[string]any{"key": "rack"}}, "spec", "schedulingConstraints", "topology"))
		w.Put(group)
		for i := range 2 {
			w.waiting(fmt.Sprintf("t%d", i+1), "cpu=3", "train")
		}
		w.run(openRoom, inRacks)
		w.play(10*time.Minute, 2)
		assert.Equal(t, len(w.wrong), 0, "%v", w.wrong)
		assert.Equal(t, len(w.evicted), 2, "%v", w.evicted)
		ran := w.runs()
		assert.Equal(t, ran, "b1 n1, b2 n2, b3x spare, b4x n1, t1 n3, t2 n4")
	})
}

// runs is where pods run, by name.
func (w *migrating) runs() string {
	var list []string
	for _, p := range w.pods() {
		if !pods.IsReservation(p) {
			list = append(list, p.Name+" "+p.Spec.NodeName)
		}
	}
	return strings.Join(list, ", ")
}

// TestWhatOpensNothingStays: one pod waits that needs a whole node, and the smallest that is in its way may not be evicted; the next smallest
// moves. Where nothing has room elsewhere, nothing moves at all.
func TestWhatOpensNothingStays(t *testing.T) {
	for name, c := range map[string]struct {
		change func(o *framework.Objects)
		want   string
	}{
		"the smallest": {func(*framework.Objects) {}, "b1x spare, b2 n2, b3 n3, b4 n4, w n1"},
		"the next one": {func(o *framework.Objects) { o.Pods[0].Spec.Volumes = local }, "b1 n1, b2 n2, b3x spare, b4 n4, w n3"},
		"nothing has room": {func(o *framework.Objects) {
			o.Nodes[0].Spec.Unschedulable, o.Nodes, o.Pods = true, o.Nodes[:3], o.Pods[:3]
		}, "b1 n1, b2 n2, b3 n3, w "},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := pieces()
				c.change(&o)
				w := newMigrating(t, o, inRacks)
				w.waiting("w", "cpu=4", "")
				w.run(openRoom, inRacks)
				w.play(10*time.Minute, 2)
				assert.Equal(t, len(w.wrong), 0, "%v", w.wrong)
				assert.Equal(t, w.runs(), c.want)
			})
		})
	}
}

// local is storage that keeps a pod from being evicted.
var local = []v1.Volume{{Name: "local", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
