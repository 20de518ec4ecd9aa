package migration_test

import (
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	clienttesting "k8s.io/client-go/testing"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/migration"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim/shimtest"
)

// TestEachGateIsSkipped: a check keeps a pod, and with its gate skipped, and with no other one, it does
// not.
func TestEachGateIsSkipped(t *testing.T) {
	for gate, c := range map[migration.Gate]struct {
		change func(*v1.Pod)
		args   func(*migration.Args)
	}{
		migration.GateBarePods:       {change: func(p *v1.Pod) { p.OwnerReferences = nil }},
		migration.GateLocalStorage:   {change: volume(v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{}})},
		migration.GateSystemCritical: {change: shimtest.Priority(2_000_000_000)},
		migration.GatePVC: {
			change: volume(v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{}}),
			args:   func(a *migration.Args) { a.IgnorePVCPods = true },
		},
		migration.GatePriorityThreshold: {
			change: shimtest.Priority(10), args: func(a *migration.Args) { a.PriorityThreshold = &migration.PriorityThreshold{Value: new(int32(10))} },
		},
		migration.GateLabelSelector: {args: func(a *migration.Args) {
			a.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
		}},
		migration.GateNamespaces:       {args: func(a *migration.Args) { a.Namespaces = &migration.Namespaces{Include: []string{"prod"}} }},
		migration.GateExpectedReplicas: {args: func(a *migration.Args) { a.MaxMigratingPerWorkload = new(intstr.FromInt32(3)) }},
	} {
		t.Run(string(gate), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, "ReplicaSet")
				if c.change != nil {
					w.ChangePod("web-1", c.change)
				}
				filter := func(skipped ...migration.Gate) error {
					args := migration.NewArgs()
					if c.args != nil {
						c.args(args)
					}
					args.SkipEvictionGates = skipped
					w.start(args, 0, false)
					return w.Filter(w.Pod("web-1"))
				}
				assert.Assert(t, filter() != nil)
				assert.NilError(t, filter(gate))
				other := migration.GateNodeFit
				assert.Assert(t, filter(other) != nil)
			})
		})
	}
}

// TestEachLimitIsSkipped: a limit of one holds the second job back, and skipped it does not.
func TestEachLimitIsSkipped(t *testing.T) {
	for gate, limit := range map[migration.Gate]func(*migration.Args){
		migration.GateGlobal:      func(a *migration.Args) { a.MaxMigratingGlobally = new(1) },
		migration.GateNode:        func(a *migration.Args) { a.MaxMigratingPerNode = new(1) },
		migration.GateNamespace:   func(a *migration.Args) { a.MaxMigratingPerNamespace = new(1) },
		migration.GateWorkload:    func(a *migration.Args) { a.MaxMigratingPerWorkload = new(intstr.FromInt32(1)) },
		migration.GateUnavailable: func(a *migration.Args) { a.MaxUnavailablePerWorkload = new(intstr.FromInt32(1)) },
	} {
		t.Run(string(gate), func(t *testing.T) {
			for passed, skipped := range map[int][]migration.Gate{1: {migration.GateNodeFit}, 2: {gate}} {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t, "ReplicaSet")
					args := migration.NewArgs()
					args.MaxMigratingPerNode = nil
					args.MaxMigratingPerWorkload, args.MaxUnavailablePerWorkload = new(intstr.FromInt32(2)), new(intstr.FromInt32(2))
					args.ObjectLimiters.Workload.Duration.Duration = 0
					limit(args)
					args.SkipEvictionGates = skipped
					w.start(args, 0, false)
					w.jobsFor("web-0", "web-1")
					assert.NilError(t, w.Arbitrate(t.Context()))
					assert.Equal(t, len(w.passed()), passed)
				})
			}
		})
	}
}

// TestBareThatRuns: evictFailedBarePods is for pods that have failed.
func TestBareThatRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "ReplicaSet")
		w.ChangePod("web-1", func(p *v1.Pod) { p.OwnerReferences = nil })
		args := migration.NewArgs()
		args.EvictFailedBarePods = true
		w.start(args, 0, false)
		assert.Error(t, w.Filter(w.Pod("web-1")), "nothing makes it anew")
	})
}

// TestYoungestFirst: of pods like each other the one that was made last goes first.
func TestYoungestFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "ReplicaSet")
		for i, pod := range []string{"web-0", "web-1", "web-2"} {
			w.ChangePod(pod, func(p *v1.Pod) {
				p.CreationTimestamp = metav1.NewTime(time.Now().Add(time.Duration([]int{-2, 0, -1}[i]) * time.Hour))
			})
		}
		args := migration.NewArgs()
		args.MaxMigratingGlobally = new(1)
		w.start(args, 0, false)
		w.jobsFor("web-0", "web-1", "web-2")
		assert.NilError(t, w.Arbitrate(t.Context()))
		assert.DeepEqual(t, w.passed(), []string{"web-1"})
	})
}

// TestJobsWithoutATimeToLiveAreKept for half an hour after they ended.
func TestJobsWithoutATimeToLiveAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "ReplicaSet")
		args := migration.NewArgs()
		args.DefaultJobTTL.Duration = 0
		w.start(args, 0, false)
		job := w.evict("web-1")
		w.drive(60)
		assert.Equal(t, w.job(job).Status.Phase, migration.Succeeded)
		w.Advance(28 * time.Minute)
		assert.NilError(t, w.Scavenge(t.Context()))
		assert.DeepEqual(t, w.names(), []string{job})
		w.Advance(2 * time.Minute)
		assert.NilError(t, w.Scavenge(t.Context()))
		assert.Equal(t, len(w.names()), 0)
	})
}

// TestDeleteOptionsOfAJob: those of the arguments, unless the plugin that asks has its own.
func TestDeleteOptionsOfAJob(t *testing.T) {
	grace := func(seconds int64) *metav1.DeleteOptions { return &metav1.DeleteOptions{GracePeriodSeconds: &seconds} }
	for _, c := range []struct {
		name       string
		args, asks *metav1.DeleteOptions
		want       *int64
	}{
		{"those of the pod", nil, nil, nil},
		{"of the arguments", grace(7), nil, new(int64(7))},
		{"of the plugin that asks", grace(7), grace(9), new(int64(9))},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, "ReplicaSet")
				args := migration.NewArgs()
				args.DefaultDeleteOptions = c.args
				w.start(args, 0, false)
				options := optionsOf("main")
				options.DeleteOptions = c.asks
				assert.NilError(t, w.EvictPod(t.Context(), w.Pod("web-1"), options))
				w.drive(5)
				var asked []*int64
				for _, action := range w.process.client.Actions() {
					if create, ok := action.(clienttesting.CreateAction); ok && action.GetSubresource() == "eviction" {
						asked = append(asked, create.GetObject().(*policy.Eviction).DeleteOptions.GracePeriodSeconds)
					}
				}
				assert.DeepEqual(t, asked, []*int64{c.want})
			})
		})
	}
}

// TestPreemptionIsTold: a reservation that may have other pods evicted waits for them, and then has
// its place. Without that right it is given up.
func TestPreemptionIsTold(t *testing.T) {
	for _, may := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, "ReplicaSet")
			w.start(migration.NewArgs(), 0, false)
			job := w.evict("web-1")
			w.change(job, func(j *migration.Job) {
				j.Spec.Reservation = &migration.ReservationOptions{}
				if may {
					j.Spec.Reservation.Preemption = &migration.PreemptionOptions{}
				}
			})
			unbound(w)
			w.drive(2)
			w.ChangePod(w.reservations()[0], func(p *v1.Pod) {
				p.Status.NominatedNodeName = "node-2"
				p.Status.Conditions = []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionFalse, Reason: v1.PodReasonUnschedulable, Message: "full"}}
			})
			_, err := w.Reconcile(t.Context(), job)
			assert.NilError(t, err)
			got := w.job(job).Status
			if !may {
				assert.Equal(t, got.Phase, migration.Aborted)
				assert.Equal(t, got.Reason, migration.Unschedulable)
				return
			}
			assert.Equal(t, got.Reason, migration.Preempting, "%+v", got)
			assert.Equal(t, got.Message, "on node node-2")
			w.ChangePod(w.reservations()[0], func(p *v1.Pod) { p.Spec.NodeName = "node-2" })
			_, err = w.Reconcile(t.Context(), job)
			assert.NilError(t, err)
			assert.DeepEqual(t, steps(w.job(job)), []string{"ReservationCreated", "Preemption", "ReservationScheduled"})
			for _, condition := range w.job(job).Status.Conditions {
				assert.Assert(t, condition.Type != migration.Preemption || condition.Reason == migration.PreemptComplete)
			}
		})
	}
}
