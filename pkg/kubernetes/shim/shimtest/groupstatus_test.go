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
	batch "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim/shimtest"
)

// newGroupWorldIn is a cluster whose API server serves pod groups in a version.
func newGroupWorldIn(t *testing.T, resource schema.GroupVersionResource, cpu string, groups ...*unstructured.Unstructured) groupWorld {
	m := shimtest.New(t, shimtest.Options{})
	m.API.Serve(resource.GroupVersion(), resource.Resource)
	m.AddNode("node-1", "cpu="+cpu)
	for _, group := range groups {
		m.Create(group)
	}
	m.Start()
	return groupWorld{m}
}

// group is a pod group as the API server has it.
func (w groupWorld) group(t *testing.T, resource schema.GroupVersionResource, name string) *unstructured.Unstructured {
	t.Helper()
	object, err := w.API.Dynamic.Resource(resource).Namespace(metav1.NamespaceDefault).Get(context.Background(), name, metav1.GetOptions{})
	assert.NilError(t, err)
	return object
}

// condition is what the condition of a group says, "status reason: message".
func (w groupWorld) condition(t *testing.T, resource schema.GroupVersionResource, name string) string {
	t.Helper()
	conditions, _, err := unstructured.NestedSlice(w.group(t, resource, name).Object, "status", "conditions")
	assert.NilError(t, err)
	text := ""
	for _, item := range conditions {
		c := item.(map[string]any)
		if c["type"] == pods.PodGroupCondition(resource.Version) {
			text += fmt.Sprintf("%s %s: %s", c["status"], c["reason"], c["message"])
		}
	}
	return text
}

// setMinCount has a group want another number of pods.
func (w groupWorld) setMinCount(t *testing.T, resource schema.GroupVersionResource, name string, count int64) {
	t.Helper()
	object := w.group(t, resource, name)
	assert.NilError(t, unstructured.SetNestedField(object.Object, count, "spec", "schedulingPolicy", "gang", "minCount"))
	_, err := w.API.Dynamic.Resource(resource).Namespace(metav1.NamespaceDefault).Update(context.Background(), object, metav1.UpdateOptions{})
	assert.NilError(t, err)
	w.Advance(5 * time.Second)
}

// A group says why it has not started, and that it has once its minimum is being bound. It never says again that it has not: where it
// lacks pods later, an event of the group and of its pods does. Other conditions stay, and there are no more writes than changes.
func TestPodGroupsSayWhetherTheyHaveStarted(t *testing.T) {
	for _, resource := range pods.PodGroupResources() {
		synctest.Test(t, func(t *testing.T) {
			group := shimtest.PodGroupIn(resource, "train", 3)
			other := map[string]any{"type": "DisruptionTarget", "status": "False", "reason": "None", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
			group.Object["status"] = map[string]any{"conditions": []any{other}}
			w := newGroupWorldIn(t, resource, "3", group)
			assert.Equal(t, w.condition(t, resource, "train"), "")
			w.inGang("train", 1, 2)
			waits := "False Unschedulable: group default/train waits: 0 of 3 members run: fewer members are there than must start together"
			assert.Equal(t, w.condition(t, resource, "train"), waits)
			w.Advance(time.Hour)
			assert.Equal(t, w.API.Requests("group"), 1)

			w.inGang("train", 3)
			started := "True Scheduled: group default/train runs: 3 of 3 members run"
			assert.Equal(t, w.condition(t, resource, "train"), started)
			w.EndPod("train-1")
			w.Advance(time.Minute)
			assert.Equal(t, w.condition(t, resource, "train"), started)
			assert.Assert(t, slices.Contains(w.Events(), "train BelowMinimum: group default/train is below its minimum: 2 of 3 members run"), "%v", w.Events())
			w.inGang("train", 4)
			assert.Assert(t, slices.Contains(w.Events(), "train MinimumRuns: group default/train runs: 3 of 3 members run"), "%v", w.Events())
			w.Advance(time.Hour)
			assert.Equal(t, w.API.Requests("group"), 2)
			conditions, _, _ := unstructured.NestedSlice(w.group(t, resource, "train").Object, "status", "conditions")
			assert.DeepEqual(t, conditions[0], any(other))
		})
	}
}

// A group whose pods are scheduled one by one, as each job has one, has started with its first pod. Reading it costs nothing: its
// pods do not wait for each other, and its status is written once.
func TestPodGroupsOfPodsOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		resource := shimtest.PodGroupResource
		w := newGroupWorldIn(t, resource, "2", shimtest.PodGroupIn(resource, "job", 0), shimtest.PodGroupIn(resource, "large", 0))
		w.AddPod("large-1", "cpu=3", inGroup("large"))
		w.inGang("job", 1, 2, 3)
		assert.Equal(t, len(w.API.Bindings()), 2)
		assert.Equal(t, w.condition(t, resource, "job"), "True Scheduled: pod job-1 is scheduled")
		assert.Assert(t, strings.HasPrefix(w.condition(t, resource, "large"), "False Unschedulable: "), w.condition(t, resource, "large"))
		w.EndPod("job-1")
		w.Advance(time.Hour)
		assert.Equal(t, w.condition(t, resource, "job"), "True Scheduled: pod job-1 is scheduled")
		assert.Assert(t, w.API.Requests("group") <= 3, "%d", w.API.Requests("group"))
	})
}

// A group that is not understood says so, until it is made again.
func TestPodGroupsThatAreNotUnderstood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		resource := shimtest.PodGroupResource
		group := shimtest.PodGroupIn(resource, "train", 0)
		group.Object["spec"] = map[string]any{"schedulingPolicy": map[string]any{"elastic": map[string]any{}}}
		w := newGroupWorldIn(t, resource, "2", group)
		w.inGang("train", 1)
		assert.Equal(t, w.condition(t, resource, "train"), "False SchedulerError: pod group default/train: spec.schedulingPolicy must have one of basic and gang")
		assert.Equal(t, len(w.API.Bindings()), 0)
	})
}

// The priority of a group counts for all its pods, and one of another priority is told so, on the pod and on the group. What ends
// together and where they run are said too.
func TestPodGroupsSayWhatTheirPodsAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		resource := shimtest.PodGroupResource
		group := shimtest.PodGroupIn(resource, "train", 1)
		spec := group.Object["spec"].(map[string]any)
		spec["priority"], spec["preemptionPolicy"], spec["disruptionMode"] = int64(10), "Never", map[string]any{"half": map[string]any{}}
		spec["schedulingConstraints"] = map[string]any{"topology": []any{map[string]any{"key": "rack"}}}
		group.SetAnnotations(map[string]string{pods.AnnotationPrefer: "row"})
		w := newGroupWorldIn(t, resource, "1", group)
		w.AddPod("single", "cpu=1", shimtest.Priority(9))
		w.ChangeNode("node-1", func(n *v1.Node) { n.Labels = map[string]string{"rack": "r1"} })
		w.AddPod("train-1", "cpu=1", inGroup("train"), shimtest.Priority(3))
		w.Advance(time.Minute)
		for tag, want := range map[string]string{
			pods.TagQuorumPriority: "10", pods.TagQuorumPreempts: "false", pods.TagQuorumUnit: "all", pods.TagQuorumRequire: "rack", pods.TagQuorumPrefer: "row",
		} {
			assert.Equal(t, w.Tag(tag)["train-1"], want, tag)
		}
		says := "OtherPriority: pod train-1 has priority 3, and its pod group train has 10, which counts"
		for _, line := range []string{
			"train-1 " + says, "train " + says, "train UnreadableAnnotation: its disruption mode map[half:map[]] is not known: it ends as a whole",
		} {
			assert.Assert(t, slices.Contains(w.Events(), line), "%s: %v", line, w.Events())
		}
	})
}

// Of an indexed job each two pods that follow each other run in one rack. The racks have room for three, one and two: none of the two
// subgroups is divided, though the first rack has room for more of it.
func TestSubgroupsOfAnIndexedJobRunInOneRackEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		group := shimtest.PodGroupIn(shimtest.PodGroupResource, "train", 4)
		group.SetAnnotations(map[string]string{pods.AnnotationSubgroups: "rack", pods.AnnotationSubgroupSize: "2"})
		w := newGroupWorldIn(t, shimtest.PodGroupResource, "3", group)
		w.AddNode("node-2", "cpu=1")
		w.AddNode("node-3", "cpu=2")
		for _, name := range []string{"node-1", "node-2", "node-3"} {
			w.ChangeNode(name, func(n *v1.Node) { n.Labels = map[string]string{"rack": name} })
		}
		for i := range 4 {
			w.AddPod(fmt.Sprint("train-", i), "cpu=1", inGroup("train"), func(p *v1.Pod) {
				p.Annotations = map[string]string{batch.JobCompletionIndexAnnotation: fmt.Sprint(i)}
			})
		}
		w.Advance(time.Minute)
		assert.DeepEqual(t, w.Booked(), []string{"train-0 node-3", "train-1 node-3", "train-2 node-1", "train-3 node-1"})
	})
}

// The minimum rises from 2 to 4 while two run: those stay, the new one waits and says how many there are, and the condition stays. When
// it falls to 3, one more is enough.
func TestPodGroupsWhoseMinimumChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		resource := shimtest.PodGroupResource
		w := newGroupWorldIn(t, resource, "3", shimtest.PodGroupIn(resource, "train", 2))
		w.inGang("train", 1, 2)
		w.setMinCount(t, resource, "train", 4)
		w.inGang("train", 3)
		assert.DeepEqual(t, w.Booked(), []string{"train-1 node-1", "train-2 node-1", "train-3 -"})
		assert.Assert(t, strings.Contains(fmt.Sprint(w.Events()), "train-3 FailedScheduling: its group is below its minimum: 2 of 4: "), "%v", w.Events())
		assert.Equal(t, w.condition(t, resource, "train"), "True Scheduled: group default/train runs: 2 of 2 members run")
		w.setMinCount(t, resource, "train", 3)
		assert.DeepEqual(t, w.Booked(), []string{"train-1 node-1", "train-2 node-1", "train-3 node-1"})
	})
}

// A group that is deleted and made again says what it does itself: not that it has started because that of its name before had.
func TestPodGroupsMadeAgainSayWhatTheyDo(t *testing.T) {
	for _, resource := range pods.PodGroupResources() {
		synctest.Test(t, func(t *testing.T) {
			w := newGroupWorldIn(t, resource, "4", shimtest.PodGroupIn(resource, "train", 4))
			w.inGang("train", 1, 2, 3, 4, 5)
			for _, again := range []struct {
				minCount int
				says     string
			}{
				{9, "False Unschedulable: group default/train is below its minimum: 4 of 9 members run"},
				{4, "True Scheduled: group default/train runs: 4 of 4 members run"},
				{4, "True Scheduled: group default/train runs: 4 of 4 members run"},
				{2, "True Scheduled: group default/train runs: 4 of 2 members run"},
			} {
				groups := w.API.Dynamic.Resource(resource).Namespace(metav1.NamespaceDefault)
				assert.NilError(t, groups.Delete(context.Background(), "train", metav1.DeleteOptions{}))
				w.Advance(time.Second)
				w.Create(shimtest.PodGroupIn(resource, "train", again.minCount))
				w.Advance(time.Minute)
				assert.Equal(t, w.condition(t, resource, "train"), again.says)
				assert.Equal(t, len(w.API.Bindings()), 4)
			}
			w.EndPod("train-1") // surplus takes its place
			w.Advance(5 * time.Second)
			assert.Equal(t, len(w.API.Bindings()), 5)
		})
	}
}

// indexed is a pod of an indexed job.
func indexed(index string) shimtest.PodOption {
	return func(pod *v1.Pod) {
		pod.Annotations = map[string]string{batch.JobCompletionIndexAnnotation: index}
	}
}

func (w groupWorld) succeed(name string) {
	w.ChangePod(name, func(pod *v1.Pod) {
		pod.Status.Phase = v1.PodSucceeded
		pod.Status.ContainerStatuses = []v1.ContainerStatus{{State: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{FinishedAt: metav1.Now()}}}}
	})
	w.Advance(5 * time.Second)
}

// Pods of an indexed job that succeeded count as long as they exist, also after a restart and where nothing else of the job was
// there for a while: what replaces a pod that failed starts beside them. A pod that is deleted counts no more, nor does one whose
// group was made again after it had succeeded.
func TestPodsThatSucceededCountInTheirGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		resource := shimtest.PodGroupResource
		w := newGroupWorldIn(t, resource, "8", shimtest.PodGroupIn(resource, "job", 3))
		for _, index := range []string{"0", "1", "2"} {
			w.AddPod("job-"+index, "cpu=1", inGroup("job"), indexed(index))
		}
		w.Advance(5 * time.Second)
		assert.Equal(t, len(w.API.Bindings()), 3)
		w.succeed("job-0")
		w.succeed("job-1")
		w.EndPod("job-2")
		w.Advance(10 * time.Minute) // the application is gone meanwhile
		replace := func(name string, want int) {
			t.Helper()
			w.AddPod(name, "cpu=1", inGroup("job"), indexed("2"))
			w.Advance(30 * time.Second)
			assert.Equal(t, len(w.API.Bindings()), want, name)
		}
		replace("again", 4)

		w.EndPod("again")
		w.Stop()
		m := shimtest.New(t, shimtest.Options{API: w.API})
		m.Start()
		w = groupWorld{m}
		w.Advance(time.Minute)
		replace("restarted", 5)

		w.EndPod("restarted")
		w.EndPod("job-0")
		w.Advance(5 * time.Second)
		replace("alone", 5)

		groups := w.API.Dynamic.Resource(resource).Namespace(metav1.NamespaceDefault)
		assert.NilError(t, groups.Delete(context.Background(), "job", metav1.DeleteOptions{}))
		w.Advance(5 * time.Second)
		w.Create(shimtest.PodGroupIn(resource, "job", 2)) // job-1 does not count for it
		w.Advance(30 * time.Second)
		assert.Equal(t, len(w.API.Bindings()), 5)
		w.AddPod("second", "cpu=1", inGroup("job"), indexed("1"))
		w.Advance(30 * time.Second)
		assert.Equal(t, len(w.API.Bindings()), 7)
	})
}
