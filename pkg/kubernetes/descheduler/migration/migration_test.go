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
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/migration"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/feasibility"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim/shimtest"
)

// filters are the filter plugins of kube-scheduler.
func filters(ctx context.Context, client kubernetes.Interface, factory informers.SharedInformerFactory) (shim.Feasibility, error) {
	return feasibility.New(ctx, client, factory, feasibility.Options{Workers: 1})
}

// A migration from its beginning to its end: a place is reserved, the pod is evicted, and its
// replacement runs at the place. D-K-PMJ-7: the new pod of a StatefulSet has the name of the old one.
func TestMigration(t *testing.T) {
	for _, kind := range []string{"ReplicaSet", "StatefulSet"} {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorldWith(t, kind, shimtest.Options{Feasibility: filters})
				w.start(migration.NewArgs(), 0, false)
				job := w.evict("web-1")
				w.drive(60)
				got := w.job(job)
				assert.Equal(t, got.Status.Phase, migration.Succeeded, "%+v", got.Status)
				assert.DeepEqual(t, steps(got), []string{"ReservationCreated", "ReservationScheduled", "Eviction", "ReservationBound", "PodScheduled", "PodBoundReservation", "BoundPodReady"})
				assert.Equal(t, got.Status.NodeName, "node-1")
				assert.Equal(t, got.Status.TargetNode, "node-2")
				assert.Equal(t, w.Pod(got.Status.PodRef.Name).Spec.NodeName, "node-2")
				assert.DeepEqual(t, w.evicted, []string{"uid-web-1"})
				assert.Equal(t, len(w.reservations()), 0)
			})
		})
	}
}

// A pod that has failed goes without a reservation: nothing would take the place, and the job
// would wait for it until its time is over.
func TestEndedPodsNeedNoPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "ReplicaSet")
		w.start(migration.NewArgs(), 0, false)
		w.ChangePod("web-1", func(pod *v1.Pod) { pod.Status.Phase = v1.PodFailed })
		w.missing = 1 // the workload has made another one long ago
		job := w.evict("web-1")
		w.drive(20)
		got := w.job(job)
		assert.Equal(t, got.Status.Phase, migration.Succeeded, "%+v", got.Status)
		assert.DeepEqual(t, steps(got), []string{"Eviction"})
		assert.DeepEqual(t, w.evicted, []string{"uid-web-1"})
	})
}

// The place is not given to a pod that waits for room and comes first.
func TestPlaceIsKeptFromOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "ReplicaSet")
		w.start(migration.NewArgs(), 0, false)
		w.AddPod("half", "cpu=1", shimtest.On("node-2"))
		job := w.evict("web-1")
		w.drive(1)
		w.AddPod("greedy-1", "cpu=1", shimtest.Application("a"))
		w.AddPod("greedy-2", "cpu=1", shimtest.Application("a"))
		w.drive(60)
		assert.Equal(t, w.job(job).Status.Phase, migration.Succeeded, "%+v", w.job(job).Status)
		assert.Equal(t, w.Pod(w.job(job).Status.PodRef.Name).Spec.NodeName, "node-2")
	})
}

// Two migrations of one workload at a time: each replacement gets one place. D-K-PMJ-7.
func TestTwoMigrationsOfOneWorkload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "ReplicaSet")
		w.AddNode("node-4", "cpu=1")
		args := migration.NewArgs()
		args.MaxMigratingPerWorkload = new(intstr.FromInt32(2))
		args.MaxUnavailablePerWorkload = new(intstr.FromInt32(2))
		args.MaxMigratingPerNode = nil
		w.start(args, 0, false)
		one, two := w.evict("web-1"), w.evict("web-2")
		w.drive(60)
		first, second := w.job(one).Status, w.job(two).Status
		assert.Equal(t, first.Phase, migration.Succeeded, "%+v", first)
		assert.Equal(t, second.Phase, migration.Succeeded, "%+v", second)
		assert.Assert(t, first.PodRef.UID != second.PodRef.UID)
		assert.Assert(t, first.Reservation.UID != second.Reservation.UID)
		assert.DeepEqual(t, w.reservations(), []string(nil))
	})
}

// unbound keeps everything that waits from being bound.
func unbound(w *world) {
	w.API.Fail(shimtest.Faults{Bind: func(*v1.Pod, string) (bool, error) { return false, errKilled }})
}

// How migrations end that cannot succeed. In none of these is the pod evicted. D-K-PMJ-7.
func TestNothingIsEvicted(t *testing.T) {
	for _, c := range []struct {
		name   string
		before func(*world)
		after  func(*world) // two seconds later
		phase  migration.Phase
		reason migration.Reason
	}{
		{"no room", func(w *world) { w.RemoveNode("node-2") }, nil, migration.Aborted, migration.Unschedulable},
		{"the reservation has the old node", func(w *world) {
			w.Feasibility.Conflict = nil
			w.RemoveNode("node-2")
			w.RemoveNode("node-3")
		}, nil, migration.Aborted, migration.ForbiddenMigratePod},
		{"a quota forbids the reservation", func(w *world) {
			w.forbids = apierrors.NewForbidden(v1.Resource("pods"), "reservation", errors.New("exceeded quota"))
		}, nil, migration.Failed, migration.FailedCreateReservation},
		{"time is over", unbound, nil, migration.Failed, migration.Timeout},
		{"the reservation is deleted", unbound, func(w *world) { w.EndPod(w.reservations()[0]) }, migration.Aborted, migration.MissingReservation},
		{"the reservation ends", unbound, func(w *world) {
			w.ChangePod(w.reservations()[0], func(pod *v1.Pod) { pod.Status.Phase = v1.PodFailed })
		}, migration.Aborted, migration.ReservationExpired},
		{"the pod is deleted before there is a place", unbound, func(w *world) { w.DeletePod("web-1") }, migration.Aborted, migration.MissingPod},
		{"it is taken back", unbound, func(w *world) {
			other := optionsOf("main")
			other.PluginName = "Other"
			assert.NilError(w.t, w.Withdraw(context.Background(), w.Pod("web-1"), other))
			assert.Assert(w.t, !w.job("migration-"+string(w.Pod("web-1").UID)).Ended())
			assert.NilError(w.t, w.Withdraw(context.Background(), w.Pod("web-1"), optionsOf("main")))
			assert.NilError(w.t, w.Withdraw(context.Background(), w.Pod("web-2"), optionsOf("main"))) // which has no job
		}, migration.Aborted, migration.Withdrawn},
		{"the pod is gone before the job begins", func(w *world) { w.DeletePod("web-1") }, nil, migration.Failed, migration.MissingPod},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, "ReplicaSet")
				w.start(migration.NewArgs(), 0, false)
				job := w.evict("web-1")
				c.before(w)
				w.drive(2)
				if c.after != nil {
					c.after(w)
				}
				w.drive(400)
				got := w.job(job).Status
				assert.Equal(t, got.Phase, c.phase, "%+v", got)
				assert.Equal(t, got.Reason, c.reason, "%+v", got)
				assert.Equal(t, len(w.evicted), 0)
				assert.DeepEqual(t, w.reservations(), []string(nil))
			})
		})
	}
}

// A job that has evicted its pod goes on when it is taken back, and one that a user has made always.
func TestWhatHasBegunIsNotTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "ReplicaSet")
		w.start(migration.NewArgs(), 0, false)
		job, pod := w.evict("web-1"), w.Pod("web-1")
		w.drive(3)
		assert.Equal(t, len(w.evicted), 1)
		assert.NilError(t, w.Withdraw(context.Background(), pod, optionsOf("main")))
		w.drive(60)
		assert.Equal(t, w.job(job).Status.Phase, migration.Succeeded)

		pod = w.Pod("web-2")
		w.put(&migration.Job{ObjectMeta: metav1.ObjectMeta{Name: "migration-" + string(pod.UID)}, Spec: migration.Spec{PodRef: migration.PodRef{Namespace: pod.Namespace, Name: pod.Name}}})
		assert.NilError(t, w.Withdraw(context.Background(), pod, optionsOf("main")))
		assert.Assert(t, !w.job("migration-"+string(pod.UID)).Ended())
	})
}

// A pod that has the name of the reservation and is not of the job is left alone.
func TestReservationOfAnotherIsNotTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "ReplicaSet")
		w.start(migration.NewArgs(), 0, false)
		job := w.evict("web-1")
		name := "reservation-" + string(w.job(job).UID)
		w.AddPod(name, "cpu=1")
		w.drive(20)
		got := w.job(job).Status
		assert.Equal(t, got.Phase, migration.Failed, "%+v", got)
		assert.Equal(t, got.Reason, migration.FailedCreateReservation, "%+v", got)
		assert.Equal(t, len(w.evicted), 0)
		assert.Assert(t, w.Pod(name).DeletionTimestamp == nil)
	})
}

// A reservation that a job names is one of the namespace of the pod, whatever the job says.
func TestNamedReservation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "ReplicaSet")
		w.start(migration.NewArgs(), 0, false)
		w.AddPod("kept", "cpu=1", shimtest.On("node-2"))
		w.put(&migration.Job{
			ObjectMeta: metav1.ObjectMeta{Name: "by-hand"},
			Spec: migration.Spec{
				PodRef:      migration.PodRef{Namespace: "default", Name: "web-0"},
				Reservation: &migration.ReservationOptions{Ref: &migration.PodRef{Namespace: "elsewhere", Name: "kept"}},
			},
		})
		w.drive(2)
		got := w.job("by-hand").Status
		assert.Assert(t, got.Reservation != nil, "%+v", got)
		assert.Equal(t, got.Reservation.Namespace, "default")
		assert.Equal(t, got.TargetNode, "node-2")
	})
}

// A job that is being deleted goes no further, and one that waits for a limit is looked at when it changes.
func TestJobsThatStandStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "ReplicaSet")
		w.start(migration.NewArgs(), 0, false)
		job := w.evict("web-1")
		again, err := w.Reconcile(t.Context(), job)
		assert.NilError(t, err)
		assert.Equal(t, again, time.Hour)
		w.change(job, func(j *migration.Job) { j.DeletionTimestamp = &metav1.Time{Time: time.Now()} })
		w.drive(400)
		assert.Equal(t, w.job(job).Status.Phase, migration.Phase(""))
		assert.Equal(t, len(w.evicted)+len(w.reservations()), 0)
	})
}

// A replacement that runs elsewhere than at the place was not migrated there.
func TestReplacementElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "ReplicaSet")
		w.start(migration.NewArgs(), 0, false)
		job := w.evict("web-1")
		w.drive(3)
		w.change(job, func(j *migration.Job) { j.Status.TargetNode = "node-3" })
		w.drive(60)
		got := w.job(job).Status
		assert.Equal(t, got.Phase, migration.Failed, "%+v", got)
		assert.Equal(t, got.Reason, migration.MissingReservation, "%+v", got)
		assert.Equal(t, len(w.reservations()), 0)
	})
}

// The pod is deleted by a user while its place is being evicted for: the replacement takes
// the place all the same.
func TestPodIsDeletedByAUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "ReplicaSet")
		args := migration.NewArgs()
		args.EvictionPolicy = migration.BySoftEviction
		w.start(args, 0, false)
		job := w.evict("web-1")
		w.drive(10)
		assert.Equal(t, w.job(job).Status.Reason, migration.Evicting)
		assert.Assert(t, w.Pod("web-1").Annotations[migration.AnnotationSoftEviction] != "")
		assert.Equal(t, len(w.evicted), 0)
		w.DeletePod("web-1")
		w.drive(60)
		assert.Equal(t, w.job(job).Status.Phase, migration.Succeeded, "%+v", w.job(job).Status)
	})
}

// D-K-PMJ-1: a label of the pod goes before the arguments, one of the job before that of the pod, and
// a way that is not known is none. The API server refuses evictions here, and not deletions.
func TestLabelsChooseTheWay(t *testing.T) {
	for _, c := range []struct {
		pod, job string
		want     string
	}{
		{"", "", "refused"},
		{"Delete", "", "deleted"},
		{"SoftEviction", "", "asked"},
		{"SoftEviction", "Delete", "deleted"},
		{"Delete", "SoftEviction", "asked"},
		{"Nonsense", "", "refused"},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, "ReplicaSet")
			w.start(migration.NewArgs(), 0, false)
			w.refuse = apierrors.NewTooManyRequests("the budget allows none", 1)
			w.ChangePod("web-1", func(pod *v1.Pod) { pod.Labels[migration.LabelEvictionPolicy] = c.pod })
			job := w.evict("web-1")
			w.change(job, func(j *migration.Job) { j.Labels = map[string]string{migration.LabelEvictionPolicy: c.job} })
			w.drive(4)
			got, pod := "refused", w.Pod("web-1")
			switch {
			case len(w.evicted) > 0:
				got = "deleted"
			case pod.Annotations[migration.AnnotationSoftEviction] != "":
				got = "asked"
			}
			assert.Equal(t, got, c.want, "pod %q, job %q", c.pod, c.job)
		})
	}
}

// A paused job waits where it is, also beyond its time to live, and goes on.
func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "ReplicaSet")
		args := migration.NewArgs()
		args.EvictionPolicy = migration.BySoftEviction
		w.start(args, 0, false)
		w.put(&migration.Job{
			ObjectMeta: metav1.ObjectMeta{Name: "by-hand"},
			Spec: migration.Spec{
				Paused: true, TTL: &metav1.Duration{Duration: 10 * time.Minute}, PodRef: migration.PodRef{Namespace: "default", Name: "web-0"},
			},
		})
		w.drive(30)
		assert.Equal(t, w.job("by-hand").Status.Phase, migration.Phase(""))
		w.change("by-hand", func(job *migration.Job) { job.Spec.Paused = false })
		w.drive(2)
		assert.Equal(t, w.job("by-hand").Status.PodUID, w.Pod("web-0").UID)
		w.change("by-hand", func(job *migration.Job) { job.Spec.Paused = true })
		w.drive(700)
		assert.Assert(t, !w.job("by-hand").Ended())
		w.change("by-hand", func(job *migration.Job) { job.Spec.Paused = false; job.Spec.TTL = nil })
		w.drive(3)
		w.DeletePod("web-0")
		w.drive(60)
		assert.Equal(t, w.job("by-hand").Status.Phase, migration.Succeeded, "%+v", w.job("by-hand").Status)
	})
}

// A job is made once for a pod, and again after one that evicted nothing.
func TestOneJobForAPod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "ReplicaSet")
		w.start(migration.NewArgs(), 0, false)
		w.RemoveNode("node-2")
		job := w.evict("web-1")
		err := w.EvictPod(t.Context(), w.Pod("web-1"), optionsOf("main"))
		assert.ErrorContains(t, err, "MigrationController: job "+job+" migrates it")
		w.drive(60)
		assert.Equal(t, w.job(job).Status.Reason, migration.Unschedulable)
		w.AddNode("node-4", "cpu=2")
		w.evict("web-1")
		w.drive(60)
		assert.Equal(t, w.job(job).Status.Phase, migration.Succeeded, "%+v", w.job(job).Status)
		assert.DeepEqual(t, w.names(), []string{job})
	})
}

// With the argument dryRun no job is made, and nothing says that the pod was evicted.
func TestArgumentDryRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "ReplicaSet")
		args := migration.NewArgs()
		args.DryRun = true
		w.start(args, 0, false)
		err := w.EvictPod(t.Context(), w.Pod("web-1"), optionsOf("main"))
		assert.Error(t, err, "MigrationController: its argument dryRun is true, so it makes no job")
		assert.Equal(t, len(w.names()), 0)
	})
}

// Jobs that ended long ago are deleted, and no others. D-K-PMJ-4.
func TestScavenge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "ReplicaSet")
		w.start(migration.NewArgs(), 0, false)
		w.evict("web-1")
		w.put(&migration.Job{ObjectMeta: metav1.ObjectMeta{Name: "paused"}, Spec: migration.Spec{Paused: true, PodRef: migration.PodRef{Namespace: "default", Name: "web-0"}}})
		w.drive(30)
		assert.NilError(t, w.Scavenge(t.Context()))
		assert.Equal(t, len(w.names()), 2)
		w.Advance(10 * time.Minute)
		assert.NilError(t, w.Scavenge(t.Context()))
		assert.DeepEqual(t, w.names(), []string{"paused"})
	})
}

// As a controller the plugin is driven by events, and ends with its context.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "ReplicaSet")
		w.start(migration.NewArgs(), 0, false)
		for range 2 { // it can run again after it ended
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() { ended <- w.Run(ctx) }()
			w.Advance(time.Second)
			pod := "web-1"
			if w.made > 0 {
				pod = "web-0"
				w.Advance(10 * time.Minute) // the workload may migrate again, and the old job goes
			}
			job := w.evict(pod)
			w.Advance(100 * time.Millisecond)
			assert.ErrorContains(t, w.Filter(w.Pod(pod)), "migrates it")
			began := time.Now()
			for range 20 {
				w.turn()
			}
			got := w.job(job)
			assert.Equal(t, got.Status.Phase, migration.Succeeded, "%+v", got.Status)
			last := got.Status.Conditions[len(got.Status.Conditions)-1].LastTransitionTime
			assert.Assert(t, last.Sub(began) < 6*time.Second, "events, and not the pause of three seconds after each step: %s", last.Sub(began))
			cancel()
			assert.ErrorIs(t, <-ended, context.Canceled)
		}
		w.Advance(time.Hour)
		assert.Equal(t, len(w.names()), 1, "nothing runs any more")
	})
}
