package shimtest_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/api/scheduling/v1alpha2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim/shimtest"
)

func inGroup(name string) shimtest.PodOption {
	return func(pod *v1.Pod) { pod.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &name} }
}

// podGroup is a gang of at least so many pods, or, for zero, a group of pods that are
// scheduled one by one.
func podGroup(name string, minCount int32) *v1alpha2.PodGroup {
	group := &v1alpha2.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name}}
	if minCount > 0 {
		group.Spec.SchedulingPolicy.Gang = &v1alpha2.GangSchedulingPolicy{MinCount: minCount}
	} else {
		group.Spec.SchedulingPolicy.Basic = &v1alpha2.BasicSchedulingPolicy{}
	}
	return group
}

// A pod waits for its pod group, before and after the start, and again when that is deleted.
// A pod that runs does not.
func TestPodsWaitForTheirPodGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{})
		m.API.Serve(v1alpha2.SchemeGroupVersion, "podgroups")
		m.AddNode("node-1", "cpu=3")
		m.AddPod("runs", "cpu=1", inGroup("gone"), shimtest.On("node-1"))
		m.AddPod("early", "cpu=1", inGroup("train"))
		m.AddPod("other", "cpu=1")
		m.Start()
		m.AddPod("late", "cpu=1", inGroup("train"))
		m.Advance(5 * time.Second)
		assert.DeepEqual(t, m.Booked(), []string{"other node-1", "runs node-1"})
		assert.Assert(t, slices.Contains(m.Events(), "early FailedScheduling: its pod group train does not exist"), "%v", m.Events())
		assert.Assert(t, slices.Contains(m.Events(), "late FailedScheduling: its pod group train does not exist"), "%v", m.Events())

		m.Create(podGroup("train", 2))
		m.Advance(5 * time.Second)
		assert.DeepEqual(t, m.Booked(), []string{"early node-1", "late -", "other node-1", "runs node-1"})
		groups := m.API.SchedulingV1alpha2().PodGroups(metav1.NamespaceDefault)
		assert.NilError(t, groups.Delete(context.Background(), "train", metav1.DeleteOptions{}))
		m.Advance(5 * time.Second)
		assert.DeepEqual(t, m.Booked(), []string{"early node-1", "other node-1", "runs node-1"})
	})
}

// Where the API server serves none, as most do, a pod does not wait for its group.
func TestPodGroupsAreNotServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{})
		m.AddNode("node-1", "cpu=3")
		m.Start()
		m.AddPod("web", "cpu=1", inGroup("train"))
		m.Advance(time.Second)
		assert.DeepEqual(t, m.Booked(), []string{"web node-1"})
	})
}

// The gangs among the pod groups of an application become its task groups, with the size of
// their oldest pod; those whose pods are scheduled one by one do not.
func TestPodGroupsAreTaskGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{})
		m.API.Serve(v1alpha2.SchemeGroupVersion, "podgroups")
		m.AddNode("node-1", "cpu=8")
		m.Create(podGroup("train", 4), podGroup("eval", 2), podGroup("single", 0))
		m.AddPod("train-1", "cpu=1", inGroup("train"))
		m.AddPod("eval-1", "cpu=500m", inGroup("eval"))
		m.AddPod("single-1", "cpu=1", inGroup("single"))
		m.Start()
		m.AddPod("train-2", "cpu=2", inGroup("train"))
		m.Advance(time.Second)
		assert.Equal(t, len(m.API.Bindings()), 4)

		text, err := m.Scheduler.StateDump(shim.DefaultClusterID)
		assert.NilError(t, err)
		var state struct {
			Applications []struct{ TaskGroups []pods.TaskGroup }
		}
		assert.NilError(t, json.Unmarshal([]byte(text), &state))
		groups := state.Applications[0].TaskGroups
		assert.Equal(t, len(groups), 2)
		for i, want := range []struct {
			name     string
			members  int32
			cpuMilli int64
		}{{"eval", 2, 500}, {"train", 4, 1000}} {
			cpu := groups[i].MinResource["cpu"]
			assert.Equal(t, groups[i].Name, want.name)
			assert.Equal(t, groups[i].MinMember, want.members)
			assert.Equal(t, cpu.MilliValue(), want.cpuMilli)
		}
	})
}
