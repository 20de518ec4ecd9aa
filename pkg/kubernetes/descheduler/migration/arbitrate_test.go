package migration_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	ft "github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/frameworktest"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/frameworktest/places"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/migration"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim/shimtest"
)

// passed are the jobs that arbitration has let pass, in the order of their names.
func (w *world) passed() []string {
	var names []string
	for _, name := range w.names() {
		if w.job(name).InFlight() {
			names = append(names, name)
		}
	}
	return names
}

// of makes a pod one of a workload of ten pods or so, on a node, that is ready.
func of(kind, workload, node string) shimtest.PodOption {
	return func(pod *v1.Pod) {
		shimtest.On(node)(pod)
		pod.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: workload, UID: types.UID(workload), Controller: new(true)}}
		pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}
	}
}

// jobs makes a job for each pod, of the names of the pods.
func (w *world) jobsFor(pods ...string) {
	for _, pod := range pods {
		w.put(&migration.Job{ObjectMeta: metav1.ObjectMeta{Name: pod}, Spec: migration.Spec{PodRef: migration.PodRef{Namespace: "default", Name: pod}}})
	}
}

// Each limit lets as many pass as it says and no more, also those of one; what is in flight
// counts, and what has ended does not. D-K-PMJ-7: a limit of one lets one pass, and a percentage that
// rounds to nothing is one.
func TestLimitsInFlight(t *testing.T) {
	unlimited := func() *migration.Args {
		a := migration.NewArgs()
		a.MaxMigratingPerNode, a.MaxMigratingPerWorkload = nil, new(intstr.FromInt32(100))
		a.MaxUnavailablePerWorkload, a.SkipCheckExpectedReplicas = new(intstr.FromInt32(100)), true
		return a
	}
	for _, c := range []struct {
		name  string
		limit func(*migration.Args, int)
		mosts []int
	}{
		{"globally", func(a *migration.Args, most int) { a.MaxMigratingGlobally = &most }, []int{1, 2, 10}},
		{"node", func(a *migration.Args, most int) { a.MaxMigratingPerNode = &most }, []int{1, 2, 10}},
		{"namespace", func(a *migration.Args, most int) { a.MaxMigratingPerNamespace = &most }, []int{1, 2, 10}},
		{"workload", func(a *migration.Args, most int) { a.MaxMigratingPerWorkload = new(intstr.FromInt(most)) }, []int{1, 2, 10}},
		{"workload, percent", func(a *migration.Args, most int) {
			a.MaxMigratingPerWorkload = new(intstr.FromString(strconv.Itoa([]int{0, 1, 10}[most]) + "%"))
		}, []int{1, 2}},
		{"unavailable", func(a *migration.Args, most int) { a.MaxUnavailablePerWorkload = new(intstr.FromInt(most)) }, []int{1, 2, 10}},
		{"in a time", func(a *migration.Args, most int) {
			a.ObjectLimiters.Workload.MaxMigrating = new(intstr.FromInt(most))
		}, []int{1, 2, 10}},
	} {
		for _, most := range c.mosts {
			t.Run(fmt.Sprint(c.name, " ", most), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t, "ReplicaSet")
					w.AddNode("big", "cpu=100")
					for i := range 20 {
						w.AddPod(fmt.Sprintf("api-%d", i), "cpu=1", of("Group", "api", "big"))
					}
					args := unlimited()
					c.limit(args, most)
					w.start(args, 0, false)
					for i := range 20 {
						w.jobsFor(fmt.Sprintf("api-%d", i))
					}
					for range 3 {
						assert.NilError(t, w.Arbitrate(t.Context()))
						assert.Equal(t, len(w.passed()), most, w.passed())
					}
					first := w.passed()[0]
					w.change(first, func(job *migration.Job) { job.Status.Phase = migration.Aborted })
					assert.NilError(t, w.Arbitrate(t.Context()))
					assert.Equal(t, len(w.passed()), most)
				})
			})
		}
	}
}

// A job that a limit holds back says which, until it begins. The first ones in the
// order in which they would begin are told of first, few in one arbitration.
func TestJobsSayWhichLimitTheyWaitFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "ReplicaSet")
		w.AddNode("big", "cpu=1000")
		args := migration.NewArgs()
		args.MaxMigratingPerNode, args.SkipCheckExpectedReplicas = new(1), true
		for i := range 201 {
			name := fmt.Sprintf("api-%03d", i)
			w.AddPod(name, "cpu=1", of("Group", name, "big"))
			w.jobsFor(name)
		}
		w.start(args, 0, false)
		waiting := func() (n int) {
			for _, name := range w.names() {
				if s := w.job(name).Status; s.Reason == migration.WaitForLimit {
					assert.Equal(t, s.Phase, migration.Pending)
					assert.Equal(t, s.Message, "limit maxMigratingPerNode is reached")
					n++
				}
			}
			return n
		}
		for i := range 11 {
			assert.NilError(t, w.Arbitrate(t.Context()))
			assert.Equal(t, waiting(), min(200, 20*(i+1)))
		}
		first := w.passed()
		assert.Equal(t, len(first), 1)
		w.change(first[0], func(job *migration.Job) { job.Status.Phase = migration.Aborted })
		assert.NilError(t, w.Arbitrate(t.Context()))
		second := w.passed()
		_, err := w.Reconcile(t.Context(), second[0])
		assert.NilError(t, err)
		assert.Equal(t, w.job(second[0]).Status.Reason, migration.Reason(""))
		assert.Equal(t, w.job(second[0]).Status.Message, "")
		assert.Equal(t, waiting(), 199)
	})
}

// A limit that has been skipped does not count, and neither does any of them without arbitration.
func TestGatesAreSkipped(t *testing.T) {
	for _, change := range []func(*migration.Args){
		func(a *migration.Args) {
			a.SkipEvictionGates = []migration.Gate{migration.GateNode, migration.GateWorkload, migration.GateUnavailable}
			a.ObjectLimiters.Workload.Duration.Duration = 0
		},
		func(a *migration.Args) { a.ArbitrationArgs.Enabled = false },
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, "ReplicaSet")
			args := migration.NewArgs()
			args.MaxMigratingPerNode = new(1)
			change(args)
			w.start(args, 0, false)
			w.jobsFor("web-0", "web-1", "web-2")
			assert.NilError(t, w.Arbitrate(t.Context()))
			assert.Equal(t, len(w.passed()), 3)
		})
	}
}

// Migrations of a workload are spread in time, also over a restart: the next one begins when
// the window of the one before is over. Those that wait say so and do not fail, although the window is as long as
// their time to live: no job is made anew.
func TestWindowOfAWorkload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "ReplicaSet")
		w.AddNode("node-4", "cpu=8")
		w.start(migration.NewArgs(), 0, false)
		began := time.Now()
		jobs := []string{w.evict("web-0"), w.evict("web-1"), w.evict("web-2")}
		succeeded := func(job string) bool { return w.job(job).Status.Phase == migration.Succeeded }
		for seconds := 0; slices.ContainsFunc(jobs, func(job string) bool { return !succeeded(job) }); seconds++ {
			assert.Assert(t, seconds < 1000)
			if seconds%100 == 50 {
				w.start(migration.NewArgs(), 0, false)
			}
			if seconds == 400 { // one is over, one is under way or over, and one waits
				var waits []string
				for _, job := range jobs {
					if s := w.job(job).Status; s.Phase == migration.Pending {
						waits = append(waits, fmt.Sprintf("%s: %s", s.Reason, s.Message))
					}
				}
				assert.DeepEqual(t, waits, []string{"WaitForLimit: limit objectLimiters.workload is reached"})
			}
			w.drive(1)
		}
		took := time.Since(began)
		assert.Assert(t, took > 10*time.Minute && took < 10*time.Minute+30*time.Second, took)
		assert.DeepEqual(t, w.names(), jobs)
	})
}

// The time to live begins when a job may begin: then it is as long as it says.
func TestTimeToLiveBeginsLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "ReplicaSet")
		args := migration.NewArgs()
		args.EvictionPolicy = migration.BySoftEviction // which waits
		w.start(args, 0, false)
		first, second := w.evict("web-0"), w.evict("web-1")
		w.drive(299)
		assert.Equal(t, w.job(first).Status.Phase, migration.Running)
		w.drive(299)
		assert.Equal(t, w.job(first).Status.Reason, migration.Timeout)
		assert.Equal(t, w.job(second).Status.Phase, migration.Running)
		w.drive(10)
		assert.Equal(t, w.job(second).Status.Reason, migration.Timeout)
		assert.Equal(t, w.job(second).Status.Message, "its time to live is over after 5m0s")
	})
}

// A pod that is not ready is migrated though no other may be unavailable.
func TestPodThatIsNotReadyIsMigrated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "ReplicaSet")
		w.ChangePod("web-1", func(pod *v1.Pod) { pod.Status.Conditions = nil })
		w.start(migration.NewArgs(), 0, false)
		w.jobsFor("web-0", "web-1")
		assert.NilError(t, w.Arbitrate(t.Context()))
		assert.DeepEqual(t, w.passed(), []string{"web-1"})
	})
}

// A pod that is ending serves no more, although it is ready still: no other one of its workload begins.
func TestPodThatEndsIsUnavailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "ReplicaSet")
		w.DeletePod("web-2")
		w.start(migration.NewArgs(), 0, false)
		w.jobsFor("web-0", "web-1")
		assert.NilError(t, w.Arbitrate(t.Context()))
		assert.Equal(t, len(w.passed()), 0)
	})
}

// What may never be migrated fails at once, with the reason.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*v1.Pod)
		args   func(*migration.Args)
		mode   migration.Mode
		want   string // empty: it may
	}{
		{name: "a pod like any other"},
		{name: "another scheduler", change: shimtest.Foreign, want: `scheduler "default-scheduler" makes no reservations`},
		{name: "another scheduler, directly", change: shimtest.Foreign, mode: migration.EvictDirectly},
		{name: "bare", change: func(p *v1.Pod) { p.OwnerReferences = nil }, want: "nothing makes it anew"},
		{name: "bare, allowed", change: func(p *v1.Pod) { p.OwnerReferences = nil }, args: func(a *migration.Args) { a.EvictAllBarePods = true }},
		{name: "bare and failed", change: func(p *v1.Pod) { p.OwnerReferences = nil; p.Status.Phase = v1.PodFailed }, args: func(a *migration.Args) { a.EvictFailedBarePods = true }},
		{name: "daemonset", change: func(p *v1.Pod) { p.OwnerReferences[0].Kind = "DaemonSet" }, want: "it is of a daemonset"},
		{name: "static", change: shimtest.Static, mode: migration.EvictDirectly, want: "the kubelet runs it from a file"},
		{name: "local storage", change: volume(v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}), want: "it has local storage"},
		{name: "local storage, allowed", change: volume(v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}), args: func(a *migration.Args) { a.EvictLocalStoragePods = true }},
		{name: "claim", change: volume(v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{}})},
		{name: "claim, ignored", change: volume(v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{}}), args: func(a *migration.Args) { a.IgnorePVCPods = true }, want: "it has a volume claim"},
		{name: "system", change: shimtest.Priority(2_000_000_000), want: "it belongs to the system"},
		{name: "priority", change: shimtest.Priority(10), args: func(a *migration.Args) { a.PriorityThreshold = &migration.PriorityThreshold{Value: new(int32(10))} }, want: "its priority 10 is not below 10"},
		{name: "below the priority", change: shimtest.Priority(9), args: func(a *migration.Args) { a.PriorityThreshold = &migration.PriorityThreshold{Value: new(int32(10))} }},
		{name: "priority, skipped", change: shimtest.Priority(10), args: func(a *migration.Args) {
			a.PriorityThreshold = &migration.PriorityThreshold{Name: "gone"}
			a.SkipEvictionGates = []migration.Gate{migration.GatePriorityThreshold}
		}},
		{name: "class of the priority", args: func(a *migration.Args) { a.PriorityThreshold = &migration.PriorityThreshold{Name: "gone"} }, want: "priority class gone of the threshold is not known"},
		{name: "labels", args: func(a *migration.Args) {
			a.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
		}, want: "its labels are not selected"},
		{name: "namespace", args: func(a *migration.Args) { a.Namespaces = &migration.Namespaces{Exclude: []string{"default"}} }, want: "its namespace is not selected"},
		{name: "other namespaces", args: func(a *migration.Args) { a.Namespaces = &migration.Namespaces{Include: []string{"prod"}} }, want: "its namespace is not selected"},
		{name: "eviction cost", change: note(migration.AnnotationEvictionCost, "2147483647"), want: "its eviction cost forbids it"},
		{name: "eviction cost, as Koordinator writes it", change: note(framework.KoordinatorEvictionCost, "2147483647"), want: "its eviction cost forbids it"},
		{name: "ten times the eviction cost", change: note(migration.AnnotationEvictionCost, "21474836470"), want: "its eviction cost forbids it"},
		{name: "eviction cost that is no number", change: note(migration.AnnotationEvictionCost, "NaN")},
		{name: "always", change: func(p *v1.Pod) {
			note("descheduler.alpha.kubernetes.io/evict", "")(p)
			shimtest.Priority(2_000_000_000)(p)
		}},
		{name: "replicas", args: func(a *migration.Args) { a.MaxUnavailablePerWorkload = new(intstr.FromInt32(3)) }, want: "its workload has 3 replicas, and 1 may migrate, 3 be unavailable at a time: none would be left (skipCheckExpectedReplicas allows it)"},
		{name: "replicas, skipped", args: func(a *migration.Args) {
			a.MaxUnavailablePerWorkload = new(intstr.FromInt32(3))
			a.SkipCheckExpectedReplicas = true
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, "ReplicaSet")
				if c.change != nil {
					w.ChangePod("web-1", c.change)
				}
				args := migration.NewArgs()
				if c.args != nil {
					c.args(args)
				}
				args.DefaultJobMode = c.mode
				if c.mode == "" {
					args.DefaultJobMode = migration.ReservationFirst
				}
				w.start(args, 0, false)
				err := w.EvictPod(t.Context(), w.Pod("web-1"), optionsOf("main"))
				w.put(&migration.Job{ObjectMeta: metav1.ObjectMeta{Name: "by-hand"}, Spec: migration.Spec{Mode: c.mode, PodRef: migration.PodRef{Namespace: "default", Name: "web-1"}}})
				if c.want == "" {
					assert.NilError(t, err)
					assert.NilError(t, w.Filter(w.Pod("web-1")))
					return
				}
				assert.Error(t, err, "MigrationController: "+c.want)
				assert.Error(t, w.Filter(w.Pod("web-1")), c.want)
				w.drive(2)
				got := w.job("by-hand").Status
				assert.Equal(t, got.Phase, migration.Failed)
				assert.Equal(t, got.Reason, migration.ForbiddenMigratePod)
				assert.Equal(t, got.Message, c.want)
			})
		})
	}
}

// TestNodeFit: with nodeFit a pod is migrated only if another node that is selected takes it, also
// where no scheduler can be asked. The node where it runs is not another one.
func TestNodeFit(t *testing.T) {
	fit := func(selector string, skipped ...migration.Gate) func(*migration.Args) {
		return func(a *migration.Args) { a.NodeFit, a.NodeSelector, a.SkipEvictionGates = true, selector, skipped }
	}
	const nowhere = "it fits on no other node"
	for _, c := range []struct {
		name string
		args func(*migration.Args)
		full bool // no node but its own has room
		want string
	}{
		{name: "not asked", args: func(*migration.Args) {}, full: true},
		{name: "another node", args: fit("")},
		{name: "no other node", args: fit(""), full: true, want: nowhere},
		{name: "skipped", args: fit("", migration.GateNodeFit), full: true},
		{name: "a node that is selected", args: fit("kubernetes.io/hostname in (node-1, node-2)")},
		{name: "a node that is too small is selected", args: fit("kubernetes.io/hostname=node-3"), want: nowhere},
		{name: "its own node is selected", args: fit("kubernetes.io/hostname=node-1"), want: nowhere},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, "ReplicaSet")
				args := migration.NewArgs()
				c.args(args)
				assert.NilError(t, args.Validate())
				t.Cleanup(func() { time.Sleep(places.EndingMax) })
				w.start(args, 0, false)
				o := framework.Objects{Pods: []*v1.Pod{w.Pod("web-0"), w.Pod("web-1"), w.Pod("web-2")}}
				for name, cpu := range map[string]string{"node-1": "cpu=4", "node-2": "cpu=2", "node-3": "cpu=0"} {
					n := ft.Node(name, cpu, "")
					n.Spec.Unschedulable = c.full && name == "node-2"
					o.Nodes = append(o.Nodes, n)
				}
				w.process.snapshot = framework.NewSnapshot(o, time.Now())
				got := ""
				if err := w.PreEvictionFilter(w.Pod("web-1")); err != nil {
					got = err.Error()
				}
				assert.Equal(t, got, c.want)
			})
		})
	}
}

func volume(source v1.VolumeSource) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{Name: "data", VolumeSource: source})
	}
}

func note(name, value string) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		if pod.Annotations == nil {
			pod.Annotations = map[string]string{}
		}
		pod.Annotations[name] = value
	}
}

// Of two jobs for one pod one begins, and the other one fails.
func TestTwoJobsForAPod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "ReplicaSet")
		w.start(migration.NewArgs(), 0, false)
		for _, name := range []string{"one", "two"} {
			w.put(&migration.Job{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: migration.Spec{PodRef: migration.PodRef{Namespace: "default", Name: "web-1"}}})
		}
		assert.NilError(t, w.Arbitrate(t.Context()))
		assert.DeepEqual(t, w.passed(), []string{"one"})
		assert.NilError(t, w.Arbitrate(t.Context()))
		w.drive(60)
		assert.Equal(t, w.job("one").Status.Phase, migration.Succeeded)
		assert.Equal(t, w.job("two").Status.Phase, migration.Failed)
		assert.Equal(t, w.job("two").Status.Message, "job one migrates it")
		assert.DeepEqual(t, w.evicted, []string{"uid-web-1"})
	})
}

// Jobs begin in the order of the harm that they do, whatever the order in which they come.
func TestOrder(t *testing.T) {
	cheap, dear := note(v1.PodDeletionCost, "-5"), note(migration.AnnotationEvictionCost, "7")
	pods := []struct {
		name    string
		options []shimtest.PodOption
	}{
		{"b-web", []shimtest.PodOption{of("Group", "b", "big"), shimtest.Priority(3)}}, // more of its workload is under way
		{"best-effort", []shimtest.PodOption{of("Group", "c", "big"), func(p *v1.Pod) { p.Spec.Containers[0].Resources = v1.ResourceRequirements{} }}},
		{"cheap", []shimtest.PodOption{of("Group", "d", "big"), cheap}},
		{"job-1", []shimtest.PodOption{of("Job", "batch", "big")}},
		{"job-2", []shimtest.PodOption{of("Job", "batch", "big"), shimtest.Priority(9)}}, // with its sister
		{"dear", []shimtest.PodOption{of("Group", "e", "big"), dear}},
		{"important", []shimtest.PodOption{of("Group", "f", "big"), shimtest.Priority(5)}},
	}
	for seed := range 10 {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, "ReplicaSet")
			w.AddNode("big", "cpu=100")
			w.AddPod("b-0", "cpu=1", of("Group", "b", "big"))
			order := rand.New(rand.NewPCG(uint64(seed), 1)).Perm(len(pods))
			for _, i := range order {
				w.AddPod(pods[i].name, "cpu=1", pods[i].options...)
			}
			args := migration.NewArgs()
			args.MaxMigratingPerNode, args.SkipCheckExpectedReplicas = nil, true
			args.MaxMigratingPerWorkload = new(intstr.FromInt32(100))
			args.MaxUnavailablePerWorkload = new(intstr.FromInt32(100))
			w.start(args, 0, false)
			w.jobsFor("b-0")
			assert.NilError(t, w.Arbitrate(t.Context()))
			for _, i := range order {
				w.jobsFor(pods[i].name)
			}
			var began []string
			for most := 2; most <= len(pods)+1; most++ {
				args.MaxMigratingGlobally = &most
				assert.NilError(t, w.Arbitrate(t.Context()))
				for _, name := range w.passed() {
					if name != "b-0" && !slices.Contains(began, name) {
						began = append(began, name)
					}
				}
			}
			assert.DeepEqual(t, began, []string{"b-web", "best-effort", "cheap", "job-1", "job-2", "dear", "important"})
		})
	}
}
