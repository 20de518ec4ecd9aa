package shimtest_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim/shimtest"
)

// member is a pod of a task group of one CPU each.
func member(count int, policy string) shimtest.PodOption {
	return func(pod *v1.Pod) {
		pod.Annotations = map[string]string{
			pods.AnnotationTaskGroups: fmt.Sprintf(`[{"name": "workers", "minMember": %d, "minResource": {"cpu": "1"}}]`, count),
			pods.AnnotationTaskGroup:  "workers",
			pods.AnnotationPolicy:     policy,
		}
	}
}

// A gangWorld is a cluster that begins with node-1.
type gangWorld struct{ *shimtest.MockScheduler }

// inGangWorld plays a test in a new one.
func inGangWorld(t *testing.T, o shimtest.Options, room string, play func(t *testing.T, w gangWorld)) {
	synctest.Test(t, func(t *testing.T) {
		w := gangWorld{shimtest.New(t, o)}
		w.AddNode("node-1", room)
		w.Start()
		play(t, w)
	})
}

// gang adds pods of a gang of so many.
func (w gangWorld) gang(count int, policy string, names ...string) {
	for _, name := range names {
		w.AddPod(name, "cpu=1", member(count, policy))
	}
}

// restarted is the cluster with a scheduler that has started again. Before it starts, some pods come.
func (w gangWorld) restarted(t *testing.T, pods ...string) gangWorld {
	for _, name := range pods {
		w.AddPod(name, "cpu=1")
	}
	w.Stop()
	w = gangWorld{shimtest.New(t, shimtest.Options{API: w.API})}
	w.Start()
	return w
}

func holder(index int) string { return pods.PlaceholderName("app", "workers", index) }

// endHolders is the kubelet, which ends placeholders that were deleted. One of which the binding
// was taken back has never been there, and is gone already.
func (w gangWorld) endHolders(numbers ...int) {
	there := named(w.Expected())
	for _, n := range numbers {
		prefix := fmt.Sprintf("placeholder-%d ", n)
		if slices.ContainsFunc(there, func(line string) bool { return strings.HasPrefix(line, prefix) }) {
			w.EndPod(holder(n))
		}
	}
	w.Advance(5 * time.Second)
}

// named has the placeholders of a list by their number.
func named(lines []string) []string {
	for i := range lines {
		for n := range 10 {
			lines[i] = strings.Replace(lines[i], holder(n), fmt.Sprint("placeholder-", n), 1)
		}
	}
	slices.Sort(lines)
	return lines
}

// The placeholders of a gang are made when its first pod comes. When all are placed, its pods
// take their places, one for each that has ended.
func TestGang(t *testing.T) {
	inGangWorld(t, shimtest.Options{}, "cpu=2", func(t *testing.T, w gangWorld) {
		w.gang(3, "", "one")
		w.Advance(time.Second)
		assert.DeepEqual(t, named(w.Booked()), []string{"placeholder-0 node-1", "placeholder-1 node-1", "placeholder-2 -"})
		assert.Assert(t, slices.Contains(w.Events(), "one FailedScheduling: the placeholders of its application are not all placed"), "%v", w.Events())
		made := w.Pod(holder(0))
		assert.Equal(t, made.OwnerReferences[0].Name, "one")
		assert.Equal(t, made.Labels["applicationId"], "app")

		w.AddNode("node-2", "cpu=1")
		w.gang(3, "", "two")
		w.Advance(time.Second)
		assert.DeepEqual(t, named(w.API.Deleted()), []string{"placeholder-0", "placeholder-1"})
		assert.DeepEqual(t, named(w.Booked()), []string{"one -", "placeholder-0 node-1", "placeholder-1 node-1", "placeholder-2 node-2", "two -"})
		w.EndPod(holder(0))
		w.EndPod(holder(1))
		assert.DeepEqual(t, named(w.Booked()), []string{"one node-1", "placeholder-2 node-2", "two node-1"})

		// The last one is replaced as well, and nothing is made again.
		w.gang(3, "", "three")
		w.EndPod(holder(2))
		w.Advance(time.Minute)
		assert.DeepEqual(t, named(w.Booked()), []string{"one node-1", "three node-2", "two node-1"})
	})
}

// With the filters of kube-scheduler, a node that is full of placeholders refuses everything. What
// takes the place of one is asked about without it.
func TestGangOnFullNodes(t *testing.T) {
	inGangWorld(t, shimtest.Options{Feasibility: filters}, "cpu=2 pods=2", func(t *testing.T, w gangWorld) {
		w.AddNode("node-2", "cpu=1 pods=1")
		w.gang(3, "", "one", "three", "two")
		w.Advance(5 * time.Second)
		assert.DeepEqual(t, named(w.API.Deleted()), []string{"placeholder-0", "placeholder-1", "placeholder-2"})
		w.endHolders(0, 1, 2)
		for _, name := range []string{"one", "three", "two"} {
			assert.Assert(t, w.Pod(name).Spec.NodeName != "", "%v", w.Booked())
		}
	})
}

// Placeholders that were not placed in time end, and the pods run one by one.
func TestGangResumes(t *testing.T) {
	inGangWorld(t, shimtest.Options{}, "cpu=2", func(t *testing.T, w gangWorld) {
		w.gang(3, "placeholderTimeoutInSeconds=10", "one")
		w.gang(3, "", "two")
		w.Advance(11 * time.Second)
		assert.DeepEqual(t, named(w.API.Deleted()), []string{"placeholder-0", "placeholder-1", "placeholder-2"})
		w.EndPod(holder(0))
		assert.DeepEqual(t, named(w.Booked()), []string{"placeholder-1 node-1"})
		w.EndPod(holder(1))
		w.Advance(time.Minute)
		assert.DeepEqual(t, w.Booked(), []string{"one node-1", "two node-1"})
	})
}

// In the hard style the application fails: its pods are marked, and new ones of it are too until
// the old ones are gone.
func TestGangFails(t *testing.T) {
	inGangWorld(t, shimtest.Options{}, "cpu=2", func(t *testing.T, w gangWorld) {
		w.gang(3, "placeholderTimeoutInSeconds=10 gangSchedulingStyle=Hard", "one")
		w.Advance(11 * time.Second)
		one := w.Pod("one")
		assert.Equal(t, one.Status.Phase, v1.PodFailed)
		assert.Equal(t, one.Status.Reason, "ResourceReservationTimeout")
		w.gang(3, "", "late")
		w.Advance(time.Second)
		assert.Equal(t, w.Pod("late").Status.Phase, v1.PodFailed)
		w.EndPod(holder(0))
		w.EndPod(holder(1))
		w.Advance(time.Second)
		assert.DeepEqual(t, w.Booked(), []string{})

		w.gang(1, "", "again")
		w.Advance(time.Second)
		w.endHolders(0)
		assert.DeepEqual(t, w.Booked(), []string{"again node-1"})
	})
}

// A placeholder that ends by itself is deleted and made again, and so is one that could not be
// made at first.
func TestPlaceholdersAreMadeAgain(t *testing.T) {
	inGangWorld(t, shimtest.Options{}, "cpu=1", func(t *testing.T, w gangWorld) {
		w.API.Fail(shimtest.Faults{Create: func(string) error { return errors.New("quota of the namespace") }})
		w.gang(2, "", "one")
		w.Advance(time.Minute)
		assert.DeepEqual(t, w.Booked(), []string{})
		assert.Assert(t, w.API.Requests("create") < 20, "%d", w.API.Requests("create"))
		w.API.Fail(shimtest.Faults{})
		w.Advance(time.Minute)
		assert.DeepEqual(t, named(w.Booked()), []string{"placeholder-0 node-1", "placeholder-1 -"})
		w.ChangePod(holder(0), func(pod *v1.Pod) { pod.Status.Phase = v1.PodFailed })
		w.Advance(time.Second)
		w.EndPod(holder(0)) // its kubelet
		w.Advance(5 * time.Second)
		assert.DeepEqual(t, named(w.Booked()), []string{"placeholder-0-2 -", "placeholder-1 node-1"})
	})
}

// Placeholders end with the pods that they were made for.
func TestPlaceholdersEndWithTheirPods(t *testing.T) {
	inGangWorld(t, shimtest.Options{}, "cpu=1", func(t *testing.T, w gangWorld) {
		w.gang(2, "", "one")
		w.Advance(time.Second)
		w.DeletePod("one")
		w.Advance(5 * time.Second)
		assert.DeepEqual(t, named(w.API.Deleted()), []string{"one", "placeholder-0", "placeholder-1"})
		w.EndPod(holder(0))
		assert.DeepEqual(t, w.Booked(), []string{})
	})
}

// A restart goes on where it was: while placeholders are made, and while pods take their places.
func TestGangRestarts(t *testing.T) {
	for _, replaced := range []bool{false, true} {
		inGangWorld(t, shimtest.Options{}, "cpu=2", func(t *testing.T, w gangWorld) {
			w.gang(2, "", "one")
			w.Advance(time.Second)
			assert.DeepEqual(t, named(w.API.Deleted()), []string{"placeholder-0"})
			if replaced {
				w.endHolders(0)
			}
			w = w.restarted(t)
			w.Advance(time.Second)
			if !replaced {
				w.endHolders(0)
			}
			w.gang(2, "", "two")
			w.Advance(5 * time.Second)
			w.endHolders(0)
			w.endHolders(1)
			w.Advance(time.Minute)
			assert.DeepEqual(t, named(w.Booked()), []string{"one node-1", "two node-1"})
		})
	}
}

// After a restart the oldest pod may be another one than before, of the same second, which says
// nothing of a gang. What the placeholders say counts: they time out, and are not forgotten.
func TestGangIsRemembered(t *testing.T) {
	inGangWorld(t, shimtest.Options{}, "cpu=2", func(t *testing.T, w gangWorld) {
		w.gang(3, "placeholderTimeoutInSeconds=10", "one")
		w.Advance(500 * time.Millisecond)
		w = w.restarted(t, "before-one")
		w.Advance(5 * time.Second)
		assert.DeepEqual(t, named(w.Booked()), []string{"placeholder-0 node-1", "placeholder-1 node-1", "placeholder-2 -"})
		w.Advance(6 * time.Second)
		w.endHolders(0, 1)
		assert.DeepEqual(t, w.Booked(), []string{"before-one node-1", "one node-1"})
	})
}

// Of two gangs the one whose first pod came first is first to have all of its placeholders, also
// within a second, after a restart, and whatever they are called.
func TestGangsOfOneSecond(t *testing.T) {
	for _, names := range [][]string{{"a", "b"}, {"b", "a"}} {
		for _, restarts := range []bool{false, true} {
			inGangWorld(t, shimtest.Options{}, "memory=1Gi", func(t *testing.T, w gangWorld) {
				for i, name := range names {
					time.Sleep(30 * time.Millisecond)
					w.AddPod(name, "cpu=1", member(2, ""), shimtest.Application(name), func(pod *v1.Pod) { pod.ResourceVersion = fmt.Sprint(100 + i) })
				}
				w.Advance(2 * time.Second)
				if restarts {
					w = w.restarted(t)
				}
				w.ChangeNode("node-1", func(node *v1.Node) { node.Status.Allocatable = shimtest.Quantities("cpu=2 pods=10") })
				w.Advance(5 * time.Second)
				bound := w.API.Bindings()
				assert.Equal(t, len(bound), 2)
				for _, pod := range bound { // a placeholder, or the member that took its place before it was bound
					assert.Assert(t, strings.HasPrefix(pod, "tg-"+names[0]+"-") || pod == names[0]+" node-1", "%v: %q", names, bound)
				}
			})
		}
	}
}

// The configuration says what placeholders run, or that there are none: then the pods run one by one.
func TestGangsAreConfigured(t *testing.T) {
	for _, none := range []bool{false, true} {
		configured := shim.Options{Config: shim.Configuration{NoGangs: none, Image: "pause:own"}}
		inGangWorld(t, shimtest.Options{Shim: configured}, "cpu=2", func(t *testing.T, w gangWorld) {
			w.gang(3, "", "one")
			w.Advance(time.Second)
			if none {
				assert.DeepEqual(t, w.Booked(), []string{"one node-1"})
				return
			}
			assert.Equal(t, w.Pod(holder(0)).Spec.Containers[0].Image, "pause:own")
		})
	}
}
