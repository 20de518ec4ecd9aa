package shimtest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim/shimtest"
)

func inGroup(name string) shimtest.PodOption {
	return func(pod *v1.Pod) { pod.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &name} }
}

// A pod waits for its pod group, before and after the start, and again when that is deleted.
// A pod that runs does not. There is room for one of the two that must start together.
func TestPodsWaitForTheirPodGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{})
		m.API.Serve(shimtest.PodGroupResource.GroupVersion(), shimtest.PodGroupResource.Resource)
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

		m.Create(shimtest.NewPodGroup("train", 2))
		m.Advance(5 * time.Second)
		assert.DeepEqual(t, m.Booked(), []string{"early -", "late -", "other node-1", "runs node-1"})
		groups := m.API.Dynamic.Resource(shimtest.PodGroupResource).Namespace(metav1.NamespaceDefault)
		assert.NilError(t, groups.Delete(context.Background(), "train", metav1.DeleteOptions{}))
		m.Advance(5 * time.Second)
		assert.DeepEqual(t, m.Booked(), []string{"other node-1", "runs node-1"})
	})
}

// The state for debugging has the gangs among the pod groups of an application, with the size of
// their oldest pod; those whose pods are scheduled one by one are not there.
func TestPodGroupsAreInTheState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{})
		m.API.Serve(shimtest.PodGroupResource.GroupVersion(), shimtest.PodGroupResource.Resource)
		m.AddNode("node-1", "cpu=8")
		m.Create(shimtest.NewPodGroup("train", 4), shimtest.NewPodGroup("eval", 2), shimtest.NewPodGroup("single", 0))
		m.AddPod("train-1", "cpu=1", inGroup("train"))
		m.AddPod("eval-1", "cpu=500m", inGroup("eval"))
		m.AddPod("single-1", "cpu=1", inGroup("single"))
		m.Start()
		m.AddPod("train-2", "cpu=2", inGroup("train"))
		m.Advance(time.Second)
		assert.Equal(t, len(m.API.Bindings()), 1)

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

// inGang are pods of one CPU each of a pod group.
func (w groupWorld) inGang(group string, numbers ...int) {
	for _, n := range numbers {
		w.AddPod(fmt.Sprintf("%s-%d", group, n), "cpu=1", inGroup(group))
	}
	w.Advance(5 * time.Second)
}

// A groupWorld is a cluster whose API server serves pod groups.
type groupWorld struct{ *shimtest.MockScheduler }

func newGroupWorld(t *testing.T, cpu string, groups ...runtime.Object) groupWorld {
	m := shimtest.New(t, shimtest.Options{})
	m.API.Serve(shimtest.PodGroupResource.GroupVersion(), shimtest.PodGroupResource.Resource)
	m.AddNode("node-1", "cpu="+cpu)
	m.Create(groups...)
	m.Start()
	return groupWorld{m}
}

// No pod of a gang is bound before minCount of them fit at once. What there is more of waits by
// itself then.
func TestPodGroupStartsWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newGroupWorld(t, "2", shimtest.NewPodGroup("train", 3))
		w.inGang("train", 1, 2)
		assert.DeepEqual(t, w.Booked(), []string{"train-1 -", "train-2 -"})
		w.inGang("train", 3, 4)
		assert.Equal(t, len(w.API.Bindings()), 0)
		assert.Assert(t, strings.Contains(fmt.Sprint(w.Events()), "its group cannot start"), "%v", w.Events())

		w.AddPod("other", "cpu=1")
		w.Advance(time.Second)
		w.AddNode("node-2", "cpu=1")
		w.Advance(5 * time.Second)
		assert.DeepEqual(t, w.Booked(), []string{"other node-1", "train-1 -", "train-2 -", "train-3 -", "train-4 -"})
		w.AddNode("node-3", "cpu=1")
		w.Advance(5 * time.Second)
		assert.Equal(t, len(w.API.Bindings()), 4)
		w.AddNode("node-4", "cpu=1")
		w.Advance(5 * time.Second)
		assert.Equal(t, len(w.API.Bindings()), 5)
	})
}

// Of two gangs that compete one starts. The other one does when that has lost a pod, once the room of that is kept no longer for a replacement.
func TestPodGroupsCompete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newGroupWorld(t, "3", shimtest.NewPodGroup("eval", 2), shimtest.NewPodGroup("train", 2))
		w.inGang("eval", 1)
		w.inGang("train", 1)
		w.inGang("eval", 2)
		w.inGang("train", 2)
		assert.DeepEqual(t, w.Booked(), []string{"eval-1 node-1", "eval-2 node-1", "train-1 -", "train-2 -"})
		w.EndPod("eval-1")
		w.Advance(30 * time.Second)
		assert.DeepEqual(t, w.Booked(), []string{"eval-2 node-1", "train-1 -", "train-2 -"})
		w.Advance(time.Minute)
		assert.DeepEqual(t, w.Booked(), []string{"eval-2 node-1", "train-1 node-1", "train-2 node-1"})
	})
}

// What a pod had that is stopped is kept for the one that takes its place, also where its containers end well: it has not succeeded, as it is
// gone soon.
func TestRoomOfAStoppedPodIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newGroupWorld(t, "2", shimtest.NewPodGroup("train", 2))
		w.inGang("train", 1, 2)
		w.AddPod("other", "cpu=1")
		w.ChangePod("train-1", func(pod *v1.Pod) { pod.DeletionTimestamp = &metav1.Time{Time: time.Now()} })
		w.ChangePod("train-1", func(pod *v1.Pod) { pod.Status.Phase = v1.PodSucceeded })
		w.Advance(5 * time.Second)
		w.EndPod("train-1")
		w.Advance(10 * time.Second)
		assert.DeepEqual(t, w.Booked(), []string{"other -", "train-2 node-1"})
		w.inGang("train", 3)
		assert.DeepEqual(t, w.Booked(), []string{"other -", "train-2 node-1", "train-3 node-1"})
	})
}

// A pod that takes the place of one that ended starts at once while the others run, and waits
// for others when too few of them do.
func TestPodOfARunningGroupEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newGroupWorld(t, "8", shimtest.NewPodGroup("train", 3))
		w.inGang("train", 1, 2, 3)
		w.EndPod("train-1")
		w.inGang("train", 4)
		assert.DeepEqual(t, w.Booked(), []string{"train-2 node-1", "train-3 node-1", "train-4 node-1"})
		w.EndPod("train-2")
		w.EndPod("train-3")
		w.inGang("train", 5)
		assert.DeepEqual(t, w.Booked(), []string{"train-4 node-1", "train-5 -"})
		w.inGang("train", 6)
		assert.DeepEqual(t, w.Booked(), []string{"train-4 node-1", "train-5 node-1", "train-6 node-1"})
	})
}

// After a restart a gang that waited waits, and one that runs counts those that run.
func TestPodGroupRestarts(t *testing.T) {
	for _, cpu := range []string{"2", "3"} {
		synctest.Test(t, func(t *testing.T) {
			w := newGroupWorld(t, cpu, shimtest.NewPodGroup("train", 3))
			w.inGang("train", 1, 2, 3)
			ran := len(w.API.Bindings())
			w.Stop()
			m := shimtest.New(t, shimtest.Options{API: w.API})
			m.Start()
			w = groupWorld{m}
			w.Advance(30 * time.Second)
			assert.Equal(t, len(w.API.Bindings()), ran)
			w.AddNode("node-2", "cpu=1")
			w.inGang("train", 4)
			want := 3 // one more node is enough
			if ran == 3 {
				want = 4
			}
			assert.Equal(t, len(w.API.Bindings()), want)
		})
	}
}

// A group that is deleted and made again with another policy counts as it is then, for pods that
// wait and for those that run.
func TestPodGroupIsMadeAgain(t *testing.T) {
	for _, change := range []struct {
		minCount int
		bound    int
	}{{0, 2}, {2, 2}, {3, 0}} {
		synctest.Test(t, func(t *testing.T) {
			w := newGroupWorld(t, "8", shimtest.NewPodGroup("train", 4))
			w.inGang("train", 1, 2)
			groups := w.API.Dynamic.Resource(shimtest.PodGroupResource).Namespace(metav1.NamespaceDefault)
			assert.NilError(t, groups.Delete(context.Background(), "train", metav1.DeleteOptions{}))
			w.Advance(5 * time.Second)
			assert.DeepEqual(t, w.Booked(), []string{})
			w.Create(shimtest.NewPodGroup("train", change.minCount))
			w.Advance(5 * time.Second)
			assert.Equal(t, len(w.API.Bindings()), change.bound)

			if change.bound == 2 { // those that run are members of the next one too
				assert.NilError(t, groups.Delete(context.Background(), "train", metav1.DeleteOptions{}))
				w.Advance(5 * time.Second)
				w.Create(shimtest.NewPodGroup("train", 3))
				w.inGang("train", 3)
				assert.Equal(t, len(w.API.Bindings()), 3)
			}
		})
	}
}

// Of a group with more pods than there is room for, those of the highest priority start, of the
// same priority the oldest, whatever the order in which they came. One that fits nowhere is passed
// over, and the others wait by themselves in the same order.
func TestPodGroupStartsByPriorityAndAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newGroupWorld(t, "3", shimtest.NewPodGroup("train", 3))
		begin := metav1.Now()
		add := func(name string, priority int32, age time.Duration, options ...shimtest.PodOption) {
			created := metav1.NewTime(begin.Add(-age))
			options = append(options, inGroup("train"), shimtest.Priority(priority), func(pod *v1.Pod) { pod.CreationTimestamp = created })
			w.AddPod(name, "cpu=1", options...)
		}
		w.ChangeNode("node-1", func(n *v1.Node) { n.Spec.Unschedulable = true }) // until all are there
		add("low", 0, time.Hour)
		add("young", 5, time.Second)
		add("old", 5, time.Minute)
		add("older", 5, 2*time.Minute)
		add("elsewhere", 9, time.Hour, shimtest.Selects("node-9"))
		add("first", 7, 0)
		w.Advance(time.Second)
		assert.Equal(t, len(w.API.Bindings()), 0)
		w.ChangeNode("node-1", func(n *v1.Node) { n.Spec.Unschedulable = false })
		w.Advance(5 * time.Second)
		assert.DeepEqual(t, w.Booked(), []string{"elsewhere -", "first node-1", "low -", "old node-1", "older node-1", "young -"})
		assert.DeepEqual(t, slices.Sorted(slices.Values(w.API.Bindings())), []string{"first node-1", "old node-1", "older node-1"})
		for number, name := range []string{"young", "low"} {
			node := fmt.Sprintf("node-%d", number+2)
			w.AddNode(node, "cpu=1")
			w.Advance(5 * time.Second)
			assert.Equal(t, w.Pod(name).Spec.NodeName, node)
		}
	})
}
