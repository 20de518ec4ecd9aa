package simulation

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	ft "github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/frameworktest"
)

// wait adds pods that wait, some of them too large for any node.
func (w *world) wait(r *rand.Rand) {
	for i := range 1 + r.IntN(6) {
		app := fmt.Sprint("app", 20+i)
		p := ft.Pod("ns0/"+app, "", fmt.Sprintf("cpu=%dm memory=%dMi", 200*(1+r.IntN(12)), 100*(1+r.IntN(20))),
			ft.Labelled("app="+app), ft.Owned("ReplicaSet/"+app), ft.Phase(v1.PodPending), ours(app, queueNames[r.IntN(len(queueNames))]))
		p.Annotations[slot] = p.Namespace + "/" + p.Name
		w.objects.Pods = append(w.objects.Pods, p)
	}
}

// schedule has the core place pods that wait, as the scheduler does between two cycles, and
// returns how many it placed.
func (w *world) schedule() (placed int) {
	w.t.Helper()
	for i, p := range w.objects.Pods {
		if p.Spec.NodeName != "" {
			continue
		}
		c := newLanding(w.t, w.queues, w.objects.Pods)
		c.Sync(framework.NewSnapshot(w.objects, w.clock.Now()))
		to, err := c.Place(p, framework.Choice{})
		if err != nil {
			continue
		}
		now := metav1.NewTime(w.clock.Now())
		runs := p.DeepCopy()
		runs.Spec.NodeName = to.Node
		runs.Status = v1.PodStatus{Phase: v1.PodRunning, StartTime: &now, Conditions: isReady}
		w.objects.Pods[i] = runs
		placed++
	}
	return placed
}

// TestWaitingPods plays random clusters in which pods wait. The core gives them the room that
// evictions make, as the scheduler would; replacements still find their places, no
// pod that waits is evicted, and all laws hold.
func TestWaitingPods(t *testing.T) {
	placed, evictions, waits := 0, 0, 0
	for _, seed := range seeds(t, clusters(t)/3) {
		s := scenarioOf(seed)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := s.world(t, false)
			w.wait(rand.New(rand.NewPCG(seed, 5)))
			w.schedule() // those that had room before the first cycle
			for range 3 {
				before := w.objects
				report, _ := w.cycle(w.d)
				evictions += len(report.Evictions)
				all := byUID(before.Pods)
				for _, e := range report.Evictions {
					assert.Check(t, all[e.UID] != nil && all[e.UID].Spec.NodeName != "", "%s waits", e.Pod)
				}
				w.settle(report)
				for _, wrong := range w.broken(report, before, w.objects) {
					t.Error(wrong)
				}
				placed += w.schedule()
				for _, n := range w.objects.Nodes {
					for _, wrong := range overfull(n, w.objects.Pods) {
						t.Error(wrong)
					}
				}
			}
			for _, p := range w.objects.Pods {
				if p.Spec.NodeName == "" {
					waits++
				}
			}
			if t.Failed() {
				t.Log(s.policy)
			}
		})
	}
	assert.Assert(t, placed > 0 && evictions > 20 && waits > 0, "%d placed, %d evictions, %d wait", placed, evictions, waits)
	t.Logf("%d placed in the room of %d evictions, and %d wait", placed, evictions, waits)
}
