package shimtest_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim/shimtest"
)

// inSmallWorld plays a test with the filters of kube-scheduler and a gang of three pods: node-1 has
// room for two of them.
func inSmallWorld(t *testing.T, play func(t *testing.T, w gangWorld)) {
	inGangWorld(t, shimtest.Options{Feasibility: filters}, "cpu=2", func(t *testing.T, w gangWorld) {
		w.gang(3, "", "one")
		w.Advance(time.Second)
		play(t, w)
	})
}

// deleted ends the placeholders that were deleted, as their kubelets do.
func (w gangWorld) deleted() {
	for _, line := range w.Expected() {
		name, _, _ := strings.Cut(line, " ")
		if w.Pod(name).DeletionTimestamp != nil {
			w.EndPod(name)
		}
	}
	w.Advance(5 * time.Second)
}

// lose takes a node away, and a minute later some pods on it, as controllers do.
func (w gangWorld) lose(node string, pods ...string) {
	w.RemoveNode(node)
	w.Advance(time.Minute)
	for _, pod := range pods {
		w.EndPod(pod)
	}
	w.Advance(5 * time.Second)
}

// A node is lost before all placeholders are placed: those on it are made again, and no member
// runs before there is room for all.
func TestGangLosesNodeWhileItGathers(t *testing.T) {
	inSmallWorld(t, func(t *testing.T, w gangWorld) {
		w.lose("node-1", holder(0), holder(1))
		assert.DeepEqual(t, named(w.Booked()), []string{"placeholder-0-2 -", "placeholder-1-2 -", "placeholder-2 -"})
		w.AddNode("node-2", "cpu=3")
		w.Advance(5 * time.Second)
		w.deleted()
		assert.Equal(t, w.Pod("one").Spec.NodeName, "node-2")
		assert.Equal(t, len(w.Booked()), 3)
	})
}

// A node that is away for a moment has its placeholders still: none is made twice.
func TestGangWhoseNodeComesBack(t *testing.T) {
	inSmallWorld(t, func(t *testing.T, w gangWorld) {
		w.lose("node-1")
		w.AddNode("node-1", "cpu=2")
		w.Advance(5 * time.Second)
		assert.DeepEqual(t, named(w.Booked()), []string{"placeholder-0 node-1", "placeholder-1 node-1", "placeholder-2 -"})
		w.AddNode("node-2", "cpu=1")
		w.Advance(5 * time.Second)
		w.deleted()
		assert.Assert(t, w.Pod("one").Spec.NodeName != "")
		assert.Equal(t, len(w.Booked()), 3)
	})
}

// A node is lost while a pod waits for the end of its placeholder there: the pod takes the place
// of another one, or waits for room, and runs once.
func TestGangLosesNodeWhilePodsReplace(t *testing.T) {
	inSmallWorld(t, func(t *testing.T, w gangWorld) {
		w.AddNode("node-2", "cpu=1")
		w.Advance(5 * time.Second)
		assert.DeepEqual(t, named(w.API.Deleted()), []string{"placeholder-0"})
		assert.Assert(t, slices.Contains(named(w.Booked()), "one -"), "%v", w.Booked())
		w.lose("node-1", holder(0), holder(1))
		w.deleted()
		assert.DeepEqual(t, w.Booked(), []string{"one node-2"})

		w.gang(3, "", "two", "three")
		w.Advance(5 * time.Second)
		assert.DeepEqual(t, w.Booked(), []string{"one node-2", "three -", "two -"})
		w.AddNode("node-3", "cpu=2")
		w.Advance(5 * time.Second)
		assert.DeepEqual(t, w.Booked(), []string{"one node-2", "three node-3", "two node-3"})
	})
}

// The pod may not run where its placeholder is, and the node is lost on which room is kept for it:
// it waits, and is not lost.
func TestGangLosesNodeOfReplacement(t *testing.T) {
	inGangWorld(t, shimtest.Options{Feasibility: filters}, "cpu=1", func(t *testing.T, w gangWorld) {
		w.AddPod("one", "cpu=1", member(1, ""), shimtest.Selects("node-2"))
		w.Advance(5 * time.Second)
		assert.DeepEqual(t, named(w.Booked()), []string{"one -", "placeholder-0 node-1"})
		w.AddNode("node-2", "cpu=1")
		w.Advance(5 * time.Second)
		assert.DeepEqual(t, named(w.API.Deleted()), []string{"placeholder-0"})
		w.RemoveNode("node-2")
		w.endHolders(0)
		assert.DeepEqual(t, w.Booked(), []string{"one -"})
		w.AddNode("node-2", "cpu=1")
		w.Advance(5 * time.Second)
		assert.DeepEqual(t, w.Booked(), []string{"one node-2"})
	})
}

// A node is lost on which members run: what takes their place is placed like any other pod.
func TestGangLosesNodeWhenItRuns(t *testing.T) {
	inSmallWorld(t, func(t *testing.T, w gangWorld) {
		w.AddNode("node-2", "cpu=1")
		w.gang(3, "", "three", "two")
		w.Advance(5 * time.Second)
		w.deleted()
		assert.Equal(t, len(w.Booked()), 3)
		on := func(pod *v1.Pod) bool { return pod.Spec.NodeName == "node-2" }
		var lost string
		for _, name := range []string{"one", "three", "two"} {
			if on(w.Pod(name)) {
				lost = name
			}
		}
		w.lose("node-2", lost)
		w.gang(3, "", "again")
		w.Advance(5 * time.Second)
		assert.Assert(t, slices.Contains(w.Booked(), "again -"), "%v", w.Booked())
		w.AddNode("node-3", "cpu=1")
		w.Advance(5 * time.Second)
		assert.Equal(t, w.Pod("again").Spec.NodeName, "node-3")
	})
}
