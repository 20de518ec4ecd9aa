package simulation

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/drain"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	ft "github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/frameworktest"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/migration"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim/shimtest"
)

// node is a node as the API server has it.
func (w *migrating) node(name string) *v1.Node {
	n, err := w.API.CoreV1().Nodes().Get(context.Background(), name, metav1.GetOptions{})
	assert.NilError(w.t, err)
	return n
}

// drainOf is what a node says of its drain.
func (w *migrating) drainOf(name string) *drain.Status {
	s := drain.Of(w.node(name))
	assert.Assert(w.t, s != nil, "node %s says nothing of a drain", name)
	return s
}

var errDown = errors.New("nothing is bound")

func maintained(n *v1.Node) { ft.Taint(n, "maintenance", "disk", v1.TaintEffectNoSchedule) }

// startDrain runs the recipe of the document for a drain, on a cluster of two nodes of which the first has four pods of one workload.
func startDrain(t *testing.T, second string, changes ...func(*v1.Pod)) *migrating {
	w := newMigrating(t, migratable(framework.Objects{
		Nodes: []*v1.Node{ft.Node("n0", "cpu=10 memory=10Gi pods=10", ""), ft.Node("n1", second, "")}, Pods: alike(4, "web", "n0", "cpu=1", changes...),
	}), unlimited)
	w.run(example(t, "recipes/maintenance.policy"), unlimited)
	w.Advance(time.Second)
	w.ChangeNode("n0", maintained)
	w.Advance(10 * time.Millisecond)
	return w
}

// TestDrainReservesFirst: each pod leaves when a place for its replacement is reserved, and the drain closes.
func TestDrainReservesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := startDrain(t, "cpu=10 memory=10Gi pods=10")
		s := w.drainOf("n0")
		assert.Equal(t, s.State, drain.Draining)
		assert.Equal(t, s.Left, 4)
		w.play(30*time.Minute, 2)
		assert.Equal(t, w.drainOf("n0").State, drain.Drained, "%+v", w.drainOf("n0"))
		assert.Equal(t, len(w.evicted), 4)
		assert.Equal(t, len(w.wrong), 0, "%v", w.wrong)
		for _, p := range w.pods() {
			assert.Equal(t, p.Spec.NodeName, "n1", p.Name)
		}
	})
}

// TestDrainWithoutAPlace: pods with nowhere to go stay, and the node says so.
func TestDrainWithoutAPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := startDrain(t, "cpu=500m memory=10Gi pods=10")
		w.play(30*time.Minute, 0)
		s := w.drainOf("n0")
		assert.Equal(t, s.State, drain.Blocked)
		assert.Equal(t, s.Left, 4)
		assert.Assert(t, strings.HasPrefix(s.Pods[0].Why, "landing: "), s.Pods[0].Why)
		assert.Equal(t, len(w.evicted), 0)
	})
}

// TestDrainTakesJobsBack: when the taint is taken away, a job that has not evicted its pod ends without that, and leaves no reservation.
func TestDrainTakesJobsBack(t *testing.T) {
	for name, closed := range map[string]bool{"before it begins": false, "while it waits for its place": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := startDrain(t, "cpu=10 memory=10Gi pods=10")
				jobs := w.all()
				assert.Equal(t, len(jobs), 1) // the recipe has one of a workload at a time
				if closed {
					w.API.Fail(shimtest.Faults{Bind: func(*v1.Pod, string) (bool, error) { return false, errDown }})
					w.Advance(11 * time.Second)
					assert.Assert(t, slices.ContainsFunc(w.pods(), pods.IsReservation))
					said := w.drainOf("n0").Pods
					i := slices.IndexFunc(said, func(p drain.Pod) bool { return p.Pod == namespace+"/"+jobs[0].Spec.PodRef.Name })
					assert.Assert(t, strings.HasPrefix(said[i].Why, "job "+jobs[0].Name+": Running"), said[i].Why)
				}
				w.ChangeNode("n0", func(n *v1.Node) { n.Spec.Taints = nil })
				w.Advance(time.Second)
				job := w.job(jobs[0].Name)
				assert.Equal(t, job.Status.Phase, migration.Aborted)
				assert.Equal(t, job.Status.Reason, migration.Withdrawn)
				w.play(30*time.Minute, 0)
				assert.Equal(t, len(w.evicted), 0)
				assert.Assert(t, drain.Of(w.node("n0")) == nil)
				for _, p := range w.pods() {
					assert.Assert(t, !pods.IsReservation(p) && p.Spec.NodeName == "n0", p.Name)
				}
			})
		})
	}
}

// inTrain makes a pod one of a gang.
func inTrain(p *v1.Pod) { p.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: new("train")} }

// TestGangsMigrateTogether: all pods of a gang leave when all have a place reserved, though the recipe lets one of a workload go at a time.
func TestGangsMigrateTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := startDrain(t, "cpu=10 memory=10Gi pods=10", inTrain)
		w.API.Serve(shimtest.PodGroupResource.GroupVersion(), shimtest.PodGroupResource.Resource)
		w.Put(shimtest.NewPodGroup("train", 4))
		assert.Equal(t, len(w.all()), 4)
		w.play(10*time.Minute, 4)
		assert.Equal(t, w.drainOf("n0").State, drain.Drained, "%+v", w.drainOf("n0"))
		assert.Equal(t, len(w.evicted), 4)
		assert.Equal(t, len(w.wrong), 0, "%v", w.wrong)
		for _, p := range w.pods() {
			assert.Equal(t, p.Spec.NodeName, "n1", p.Name)
		}
	})
}

// TestGangsMigrateOneByOne: where there is no room for all, a pod of a gang migrates as long as enough of the gang run. Otherwise all stay, and
// the node says so.
func TestGangsMigrateOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := startDrain(t, "cpu=3 memory=10Gi pods=10", inTrain)
		w.play(20*time.Minute, 0)
		s := w.drainOf("n0")
		assert.Equal(t, s.State, drain.Blocked)
		assert.Equal(t, s.Pods[0].Why, "its gang needs 4 pods and has 4, and pod web-3 of its gang stays: "+
			"landing: its replacement would run nowhere: refused on 1 node: node(s) had untolerated taint(s) (1 node)")
		w.API.Serve(shimtest.PodGroupResource.GroupVersion(), shimtest.PodGroupResource.Resource)
		w.Put(shimtest.NewPodGroup("train", 3))
		w.play(40*time.Minute, 2)
		assert.Equal(t, w.drainOf("n0").Left, 1, "%+v", w.drainOf("n0"))
		assert.Equal(t, len(w.evicted), 3)
		assert.Equal(t, len(w.wrong), 0, "%v", w.wrong)
	})
}
