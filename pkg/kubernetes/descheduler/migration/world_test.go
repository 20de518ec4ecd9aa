package migration_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/frameworktest/places"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/migration"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim/shimtest"
)

// errKilled is what a process gets that is no more.
var errKilled = errors.New("killed")

// A process is one life of the descheduler: its clients end with it. Requests of it go to
// the same API server as those of others.
type process struct {
	framework.Handle
	client  *fake.Clientset
	dynamic *dynamicfake.FakeDynamicClient
	factory informers.SharedInformerFactory
	writes  []string // that were asked for, "verb resource/subresource name"
	killAt  int      // the write at which it ends; 0 is never
	late    bool     // that write is carried out before
	dead    bool
	// snapshot is what nodeFit looks at.
	snapshot     *framework.Snapshot
	places       func(*framework.Snapshot) (framework.Landing, error)
	installation string
}

func (p *process) ClientSet() kubernetes.Interface                        { return p.client }
func (p *process) DynamicClient() dynamic.Interface                       { return p.dynamic }
func (p *process) SharedInformerFactory() informers.SharedInformerFactory { return p.factory }
func (p *process) Clock() clock.WithTicker                                { return clock.RealClock{} } // virtual in a bubble
func (p *process) ProfileName() string                                    { return "main" }
func (p *process) Installation() string                                   { return p.installation }
func (p *process) DryRun() bool                                           { return false }
func (p *process) Snapshot() *framework.Snapshot                          { return p.snapshot }

func (p *process) Landing() framework.Landing {
	l, err := p.places(p.snapshot)
	if err != nil {
		panic(err)
	}
	return l
}

// A world is a cluster with the scheduler, the controller of one workload, kubelets and
// one process of the descheduler at a time.
type world struct {
	*shimtest.MockScheduler
	*migration.Controller
	t       *testing.T
	jobs    *dynamicfake.FakeDynamicClient
	process *process
	evicted []string // UIDs of pods that an eviction was carried out for
	refuse  error    // what the eviction API answers
	forbids error    // what the API server says to new pods
	kind    string   // of the workload
	born    int
	missing int // pods that the workload does not make
	made    int
	stops   time.Duration // how long a pod takes to end
	starts  time.Duration // how long a new pod takes to be ready; below 0 never
	as      string        // the installation of the next process
}

// forbids is what the filters of nodes say of reservations: not where the pod is.
func forbids(pod *v1.Pod, node string) error {
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.NodeAffinity == nil {
		return nil
	}
	for _, term := range pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		for _, field := range term.MatchFields {
			if field.Operator == v1.NodeSelectorOpNotIn && slices.Contains(field.Values, node) {
				return errors.New("its affinity forbids node " + node)
			}
		}
	}
	return nil
}

// newWorld has three nodes, and three pods of the workload web on the first.
func newWorld(t *testing.T, kind string) *world {
	t.Helper()
	return newWorldWith(t, kind, shimtest.Options{})
}

func newWorldWith(t *testing.T, kind string, options shimtest.Options) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	w := &world{
		MockScheduler: shimtest.New(t, options), t: t, kind: kind, stops: 5 * time.Second,
		jobs: dynamicfake.NewSimpleDynamicClientWithCustomListKinds(scheme, map[schema.GroupVersionResource]string{migration.Resource: "PodMigrationJobList"}),
	}
	w.Feasibility.Conflict = forbids
	w.Create(shimtest.NewNode("node-1", "cpu=4"), shimtest.NewNode("node-2", "cpu=2"), shimtest.NewNode("node-3", "cpu=0"))
	if kind == "StatefulSet" {
		w.Create(&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "uid-web"}, Spec: appsv1.StatefulSetSpec{Replicas: new(int32(3))}})
	} else {
		w.Create(&appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "uid-web"}, Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(3))}})
	}
	for i := range 3 {
		w.addWeb(fmt.Sprintf("web-%d", i), "", shimtest.On("node-1"), func(pod *v1.Pod) {
			pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}
		})
	}
	w.MockScheduler.Start()
	w.Advance(time.Minute)
	return w
}

// addWeb makes a pod of the workload.
func (w *world) addWeb(name, uid string, options ...shimtest.PodOption) {
	w.AddPod(name, "cpu=1", append([]shimtest.PodOption{func(pod *v1.Pod) {
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: w.kind, Name: "web", UID: "uid-web", Controller: new(true)}}
		pod.Labels["app"] = "web"
		pod.UID = types.UID("uid-" + name + uid)
	}}, options...)...)
}

// start starts a descheduler.
func (w *world) start(args *migration.Args, killAt int, late bool) {
	w.t.Helper()
	p := &process{killAt: killAt, late: late, installation: w.as, factory: informers.NewSharedInformerFactory(w.API, 0), places: places.New(w.t)}
	p.client = &fake.Clientset{}
	p.client.AddReactor("*", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		return w.request(p, action, func() (runtime.Object, error) { return w.serve(action) })
	})
	p.dynamic = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{migration.Resource: "PodMigrationJobList"})
	p.dynamic.PrependReactor("*", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		return w.request(p, action, func() (runtime.Object, error) {
			if create, ok := action.(clienttesting.CreateActionImpl); ok {
				w.bear(create.Object)
			}
			return w.jobs.Invokes(action, &unstructured.Unstructured{})
		})
	})
	p.dynamic.PrependWatchReactor("*", func(action clienttesting.Action) (bool, watch.Interface, error) {
		watch, err := w.jobs.InvokesWatch(action)
		return true, watch, err
	})
	w.process = p
	controller, err := migration.New(args, p)
	assert.NilError(w.t, err)
	w.Controller = controller
	ctx, cancel := context.WithCancel(context.Background())
	w.t.Cleanup(func() { cancel(); p.factory.Shutdown() })
	p.factory.Start(ctx.Done())
	p.factory.WaitForCacheSync(ctx.Done())
}

// bear gives a new object what an API server gives it.
func (w *world) bear(object any) {
	accessor, err := meta.Accessor(object)
	assert.NilError(w.t, err)
	accessor.SetUID(types.UID("uid-" + accessor.GetName()))
	if _, ok := object.(*v1.Pod); !ok {
		w.born++ // a job may be made again under its name
		accessor.SetUID(types.UID(fmt.Sprint("job-", w.born)))
	}
	accessor.SetCreationTimestamp(metav1.NewTime(time.Now().Truncate(time.Second)))
}

// request carries a request out, unless the process ends with it.
func (w *world) request(p *process, action clienttesting.Action, carryOut func() (runtime.Object, error)) (bool, runtime.Object, error) {
	if p.dead {
		return true, nil, errKilled
	}
	if slices.Contains([]string{"get", "list", "watch"}, action.GetVerb()) {
		object, err := carryOut()
		return true, object, err
	}
	p.writes = append(p.writes, strings.TrimSuffix(action.GetVerb()+" "+action.GetResource().Resource+"/"+action.GetSubresource(), "/"))
	if p.killAt == len(p.writes) {
		if p.dead = true; p.late {
			_, _ = carryOut()
		}
		return true, nil, errKilled
	}
	object, err := carryOut()
	return true, object, err
}

// serve is the API server for pods and the like.
func (w *world) serve(action clienttesting.Action) (runtime.Object, error) {
	create, ok := action.(clienttesting.CreateActionImpl)
	switch {
	case ok && action.GetSubresource() == "eviction":
		eviction := create.Object.(*policy.Eviction)
		if w.refuse != nil {
			return nil, w.refuse
		}
		return eviction, w.ended(eviction.Name, *eviction.DeleteOptions)
	case ok && action.GetResource().Resource == "pods" && w.forbids != nil:
		return nil, w.forbids
	case ok && action.GetResource().Resource == "pods":
		w.bear(create.Object)
		create.Object.(*v1.Pod).Status.Phase = v1.PodPending
	}
	if remove, ok := action.(clienttesting.DeleteActionImpl); ok && w.Pod(remove.Name).Labels["app"] == "web" {
		return nil, w.ended(remove.Name, remove.DeleteOptions)
	}
	return w.API.Invokes(action, nil)
}

// ended deletes a pod, which counts as an eviction.
func (w *world) ended(name string, options metav1.DeleteOptions) error {
	err := w.API.CoreV1().Pods("default").Delete(context.Background(), name, options)
	if err == nil {
		w.evicted = append(w.evicted, string(*options.Preconditions.UID))
	}
	return err
}

// all are the pods of the cluster by name.
func (w *world) all() []v1.Pod {
	list, err := w.API.CoreV1().Pods("default").List(context.Background(), metav1.ListOptions{})
	assert.NilError(w.t, err)
	return list.Items
}

// turn is one second of the cluster: kubelets end and start pods, the workload replaces its
// pods.
func (w *world) turn() {
	w.t.Helper()
	present := map[string]bool{}
	for _, pod := range w.all() {
		switch {
		case pod.DeletionTimestamp != nil:
			if time.Until(pod.DeletionTimestamp.Time) <= time.Duration(*pod.DeletionGracePeriodSeconds)*time.Second-w.stops {
				w.EndPod(pod.Name)
			} else if w.kind == "StatefulSet" { // it waits for the name
				present[pod.Name] = true
			}
			continue
		case pod.Spec.NodeName != "" && pod.Status.Phase == v1.PodPending && w.starts >= 0 && time.Since(pod.CreationTimestamp.Time) >= w.starts:
			w.ChangePod(pod.Name, func(pod *v1.Pod) {
				pod.Status.Phase = v1.PodRunning
				pod.Status.Conditions = append(pod.Status.Conditions, v1.PodCondition{Type: v1.PodReady, Status: v1.ConditionTrue})
			})
		}
		if pod.Labels["app"] == "web" {
			present[pod.Name] = true
		}
	}
	for i := 0; len(present)+w.missing < 3; i++ {
		name := fmt.Sprintf("web-%d", i)
		if w.kind == "ReplicaSet" {
			name = fmt.Sprintf("web-new-%d", w.made)
		}
		if !present[name] {
			w.made++
			present[name] = true
			uid := ""
			if w.kind == "StatefulSet" {
				uid = fmt.Sprintf("-again-%d", w.made)
			}
			w.addWeb(name, uid)
		}
	}
	w.Advance(time.Second)
}

// job is a job as the API server has it; nil if there is none.
func (w *world) job(name string) *migration.Job {
	w.t.Helper()
	object, err := w.jobs.Resource(migration.Resource).Get(context.Background(), name, metav1.GetOptions{})
	if err != nil {
		return nil
	}
	job := new(migration.Job)
	assert.NilError(w.t, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, job))
	return job
}

// put makes a job, as a user does.
func (w *world) put(job *migration.Job) {
	w.t.Helper()
	job.APIVersion, job.Kind = migration.Domain+"/"+migration.Version, migration.Kind
	w.bear(job)
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(job)
	assert.NilError(w.t, err)
	_, err = w.jobs.Resource(migration.Resource).Create(context.Background(), &unstructured.Unstructured{Object: object}, metav1.CreateOptions{})
	assert.NilError(w.t, err)
}

// change changes a job, as a user does.
func (w *world) change(name string, change func(*migration.Job)) {
	w.t.Helper()
	job := w.job(name)
	change(job)
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(job)
	assert.NilError(w.t, err)
	_, err = w.jobs.Resource(migration.Resource).Update(context.Background(), &unstructured.Unstructured{Object: object}, metav1.UpdateOptions{})
	assert.NilError(w.t, err)
}

// names are the names of all jobs.
func (w *world) names() []string {
	list, err := w.jobs.Resource(migration.Resource).List(context.Background(), metav1.ListOptions{})
	assert.NilError(w.t, err)
	var names []string
	for _, item := range list.Items {
		names = append(names, item.GetName())
	}
	slices.Sort(names)
	return names
}

// drive lets the descheduler work for some seconds, each job one step at a time. It ends
// when the process has ended, or when all jobs have.
func (w *world) drive(seconds int) {
	w.t.Helper()
	for range seconds {
		over := len(w.names()) > 0
		_ = w.Arbitrate(context.Background()) // errors of a process that ends
		for _, name := range w.names() {
			for range 20 {
				again, err := w.Reconcile(context.Background(), name)
				w.Settle()
				if err != nil || again != time.Nanosecond {
					break
				}
			}
			over = over && w.job(name).Ended()
		}
		if over || w.process.dead {
			return
		}
		w.turn()
	}
}

// reservations are the reservations that are not being deleted.
func (w *world) reservations() []string {
	var names []string
	for _, pod := range w.all() {
		if pods.IsReservation(&pod) && pod.DeletionTimestamp == nil {
			names = append(names, pod.Name)
		}
	}
	return names
}

// evict asks the plugin to migrate a pod, and returns the name of the job.
func (w *world) evict(name string) string {
	w.t.Helper()
	pod := w.Pod(name)
	assert.NilError(w.t, w.EvictPod(context.Background(), pod, optionsOf("main")))
	return "migration-" + string(pod.UID)
}

// steps are the conditions of a job in their order, those that hold.
func steps(job *migration.Job) []string {
	var all []string
	for _, c := range job.Status.Conditions {
		if c.Status == metav1.ConditionTrue {
			all = append(all, string(c.Type))
		}
	}
	return all
}

// optionsOf are those of an eviction.
func optionsOf(profile string) framework.EvictOptions {
	return framework.EvictOptions{Reason: "test", PluginName: "Test", ProfileName: profile}
}

// restartScheduler ends the scheduler and starts another one.
func (w *world) restartScheduler() {
	w.t.Helper()
	w.MockScheduler.Stop()
	w.MockScheduler = shimtest.New(w.t, shimtest.Options{API: w.API})
	w.Feasibility.Conflict = forbids
	w.MockScheduler.Start()
}

// cordon keeps new pods from a node.
func cordon(node *v1.Node) { node.Spec.Unschedulable = true }
