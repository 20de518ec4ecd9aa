package migration_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/migration"
)

// softly has jobs ask the owners of pods.
func softly() *migration.Args {
	args := migration.NewArgs()
	args.EvictionPolicy = migration.BySoftEviction
	return args
}

// asked says whether the owner of a pod is asked to end it.
func (w *world) asked(name string) bool {
	return w.Pod(name).Annotations[migration.AnnotationSoftEviction] != ""
}

// TestWhatWasAskedIsTakenBack: a job that has asked the owner of its pod, and ends before that has ended the pod, leaves no request and no
// reservation: where it is withdrawn, its time is over, or a user deletes it.
func TestWhatWasAskedIsTakenBack(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(w *world, job string)
	}{
		{"withdrawn", func(w *world, _ string) {
			assert.NilError(w.t, w.Withdraw(context.Background(), w.Pod("web-1"), optionsOf("main")))
		}},
		{"time is over", func(w *world, _ string) { w.drive(301) }},
		{"deleted", func(w *world, job string) {
			w.remove(job)
			assert.NilError(w.t, w.Scavenge(context.Background()))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, "ReplicaSet")
				w.start(softly(), 0, false)
				job := w.evict("web-1")
				w.drive(10)
				assert.Assert(t, w.asked("web-1"))
				assert.NilError(t, w.Scavenge(t.Context()))
				assert.Assert(t, w.asked("web-1"), "as long as the job goes on")
				c.end(w, job)
				assert.Assert(t, !w.asked("web-1"))
				assert.Equal(t, len(w.evicted), 0)
				if c.name != "deleted" { // the API server ends what belongs to a job that is gone
					assert.Equal(t, len(w.reservations()), 0)
				}
			})
		})
	}
}

// TestRequestBesideTheEndIsTakenBack: a step that began before its job ended may ask for the pod when that was taken back already. Nothing is left
// of it, whether the end of the job is written before that or after.
func TestRequestBesideTheEndIsTakenBack(t *testing.T) {
	const asks, text = migration.AnnotationSoftEviction, `{"job":"migration-uid-web-1","reason":"test"}`
	t.Run("the end is written first", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w, beside := newWorld(t, "ReplicaSet"), false
			w.start(softly(), 0, false)
			w.process.client.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
				if !beside {
					beside = true
					w.change("migration-uid-web-1", func(job *migration.Job) {
						job.Status.Phase, job.Status.Reason = migration.Aborted, migration.Withdrawn
					})
				}
				return false, nil, nil
			})
			w.evict("web-1")
			w.drive(10)
			assert.Assert(t, beside && !w.asked("web-1"))
		})
	})
	t.Run("the end is written last", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w, beside := newWorld(t, "ReplicaSet"), false
			w.start(softly(), 0, false)
			job := w.evict("web-1")
			w.drive(10)
			assert.Assert(t, w.asked("web-1"))
			w.process.dynamic.PrependReactor("update", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
				beside = true
				w.ChangePod("web-1", func(pod *v1.Pod) { pod.Annotations = map[string]string{asks: text} })
				return false, nil, nil
			})
			assert.NilError(t, w.Withdraw(t.Context(), w.Pod("web-1"), optionsOf("main")))
			assert.Equal(t, w.job(job).Status.Reason, migration.Withdrawn)
			assert.Assert(t, beside && !w.asked("web-1"))
		})
	})
}

// TestRequestOfOthersStays: what another plugin or a user has asked for is not the job's.
func TestRequestOfOthersStays(t *testing.T) {
	for _, text := range []string{"please", `{"requester":"sigs.k8s.io/descheduler","profile":"p","plugin":"Old"}`} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, "ReplicaSet")
			w.start(softly(), 0, false)
			w.ChangePod("web-1", func(pod *v1.Pod) { pod.Annotations = map[string]string{migration.AnnotationSoftEviction: text} })
			w.evict("web-1")
			w.drive(10)
			assert.NilError(t, w.Withdraw(t.Context(), w.Pod("web-1"), optionsOf("main")))
			assert.NilError(t, w.Scavenge(t.Context()))
			assert.Equal(t, w.Pod("web-1").Annotations[migration.AnnotationSoftEviction], text)
			assert.Equal(t, len(w.reservations()), 0)
		})
	}
}

// TestGroupThatAskedIsTakenBack: that a group has decided is no eviction where it only asks. A member that has ended stays ended.
func TestGroupThatAskedIsTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "ReplicaSet")
		w.start(softly(), 0, false)
		assert.NilError(t, w.together("web-0", "web-1"))
		w.drive(15)
		assert.Assert(t, w.asked("web-0") && w.asked("web-1"))
		for _, name := range []string{"web-1", "web-0"} {
			assert.NilError(t, w.Withdraw(t.Context(), w.Pod(name), optionsOf("main")))
		}
		w.drive(5)
		assert.Assert(t, !w.asked("web-0") && !w.asked("web-1"))
		assert.Equal(t, len(w.reservations()), 0)
		for _, job := range w.names() {
			assert.Equal(t, w.job(job).Status.Reason, migration.Withdrawn)
		}
	})
}

// changed is what is called with a policy that has something else: the plugin itself, or what has asked for evictions.
func (w *world) changed(hasPlugin, hasTest bool) error {
	return migration.Definition().TakeBack(context.Background(), w.process, func(by framework.Asker) bool {
		return hasPlugin && (by.Plugin == "" || hasTest)
	})
}

// TestPolicyWithoutThePlugin: jobs of which nothing takes care end at once, at each of their steps, and their reservations with them. What was
// evicted stays evicted.
func TestPolicyWithoutThePlugin(t *testing.T) {
	for _, c := range []struct {
		seconds int
		evicted int
		phase   migration.Phase
	}{{0, 0, migration.Aborted}, {1, 0, migration.Aborted}, {3, 1, migration.Failed}, {10, 1, migration.Failed}} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, "ReplicaSet")
			w.starts = -1
			if c.seconds == 1 {
				w.refuse = apierrors.NewTooManyRequests("the budget allows none", 1)
			}
			w.start(migration.NewArgs(), 0, false)
			job := w.evict("web-1")
			w.drive(c.seconds)
			assert.NilError(t, w.changed(false, true))
			got := w.job(job).Status
			assert.Equal(t, got.Phase, c.phase, "%+v", got)
			assert.Equal(t, got.Reason, migration.Withdrawn)
			assert.Equal(t, got.Message, "no profile of the policy takes care of it")
			assert.Equal(t, len(w.evicted), c.evicted)
			assert.Equal(t, len(w.reservations()), 0)
			assert.NilError(t, w.changed(false, true), "once more it finds nothing")
		})
	}
}

// TestPolicyWithoutTheAsker: what a plugin had made that is not enabled any more ends, unless it is about to evict. What others have made
// goes on.
func TestPolicyWithoutTheAsker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "ReplicaSet")
		args := softly()
		args.ObjectLimiters.Workload.Duration = metav1.Duration{}
		args.MaxMigratingPerWorkload = nil
		w.start(args, 0, false)
		asks := w.evict("web-1")
		w.drive(10)
		assert.Assert(t, w.asked("web-1"))
		waits := w.evict("web-2")
		w.put(&migration.Job{ObjectMeta: metav1.ObjectMeta{Name: "by-hand"}, Spec: migration.Spec{PodRef: migration.PodRef{Namespace: "default", Name: "web-0"}}})
		assert.NilError(t, w.changed(true, true))
		assert.Assert(t, !w.job(asks).Ended() && !w.job(waits).Ended())
		assert.NilError(t, w.changed(true, false))
		assert.Equal(t, w.job(asks).Status.Reason, migration.Withdrawn)
		assert.Equal(t, w.job(waits).Status.Reason, migration.Withdrawn)
		assert.Assert(t, !w.asked("web-1"))
		assert.Assert(t, !w.job("by-hand").Ended())
	})
}

// TestJobByHandWaitsForThePlugin: one that has not begun can wait for a policy that has the plugin again.
func TestJobByHandWaitsForThePlugin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "ReplicaSet")
		w.start(migration.NewArgs(), 0, false)
		w.put(&migration.Job{ObjectMeta: metav1.ObjectMeta{Name: "by-hand"}, Spec: migration.Spec{PodRef: migration.PodRef{Namespace: "default", Name: "web-0"}}})
		assert.NilError(t, w.changed(false, false))
		assert.Assert(t, !w.job("by-hand").Ended())
		assert.NilError(t, w.Arbitrate(t.Context()))
		assert.NilError(t, w.changed(false, false))
		assert.Equal(t, w.job("by-hand").Status.Phase, migration.Aborted)
	})
}

// TestPolicyWithoutRights: where the kind is missing or may not be read there is nothing to take back; another error is one.
func TestPolicyWithoutRights(t *testing.T) {
	for _, c := range []struct {
		answer error
		fails  bool
	}{
		{apierrors.NewNotFound(migration.Resource.GroupResource(), ""), false},
		{apierrors.NewForbidden(migration.Resource.GroupResource(), "", errors.New("no role")), false},
		{apierrors.NewTimeoutError("busy", 1), true},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, "ReplicaSet")
			w.start(migration.NewArgs(), 0, false)
			w.jobs.PrependReactor("list", "*", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, c.answer })
			assert.Equal(t, w.changed(false, false) != nil, c.fails)
		})
	}
}

// startAs starts a descheduler of an installation. What others have begun stays as it is until one of them starts again.
func (w *world) startAs(installation string) {
	w.t.Helper()
	w.as = installation
	w.start(migration.NewArgs(), 0, false)
}

// TestTwoInstallations: one leaves the jobs of another alone, whether its policy has their profile or not: it does not end those that wait, although
// their time would be over, lets none begin, and keeps those that have ended, which may count for limits of the other.
func TestTwoInstallations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "ReplicaSet")
		w.startAs("a/descheduler")
		job := w.evict("web-1")

		w.startAs("b/descheduler")
		w.drive(400)
		assert.NilError(t, w.Withdraw(t.Context(), w.Pod("web-1"), optionsOf("main")))
		assert.NilError(t, w.changed(false, false))
		assert.Equal(t, w.job(job).Status.Phase, migration.Phase(""))
		assert.Equal(t, len(w.reservations()), 0)

		w.startAs("a/descheduler")
		w.drive(60)
		assert.Equal(t, w.job(job).Status.Phase, migration.Succeeded)
		w.Advance(24 * time.Hour)
		w.startAs("b/descheduler")
		assert.NilError(t, w.Scavenge(t.Context()))
		assert.DeepEqual(t, w.names(), []string{job})
		w.startAs("a/descheduler")
		assert.NilError(t, w.Scavenge(t.Context()))
		assert.Equal(t, len(w.names()), 0)
	})
}

// TestJobByHandOfTwoInstallations: one that a user has made belongs to the installation that lets it begin. If that is gone, its time to live ends
// it all the same, so that it does not count for ever.
func TestJobByHandOfTwoInstallations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "ReplicaSet")
		w.startAs("a/descheduler")
		w.refuse = apierrors.NewTooManyRequests("the budget allows none", 1)
		w.put(&migration.Job{ObjectMeta: metav1.ObjectMeta{Name: "by-hand"}, Spec: migration.Spec{
			PodRef: migration.PodRef{Namespace: "default", Name: "web-0"}, TTL: &metav1.Duration{Duration: time.Hour},
		}})
		w.drive(30)
		assert.Equal(t, w.job("by-hand").Annotations[migration.AnnotationInstallation], "a/descheduler")
		assert.Equal(t, w.job("by-hand").Status.Reason, migration.FailedEvict)

		w.startAs("b/descheduler")
		w.refuse = nil
		assert.NilError(t, w.changed(false, false))
		w.drive(60)
		assert.Equal(t, w.job("by-hand").Status.Phase, migration.Running)
		assert.Equal(t, len(w.evicted), 0)
		w.Advance(time.Hour)
		w.drive(5)
		assert.Equal(t, w.job("by-hand").Status.Reason, migration.Timeout)
		assert.Equal(t, len(w.reservations()), 0)
	})
}
