package migration_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	clienttesting "k8s.io/client-go/testing"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/migration"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim/shimtest"
)

// together has pods of web evicted together.
func (w *world) together(names ...string) error {
	var all []*v1.Pod
	for _, name := range names {
		all = append(all, w.Pod(name))
	}
	_, err := w.EvictTogether(context.Background(), all, optionsOf("main"))
	return err
}

// ends are phase, reason and message of all jobs.
func (w *world) ends() (all []string) {
	for _, name := range w.names() {
		s := w.job(name).Status
		all = append(all, strings.TrimSpace(fmt.Sprint(s.Phase, " ", s.Reason, " ", s.Message)))
	}
	return all
}

// remove deletes a job, as a user does. What it owns is deleted with it.
func (w *world) remove(name string) {
	job := w.job(name)
	assert.NilError(w.t, w.jobs.Resource(migration.Resource).Delete(context.Background(), name, metav1.DeleteOptions{}))
	if job.Status.Reservation != nil {
		w.EndPod(job.Status.Reservation.Name)
	}
}

// watch lets the descheduler work, and fails where a pod is evicted while another one has no place.
func (w *world) watch(seconds int) {
	w.t.Helper()
	for over := false; seconds > 0 && !over && !w.process.dead; seconds-- {
		w.drive(1)
		over = true
		for _, name := range w.names() {
			job := w.job(name)
			over = over && job.Ended()
			assert.Assert(w.t, len(w.evicted) == 0 || job.Status.TargetNode != "", "%v %v", w.evicted, w.ends())
		}
	}
}

// TestGroupEvictsTogether: the second place comes free later. Until then none of two pods is evicted, both are after that, and both
// replacements run where their places were.
func TestGroupEvictsTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "ReplicaSet")
		w.start(migration.NewArgs(), 0, false)
		w.API.Fail(shimtest.Faults{Bind: func(p *v1.Pod, _ string) (bool, error) { return false, errKilled }})
		assert.NilError(t, w.together("web-0", "web-1"))
		w.drive(10)
		assert.Equal(t, len(w.evicted), 0)
		assert.Equal(t, len(w.reservations()), 2)
		w.API.Fail(shimtest.Faults{})
		w.watch(60)
		assert.DeepEqual(t, slices.Sorted(slices.Values(w.evicted)), []string{"uid-web-0", "uid-web-1"})
		for _, name := range w.names() {
			assert.Equal(t, w.job(name).Status.Phase, migration.Succeeded, "%v", w.ends())
		}
		assert.Assert(t, w.job("migration-uid-web-0").Status.TargetNode == "node-2")
	})
}

// TestGroupWithoutAPlace: node-2 has room for one of two pods. None is evicted, the place of the first is given back, and the jobs say why.
func TestGroupWithoutAPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "ReplicaSet")
		w.AddPod("filler", "cpu=1", shimtest.On("node-2"))
		w.start(migration.NewArgs(), 0, false)
		assert.NilError(t, w.together("web-0", "web-1"))
		w.drive(60)
		assert.Equal(t, len(w.evicted), 0)
		assert.Equal(t, len(w.reservations()), 0)
		ends := w.ends()
		failed := slices.IndexFunc(ends, func(end string) bool {
			return strings.HasPrefix(end, "Aborted Unschedulable the reservation fits nowhere: ")
		})
		assert.Assert(t, failed >= 0, "%v", ends)
		other := fmt.Sprintf("Aborted GroupAborted job migration-uid-web-%d of its group, of pod web-%d, ended: Unschedulable, the reservation fits nowhere", failed, failed)
		assert.Assert(t, strings.HasPrefix(ends[1-failed], other), "%v", ends)
		w.Advance(time.Second)
		assert.DeepEqual(t, w.Booked(), w.Expected())
	})
}

// TestGroupInTime: where one place is not certain in the time to live, the other one is given back.
func TestGroupInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "ReplicaSet")
		bound := 0
		w.API.Fail(shimtest.Faults{Bind: func(p *v1.Pod, _ string) (bool, error) {
			if bound++; bound > 1 {
				return false, errKilled
			}
			return true, nil
		}})
		w.start(migration.NewArgs(), 0, false)
		assert.NilError(t, w.together("web-0", "web-1"))
		w.drive(400)
		assert.Equal(t, len(w.evicted), 0)
		assert.Equal(t, len(w.reservations()), 0)
		ends := w.ends()
		slices.Sort(ends)
		assert.DeepEqual(t, ends, []string{"Aborted GroupAborted not all of its group got a place in 5m0s", "Failed Timeout its time to live is over after 5m0s"})
	})
}

// TestGroupAndBudget: places are kept and nothing is evicted as long as the budget does not let all pods go at once.
func TestGroupAndBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "ReplicaSet")
		b := &policy.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
			Spec:       policy.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
			Status:     policy.PodDisruptionBudgetStatus{DisruptionsAllowed: 1},
		}
		w.Create(b)
		w.start(migration.NewArgs(), 0, false)
		assert.NilError(t, w.together("web-0", "web-1"))
		w.drive(60)
		assert.Equal(t, len(w.evicted), 0)
		assert.Equal(t, len(w.reservations()), 2)
		assert.Assert(t, slices.Contains(w.ends(), "Running WaitForGroup budget web does not let all pods of its group go now"), "%v", w.ends())
		b = b.DeepCopy()
		b.Status.DisruptionsAllowed = 2
		w.ChangeBudget(b)
		w.drive(60)
		assert.Equal(t, len(w.evicted), 2)
	})
}

// TestGroupThatLosesOne: what ends one job before the group evicts ends the group: a pod that is gone, a job that is deleted, a place that is
// lost, a request that is taken back.
func TestGroupThatLosesOne(t *testing.T) {
	for name, lose := range map[string]func(*world, int){
		"a pod":   func(w *world, i int) { w.EndPod(fmt.Sprint("web-", i)) },
		"a job":   func(w *world, i int) { w.remove(fmt.Sprint("migration-uid-web-", i)) },
		"a place": func(w *world, i int) { w.EndPod(w.job(fmt.Sprint("migration-uid-web-", i)).Status.Reservation.Name) },
		"the wish": func(w *world, i int) {
			assert.NilError(w.t, w.Withdraw(context.Background(), w.Pod(fmt.Sprint("web-", i)), optionsOf("main")))
		},
	} {
		for i := range 2 { // the one that leads, or the other one
			t.Run(fmt.Sprint(name, " of ", i), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t, "ReplicaSet")
					w.start(migration.NewArgs(), 0, false)
					bound := 0
					w.API.Fail(shimtest.Faults{Bind: func(p *v1.Pod, _ string) (bool, error) {
						if bound++; bound > 1 {
							return false, errKilled
						}
						return true, nil
					}})
					assert.NilError(t, w.together("web-0", "web-1"))
					w.drive(10)
					lose(w, i)
					w.drive(30)
					assert.Equal(t, len(w.evicted), 0)
					assert.Equal(t, len(w.reservations()), 0, "%v", w.ends())
					for _, job := range w.names() {
						assert.Equal(t, w.job(job).Status.Phase, migration.Aborted, "%v", w.ends())
					}
				})
			})
		}
	}
}

// TestGroupAfterARestart: a process ends at each of its writes, before or after it is carried out. The next one evicts both pods or none, and
// leaves no reservation.
func TestGroupAfterARestart(t *testing.T) {
	reached, none, both := true, 0, 0
	for killAt := 1; reached; killAt++ {
		reached = false
		for _, late := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, "ReplicaSet")
				w.start(migration.NewArgs(), killAt, late)
				_ = w.together("web-0", "web-1")
				w.watch(100)
				reached = reached || w.process.dead
				for range 3 {
					w.turn()
				}
				w.start(migration.NewArgs(), 0, false)
				w.watch(200)
				at := fmt.Sprintf("write %d, carried out %v: %v", killAt, late, w.ends())
				assert.Assert(t, len(w.evicted) == 0 || len(w.evicted) == 2, at)
				for _, name := range w.names() {
					assert.Assert(t, w.job(name).Ended(), at)
				}
				assert.Equal(t, len(w.reservations()), 0, at)
				if len(w.evicted) == 2 {
					both++
				} else {
					none++
				}
			})
		}
	}
	t.Logf("%d times both are evicted, %d times none", both, none)
	assert.Assert(t, both > 10 && none > 0)
}

// TestGroupAndLimits: a group begins when all of it is within the limits, or, where it is larger than one, when no other migration counts
// for that; and with a limit of 0 never.
func TestGroupAndLimits(t *testing.T) {
	for _, c := range []struct {
		name  string
		limit func(*migration.Args, int)
		never bool // with 0
	}{
		{"globally", func(a *migration.Args, most int) { a.MaxMigratingGlobally = &most }, false},
		{"node", func(a *migration.Args, most int) { a.MaxMigratingPerNode = &most }, false},
		{"namespace", func(a *migration.Args, most int) { a.MaxMigratingPerNamespace = &most }, false},
		{"workload", func(a *migration.Args, most int) { a.MaxMigratingPerWorkload = new(intstr.FromInt(most)) }, true},
		{"unavailable", func(a *migration.Args, most int) { a.MaxUnavailablePerWorkload = new(intstr.FromInt(most)) }, true},
		{"in a time", func(a *migration.Args, most int) { a.ObjectLimiters.Workload.MaxMigrating = new(intstr.FromInt(most)) }, true},
	} {
		for most, want := range []int{0, 1, 1, 3} { // with the one that is under way
			t.Run(fmt.Sprint(c.name, " ", most), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t, "ReplicaSet")
					a := migration.NewArgs()
					a.MaxMigratingPerNode, a.MaxMigratingPerWorkload, a.MaxUnavailablePerWorkload = nil, new(intstr.FromInt32(100)), new(intstr.FromInt32(100))
					a.ObjectLimiters.Workload.MaxMigrating, a.SkipCheckExpectedReplicas = new(intstr.FromInt32(100)), true
					c.limit(a, most)
					w.start(a, 0, false)
					w.evict("web-2")
					assert.NilError(t, w.Arbitrate(t.Context()))
					if most == 0 && !c.never {
						want = 3
					}
					assert.NilError(t, w.together("web-0", "web-1"))
					assert.NilError(t, w.Arbitrate(t.Context()))
					assert.Equal(t, len(w.passed()), want, "%v", w.ends())
					w.remove("migration-uid-web-2")
					w.Settle()
					time.Sleep(10 * time.Minute)
					assert.NilError(t, w.Arbitrate(t.Context()))
					if most == 0 && c.never {
						assert.Equal(t, len(w.passed()), 0)
					} else {
						assert.Equal(t, len(w.passed()), 2, "%v", w.ends())
					}
				})
			})
		}
	}
}

// TestGroupThatIsNotWhole: where jobs of a group were not made, as its process has ended, the others end after a minute.
func TestGroupThatIsNotWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "ReplicaSet")
		w.start(migration.NewArgs(), 2, false)
		assert.Assert(t, w.together("web-0", "web-1") != nil)
		w.start(migration.NewArgs(), 0, false)
		w.drive(59)
		assert.Equal(t, w.job("migration-uid-web-0").Ended(), false)
		w.drive(3)
		assert.DeepEqual(t, w.ends(), []string{"Aborted GroupAborted 1 of the 2 jobs of its group were made"})
	})
}

// TestGroupOfAPodThatMigrates: nothing is asked for where one of the pods is migrated already, and its job goes on.
func TestGroupOfAPodThatMigrates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "ReplicaSet")
		w.start(migration.NewArgs(), 0, false)
		w.evict("web-1")
		assert.Error(t, w.together("web-0", "web-1"), "MigrationController: job migration-uid-web-1 migrates it")
		assert.DeepEqual(t, w.ends(), []string{"Aborted Withdrawn what it was made for is over", ""})
		w.drive(60)
		assert.DeepEqual(t, w.evicted, []string{"uid-web-1"})
	})
}

// TestGroupIsTakenBackWholeOrNot: what is taken back when the group has just decided to evict goes on, whichever of its jobs is asked about.
func TestGroupIsTakenBackWholeOrNot(t *testing.T) {
	for i := range 2 {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, "ReplicaSet")
			w.start(migration.NewArgs(), 0, false)
			assert.NilError(t, w.together("web-0", "web-1"))
			assert.NilError(t, w.Arbitrate(t.Context()))
			const lead = "migration-uid-web-0"
			for name := "migration-uid-web-1"; ; {
				_, _ = w.Reconcile(t.Context(), name)
				w.Settle()
				if s := w.job(name).Status; s.TargetNode != "" || s.Phase == migration.Failed {
					break
				}
			}
			for !slices.Contains(steps(w.job(lead)), "GroupReserved") {
				_, err := w.Reconcile(t.Context(), lead)
				assert.NilError(t, err)
				w.Settle()
			}
			assert.NilError(t, w.Withdraw(t.Context(), w.Pod(fmt.Sprint("web-", i)), optionsOf("main")))
			w.watch(60)
			assert.Equal(t, len(w.evicted), 2, "%v", w.ends())
		})
	}
}

// TestGroupAndAnOldKind: an API server which has the kind of jobs from before there were groups leaves them out. Nothing is evicted, and what is
// to be done is said.
func TestGroupAndAnOldKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "ReplicaSet")
		w.jobs.PrependReactor("create", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
			unstructured.RemoveNestedField(a.(clienttesting.CreateAction).GetObject().(*unstructured.Unstructured).Object, "spec", "group")
			return false, nil, nil
		})
		w.start(migration.NewArgs(), 0, false)
		assert.ErrorContains(t, w.together("web-0", "web-1"), "the kind PodMigrationJob has no groups: apply docs/deploy/descheduler/crd.yaml again")
		w.drive(60)
		assert.Equal(t, len(w.evicted)+len(w.names()), 0)
	})
}
