package simulation

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/drain"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	ft "github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/frameworktest"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim/shimtest"
)

// bindsOnly has nothing bound but the first so many pods.
func (w *migrating) bindsOnly(first int) {
	w.API.Fail(shimtest.Faults{Bind: func(*v1.Pod, string) (bool, error) {
		if first--; first < 0 {
			return false, errDown
		}
		return true, nil
	}})
}

// gang has the pod group train need all of its four pods.
func (w *migrating) gang() {
	w.API.Serve(shimtest.PodGroupResource.GroupVersion(), shimtest.PodGroupResource.Resource)
	w.Put(shimtest.NewPodGroup("train", 4))
}

func (w *migrating) reservations() (all []*v1.Pod) {
	return slices.DeleteFunc(w.pods(), func(p *v1.Pod) bool { return !pods.IsReservation(p) })
}

// TestGangWithoutAllPlaces: three of four places can be had. None of the gang is evicted, the places are given back, the node says why, and it is
// tried again after a pause that doubles. When the fourth place is there, all leave.
func TestGangWithoutAllPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := startDrain(t, "cpu=10 memory=10Gi pods=10", inTrain)
		w.gang()
		w.bindsOnly(3)
		w.play(time.Minute, 4)
		assert.Equal(t, len(w.reservations()), 4)
		assert.Assert(t, strings.Contains(w.drainOf("n0").Kept(), ": Running WaitForGroup, "), w.drainOf("n0").Kept())
		w.play(4*time.Minute+10*time.Second, 4) // which is the time to live
		assert.Equal(t, len(w.reservations()), 0)
		w.play(5*time.Second, 4)
		said := w.drainOf("n0")
		assert.Equal(t, said.State, drain.Blocked)
		assert.Assert(t, strings.Contains(said.Kept(), "its gang needs 4 pods and has 4, and pod web-"), said.Kept())
		assert.Assert(t, strings.Contains(said.Kept(), ": Failed Timeout, its time to live is over after 5m0s"), said.Kept())
		w.bindsOnly(0)
		w.play(time.Hour, 4)
		assert.Equal(t, len(w.evicted), 0)
		assert.Assert(t, len(w.seen) <= 4*12, "%d", len(w.seen))
		w.bindsOnly(1000)
		w.play(20*time.Minute, 4)
		assert.Equal(t, w.drainOf("n0").State, drain.Drained, "%+v", w.drainOf("n0"))
		assert.Equal(t, len(w.evicted), 4)
		assert.Equal(t, len(w.wrong), 0, "%v", w.wrong)
	})
}

// TestGangAndARestart: the descheduler ends, or has a new policy, while three of four places are there. The next one goes on, and the gang leaves
// as a whole.
func TestGangAndARestart(t *testing.T) {
	policy := example(t, "recipes/maintenance.policy")
	for name, restart := range map[string]func(*migrating, func()){
		"of the process": func(w *migrating, stop func()) {
			stop()
			w.run(policy, unlimited)
		},
		"with another policy": func(w *migrating, _ func()) {
			assert.NilError(w.t, w.d.Reload(w.t.Context(), load(w.t, strings.Replace(policy, "perWorkload: 1", "perWorkload: 2", 1))))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newMigrating(t, migratable(framework.Objects{
					Nodes: two(""), Pods: alike(4, "web", "n0", "cpu=1", inTrain),
				}), unlimited)
				w.gang()
				stop := w.run(policy, unlimited)
				w.Advance(time.Second)
				w.bindsOnly(3)
				w.ChangeNode("n0", maintained)
				w.play(time.Minute, 4)
				before := w.reservations()
				assert.Equal(t, len(before), 4)
				restart(w, stop)
				w.bindsOnly(1000)
				w.play(10*time.Minute, 4)
				assert.Equal(t, w.drainOf("n0").State, drain.Drained, "%+v", w.drainOf("n0"))
				assert.Equal(t, len(w.evicted), 4)
				assert.Equal(t, len(w.seen), 4)
				assert.Equal(t, len(w.wrong), 0, "%v", w.wrong)
			})
		})
	}
}

// TestGangOnTwoNodesThatDrain: two nodes drain at once, and a gang has two pods on each. Those of a node leave together, to nodes that do not
// drain.
func TestGangOnTwoNodesThatDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = "cpu=4 memory=10Gi pods=10"
		w := newMigrating(t, migratable(framework.Objects{
			Nodes: []*v1.Node{ft.Node("n0", size, ""), ft.Node("n1", size, ""), ft.Node("n2", size, ""), ft.Node("n3", size, "")},
			Pods:  append(alike(2, "one", "n0", "cpu=1", inTrain), alike(2, "two", "n1", "cpu=1", inTrain)...),
		}), unlimited)
		w.gang()
		w.run(strings.Replace(example(t, "recipes/maintenance.policy"), "taints: [maintenance]", "maxNodes: 2, taints: [maintenance]", 1), unlimited)
		w.Advance(time.Second)
		w.ChangeNode("n0", maintained)
		w.ChangeNode("n1", maintained)
		w.play(20*time.Minute, 4)
		for _, node := range []string{"n0", "n1"} {
			assert.Equal(t, w.drainOf(node).State, drain.Drained, "%+v", w.drainOf(node))
		}
		assert.Equal(t, len(w.evicted), 4)
		assert.Equal(t, len(w.wrong), 0, "%v", w.wrong)
		for _, p := range w.pods() {
			assert.Assert(t, p.Spec.NodeName > "n1", p.Name)
		}
	})
}

// TestNodeOfAGangIsDeleted: the node goes away while its gang waits for places. All jobs end, and no place is kept.
func TestNodeOfAGangIsDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := startDrain(t, "cpu=10 memory=10Gi pods=10", inTrain)
		w.gang()
		w.bindsOnly(3)
		w.play(time.Minute, 4)
		w.RemoveNode("n0")
		for i := range 4 { // by the collector of garbage
			w.EndPod(fmt.Sprint("web-", i))
		}
		w.play(10*time.Second, 4)
		assert.Equal(t, len(w.reservations()), 0)
		for _, job := range w.all() {
			assert.Assert(t, job.Ended(), "%+v", job.Status)
		}
		assert.Equal(t, len(w.evicted), 0)
	})
}
