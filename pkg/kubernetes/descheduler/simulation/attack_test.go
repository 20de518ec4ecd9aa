package simulation

import (
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
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/migration"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim/shimtest"
)

// drainPolicy is a policy of one profile that drains nodes with the taint maintenance.
func drainPolicy(profile, taint, evict, more string) string {
	text := "apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\nprofiles:\n"
	return text + drainProfile(profile, taint, evict, more)
}

func drainProfile(profile, taint, evict, more string) string {
	return "- name: " + profile + "\n  pluginConfig:\n  - {name: NodeProblem, args: {taints: [" + taint + "]}}\n" + more +
		"  plugins:\n    controller: {enabled: [NodeProblem]}\n    evict: {enabled: [" + evict + "]}\n"
}

// bySoftly has jobs ask the owners of pods, any number of a workload.
const bySoftly = `  - name: MigrationController
    args: {evictionPolicy: SoftEviction, defaultJobTTL: 0s, skipCheckExpectedReplicas: true, maxMigratingPerNode: 10, maxMigratingPerWorkload: 10, maxUnavailablePerWorkload: 10, objectLimiters: {workload: {duration: 0s}}}
`

// attacked is a cluster of two nodes, of which the first has four pods of one workload, with a descheduler.
func attacked(t *testing.T, policy string, changes ...func(*v1.Pod)) (w *migrating, stop func()) {
	w = newMigrating(t, migratable(framework.Objects{
		Nodes: []*v1.Node{ft.Node("n0", "cpu=10 memory=10Gi pods=10", ""), ft.Node("n1", "cpu=10 memory=10Gi pods=10", "")}, Pods: alike(4, "web", "n0", "cpu=1", changes...),
	}), unlimited)
	stop = w.run(policy, unlimited)
	w.Advance(time.Second)
	return w, stop
}

// taint has the first node in maintenance, or not.
func (w *migrating) taint(on bool) {
	w.ChangeNode("n0", func(n *v1.Node) {
		if n.Spec.Taints = nil; on {
			maintained(n)
		}
	})
}

// asked is how many owners are asked to end their pods.
func (w *migrating) asked() (count int) {
	for _, p := range w.pods() {
		if p.Annotations[migration.AnnotationSoftEviction] != "" {
			count++
		}
	}
	return count
}

// leftovers are reservations, and jobs that have not ended.
func (w *migrating) leftovers() (all []string) {
	for _, p := range w.pods() {
		if pods.IsReservation(p) && p.DeletionTimestamp == nil {
			all = append(all, p.Name)
		}
	}
	for _, job := range w.all() {
		if !job.Ended() {
			all = append(all, job.Name)
		}
	}
	return all
}

// TestTaintThatFlaps: a taint that comes and goes each second for two minutes. Each pod that leaves has its place before, and in the end nothing is
// left over and the node is as it was.
func TestTaintThatFlaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := attacked(t, example(t, "recipes/maintenance.policy"))
		for i := range 120 {
			w.taint(i%2 == 0)
			w.Advance(time.Second)
			if i%10 == 9 {
				w.turn()
			}
		}
		w.taint(false)
		w.play(30*time.Minute, 2)
		assert.Equal(t, len(w.wrong), 0, "%v", w.wrong)
		assert.Equal(t, len(w.leftovers()), 0, "%v", w.leftovers())
		n := w.node("n0")
		assert.Assert(t, drain.Of(n) == nil && !n.Spec.Unschedulable, "%+v", n)
	})
}

// TestDrainLosesMigrationController: in the middle of a drain the policy, or that of the next process, evicts in another way. Jobs end at once with
// their reservations, a report says so, and the drain goes on.
func TestDrainLosesMigrationController(t *testing.T) {
	for name, restarts := range map[string]bool{"by a change of the policy": false, "by a restart": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, stop := attacked(t, drainPolicy("drain", "maintenance", "MigrationController", ""))
				w.API.Fail(shimtest.Faults{Bind: func(*v1.Pod, string) (bool, error) { return false, errDown }})
				w.taint(true)
				w.Advance(11 * time.Second)
				assert.Assert(t, slices.ContainsFunc(w.pods(), pods.IsReservation))
				next := drainPolicy("drain", "maintenance", "Eviction", "")
				if restarts {
					stop()
					w.run(next, unlimited)
				} else {
					assert.NilError(t, w.d.Reload(t.Context(), load(t, next)))
				}
				w.Advance(time.Second)
				assert.Equal(t, len(w.leftovers()), 0, "%v", w.leftovers())
				for _, job := range w.all() {
					assert.Equal(t, job.Status.Reason, migration.Withdrawn)
				}
				last := w.reports[len(w.reports)-1]
				assert.Assert(t, len(last.Warnings) == 1 && strings.Contains(last.Warnings[0].Text, "of an earlier policy ended"), "%v", last.Warnings)
				w.API.Fail(shimtest.Faults{})
				w.play(10*time.Minute, 0)
				assert.Equal(t, w.drainOf("n0").State, drain.Drained, "%+v", w.drainOf("n0"))
			})
		})
	}
}

// TestSoftDrainIsTakenBack: jobs have asked the owners of all pods, one by one or of a gang together. When the taint is lifted, or the policy drains
// no nodes any more, by a reload or a restart, nothing of that is left.
func TestSoftDrainIsTakenBack(t *testing.T) {
	const none = "apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\nprofiles:\n- name: drain\n  plugins: {deschedule: {enabled: [RemovePodsViolatingNodeTaints]}, evict: {enabled: [MigrationController]}}\n"
	for name, end := range map[string]func(*migrating, func()){
		"the taint is lifted": func(w *migrating, _ func()) { w.taint(false) },
		"the policy is another": func(w *migrating, _ func()) {
			w.taint(false)
			assert.NilError(w.t, w.d.Reload(w.t.Context(), load(w.t, none)))
		},
		"so is the next process": func(w *migrating, stop func()) { stop(); w.taint(false); w.run(none, unlimited) },
	} {
		for _, gang := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var changes []func(*v1.Pod)
					if gang {
						changes = append(changes, inTrain)
					}
					w, stop := attacked(t, drainPolicy("drain", "maintenance", "MigrationController", bySoftly), changes...)
					w.taint(true)
					for range 12 {
						w.turn()
					}
					assert.Equal(t, w.asked(), 4, "%+v", w.drainOf("n0").Pods)
					end(w, stop)
					w.Advance(5 * time.Second)
					assert.Equal(t, w.asked(), 0)
					assert.Equal(t, len(w.leftovers()), 0, "%v", w.leftovers())
					assert.Equal(t, len(w.evicted), 0)
				})
			})
		}
	}
}

// TestTwoProfilesDrainOneNode: a node has the taints of two profiles, of which one asks owners and the other one evicts. Each pod leaves once, by
// the profile that opened the drain, also after a restart.
func TestTwoProfilesDrainOneNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		text := drainPolicy("first", "maintenance", "MigrationController", "") + drainProfile("second", "broken", "Eviction", "")
		w, stop := attacked(t, text)
		w.ChangeNode("n0", func(n *v1.Node) {
			maintained(n)
			ft.Taint(n, "broken", "", v1.TaintEffectNoSchedule)
		})
		w.Advance(3 * time.Second)
		opened := w.drainOf("n0").Profile
		stop()
		w.run(text, unlimited)
		w.Advance(time.Second)
		assert.Equal(t, w.drainOf("n0").Profile, opened)
		w.play(40*time.Minute, 2)
		assert.Equal(t, w.drainOf("n0").State, drain.Drained, "%+v", w.drainOf("n0"))
		assert.Equal(t, len(w.evicted), 4, "each once")
		assert.Equal(t, len(w.leftovers()), 0, "%v", w.leftovers())
	})
}

// TestReloadsWithoutEnd: the same policy is loaded each second, in the middle of cycles and of a drain, which comes to its end all the same.
func TestReloadsWithoutEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		text := example(t, "recipes/maintenance.policy")
		w, _ := attacked(t, text)
		w.taint(true)
		for range 30 * 60 / 6 {
			assert.NilError(t, w.d.Reload(t.Context(), load(t, text)))
			w.Advance(time.Second)
			w.turn()
		}
		assert.Equal(t, w.drainOf("n0").State, drain.Drained, "%+v", w.drainOf("n0"))
		assert.Equal(t, len(w.evicted), 4)
		assert.Equal(t, len(w.wrong), 0, "%v", w.wrong)
		assert.Equal(t, len(w.leftovers()), 0, "%v", w.leftovers())
	})
}
