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

func holder(index int) string { return pods.PlaceholderName("app", "workers", index) }

// endHolders is the kubelet, which ends placeholders that were deleted. One of which the binding
// was taken back has never been there, and is gone already.
func endHolders(m *shimtest.MockScheduler, numbers ...int) {
	there := named(m.Expected())
	for _, n := range numbers {
		prefix := fmt.Sprintf("placeholder-%d ", n)
		if slices.ContainsFunc(there, func(line string) bool { return strings.HasPrefix(line, prefix) }) {
			m.EndPod(holder(n))
		}
	}
	m.Advance(5 * time.Second)
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
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{})
		m.AddNode("node-1", "cpu=2")
		m.AddPod("one", "cpu=1", member(3, ""))
		m.Start()
		m.Advance(time.Second)
		assert.DeepEqual(t, named(m.Booked()), []string{"placeholder-0 node-1", "placeholder-1 node-1", "placeholder-2 -"})
		assert.Assert(t, slices.Contains(m.Events(), "one FailedScheduling: the placeholders of its application are not all placed"), "%v", m.Events())
		made := m.Pod(holder(0))
		assert.Equal(t, made.OwnerReferences[0].Name, "one")
		assert.Equal(t, made.Labels["applicationId"], "app")

		m.AddNode("node-2", "cpu=1")
		m.AddPod("two", "cpu=1", member(3, ""))
		m.Advance(time.Second)
		assert.DeepEqual(t, named(m.API.Deleted()), []string{"placeholder-0", "placeholder-1"})
		assert.DeepEqual(t, named(m.Booked()), []string{"one -", "placeholder-0 node-1", "placeholder-1 node-1", "placeholder-2 node-2", "two -"})
		m.EndPod(holder(0))
		m.EndPod(holder(1))
		assert.DeepEqual(t, named(m.Booked()), []string{"one node-1", "placeholder-2 node-2", "two node-1"})

		// The last one is replaced as well, and nothing is made again.
		m.AddPod("three", "cpu=1", member(3, ""))
		m.EndPod(holder(2))
		m.Advance(time.Minute)
		assert.DeepEqual(t, named(m.Booked()), []string{"one node-1", "three node-2", "two node-1"})
	})
}

// With the filters of kube-scheduler, a node that is full of placeholders refuses everything. What
// takes the place of one is asked about without it.
func TestGangOnFullNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{Feasibility: filters})
		m.AddNode("node-1", "cpu=2 pods=2")
		m.AddNode("node-2", "cpu=1 pods=1")
		m.Start()
		for _, name := range []string{"one", "three", "two"} {
			m.AddPod(name, "cpu=1", member(3, ""))
		}
		m.Advance(5 * time.Second)
		assert.DeepEqual(t, named(m.API.Deleted()), []string{"placeholder-0", "placeholder-1", "placeholder-2"})
		endHolders(m, 0, 1, 2)
		for _, name := range []string{"one", "three", "two"} {
			assert.Assert(t, m.Pod(name).Spec.NodeName != "", "%v", m.Booked())
		}
	})
}

// Placeholders that were not placed in time end, and the pods run one by one.
func TestGangResumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{})
		m.AddNode("node-1", "cpu=2")
		m.Start()
		m.AddPod("one", "cpu=1", member(3, "placeholderTimeoutInSeconds=10"))
		m.AddPod("two", "cpu=1", member(3, ""))
		m.Advance(11 * time.Second)
		assert.DeepEqual(t, named(m.API.Deleted()), []string{"placeholder-0", "placeholder-1", "placeholder-2"})
		m.EndPod(holder(0))
		assert.DeepEqual(t, named(m.Booked()), []string{"placeholder-1 node-1"})
		m.EndPod(holder(1))
		m.Advance(time.Minute)
		assert.DeepEqual(t, m.Booked(), []string{"one node-1", "two node-1"})
	})
}

// In the hard style the application fails: its pods are marked, and new ones of it are too until
// the old ones are gone.
func TestGangFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{})
		m.AddNode("node-1", "cpu=2")
		m.Start()
		m.AddPod("one", "cpu=1", member(3, "placeholderTimeoutInSeconds=10 gangSchedulingStyle=Hard"))
		m.Advance(11 * time.Second)
		one := m.Pod("one")
		assert.Equal(t, one.Status.Phase, v1.PodFailed)
		assert.Equal(t, one.Status.Reason, "ResourceReservationTimeout")
		m.AddPod("late", "cpu=1", member(3, ""))
		m.Advance(time.Second)
		assert.Equal(t, m.Pod("late").Status.Phase, v1.PodFailed)
		m.EndPod(holder(0))
		m.EndPod(holder(1))
		m.Advance(time.Second)
		assert.DeepEqual(t, m.Booked(), []string{})

		m.AddPod("again", "cpu=1", member(1, ""))
		m.Advance(time.Second)
		endHolders(m, 0)
		assert.DeepEqual(t, m.Booked(), []string{"again node-1"})
	})
}

// A placeholder that ends by itself is deleted and made again, and so is one that could not be
// made at first.
func TestPlaceholdersAreMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{})
		m.AddNode("node-1", "cpu=1")
		m.API.Fail(shimtest.Faults{Create: func(string) error { return errors.New("quota of the namespace") }})
		m.Start()
		m.AddPod("one", "cpu=1", member(2, ""))
		m.Advance(time.Minute)
		assert.DeepEqual(t, m.Booked(), []string{})
		assert.Assert(t, m.API.Requests("create") < 20, "%d", m.API.Requests("create"))
		m.API.Fail(shimtest.Faults{})
		m.Advance(time.Minute)
		assert.DeepEqual(t, named(m.Booked()), []string{"placeholder-0 node-1", "placeholder-1 -"})
		m.ChangePod(holder(0), func(pod *v1.Pod) { pod.Status.Phase = v1.PodFailed })
		m.Advance(time.Second)
		m.EndPod(holder(0)) // its kubelet
		m.Advance(5 * time.Second)
		assert.DeepEqual(t, named(m.Booked()), []string{"placeholder-0-2 -", "placeholder-1 node-1"})
	})
}

// Placeholders end with the pods that they were made for.
func TestPlaceholdersEndWithTheirPods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{})
		m.AddNode("node-1", "cpu=1")
		m.Start()
		m.AddPod("one", "cpu=1", member(2, ""))
		m.Advance(time.Second)
		m.DeletePod("one")
		m.Advance(5 * time.Second)
		assert.DeepEqual(t, named(m.API.Deleted()), []string{"one", "placeholder-0", "placeholder-1"})
		m.EndPod(holder(0))
		assert.DeepEqual(t, m.Booked(), []string{})
	})
}

// A restart goes on where it was: while placeholders are made, and while pods take their places.
func TestGangRestarts(t *testing.T) {
	for _, replaced := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			m := shimtest.New(t, shimtest.Options{})
			m.AddNode("node-1", "cpu=2")
			m.Start()
			m.AddPod("one", "cpu=1", member(2, ""))
			m.Advance(time.Second)
			assert.DeepEqual(t, named(m.API.Deleted()), []string{"placeholder-0"})
			if replaced {
				endHolders(m, 0)
			}
			m.Stop()
			m = shimtest.New(t, shimtest.Options{API: m.API})
			m.Start()
			m.Advance(time.Second)
			if !replaced {
				endHolders(m, 0)
			}
			m.AddPod("two", "cpu=1", member(2, ""))
			m.Advance(5 * time.Second)
			endHolders(m, 0)
			endHolders(m, 1)
			m.Advance(time.Minute)
			assert.DeepEqual(t, named(m.Booked()), []string{"one node-1", "two node-1"})
		})
	}
}

// After a restart the oldest pod may be another one than before, of the same second, which says
// nothing of a gang. What the placeholders say counts: they time out, and are not forgotten.
func TestGangIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := shimtest.New(t, shimtest.Options{})
		m.AddNode("node-1", "cpu=2")
		m.Start()
		m.AddPod("one", "cpu=1", member(3, "placeholderTimeoutInSeconds=10"))
		m.Advance(500 * time.Millisecond)
		m.AddPod("before-one", "cpu=1")
		m.Stop()
		m = shimtest.New(t, shimtest.Options{API: m.API})
		m.Start()
		m.Advance(5 * time.Second)
		assert.DeepEqual(t, named(m.Booked()), []string{"placeholder-0 node-1", "placeholder-1 node-1", "placeholder-2 -"})
		m.Advance(6 * time.Second)
		endHolders(m, 0, 1)
		assert.DeepEqual(t, m.Booked(), []string{"before-one node-1", "one node-1"})
	})
}

// The configuration says what placeholders run, or that there are none: then the pods run one by one.
func TestGangsAreConfigured(t *testing.T) {
	for _, none := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			m := shimtest.New(t, shimtest.Options{Shim: shim.Options{Config: shim.Configuration{NoGangs: none, Image: "pause:own"}}})
			m.AddNode("node-1", "cpu=2")
			m.Start()
			m.AddPod("one", "cpu=1", member(3, ""))
			m.Advance(time.Second)
			if none {
				assert.DeepEqual(t, m.Booked(), []string{"one node-1"})
				return
			}
			assert.Equal(t, m.Pod(holder(0)).Spec.Containers[0].Image, "pause:own")
		})
	}
}
