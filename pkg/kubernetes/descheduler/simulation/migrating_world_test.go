package simulation

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	ft "github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/frameworktest"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/landing"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/migration"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/feasibility"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim/shimtest"
)

// namespace is where all pods of a migrating world are.
const namespace = metav1.NamespaceDefault

// A migrating world is a cluster with the real scheduler, and a descheduler that runs as its
// program does: cycles by the interval and migrations by events. Kubelets and the controllers
// of workloads are played. It lives in a bubble.
type migrating struct {
	*shimtest.MockScheduler
	t       *testing.T
	jobs    *dynamicfake.FakeDynamicClient
	d       *descheduler.Descheduler
	reports []*descheduler.Report
	evicted []types.UID
	wrong   []string
	born    int
	seen    map[types.UID]*migration.Job // as they were last; they are deleted some time after their end
}

// newMigrating starts a scheduler with some objects.
func newMigrating(t *testing.T, o framework.Objects, queues string) *migrating {
	t.Helper()
	w := &migrating{
		t: t, seen: map[types.UID]*migration.Job{},
		MockScheduler: shimtest.New(t, shimtest.Options{Queues: queues, Feasibility: func(ctx context.Context, client kubernetes.Interface, factory informers.SharedInformerFactory) (shim.Feasibility, error) {
			return feasibility.New(ctx, client, factory, feasibility.Options{Workers: 1})
		}}),
		jobs: dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
			migration.Resource: migration.Kind + "List", shimtest.PodGroupResource: "PodGroupList",
		}),
	}
	w.jobs.PrependReactor("create", "*", func(a ktesting.Action) (bool, runtime.Object, error) {
		job := a.(ktesting.CreateAction).GetObject().(*unstructured.Unstructured)
		w.born++
		job.SetUID(types.UID(fmt.Sprint("job-", w.born)))
		job.SetCreationTimestamp(metav1.NewTime(time.Now().Truncate(time.Second)))
		return false, nil, nil
	})
	w.jobs.PrependReactor("*", "podgroups", func(a ktesting.Action) (bool, runtime.Object, error) {
		object, err := w.API.Dynamic.Invokes(a, nil)
		return true, object, err
	})
	for _, n := range o.Nodes {
		w.Put(n)
	}
	for _, p := range o.Pods {
		w.Put(p)
	}
	w.Start()
	return w
}

// run runs a descheduler until it is stopped, or the test ends.
func (w *migrating) run(text, queues string) (stop func()) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	factory, client := shim.NewFactory(w.API), client{&fake.Clientset{}, w.API}
	client.AddReactor("create", "pods", func(a ktesting.Action) (bool, runtime.Object, error) {
		if e, ok := a.(ktesting.CreateAction).GetObject().(*policyv1.Eviction); ok {
			return true, e, w.evict(e)
		}
		return false, nil, nil
	})
	client.AddReactor("*", "*", func(a ktesting.Action) (bool, runtime.Object, error) {
		object, err := w.API.Invokes(a, nil)
		return true, object, err
	})
	maker := func() func(*framework.Snapshot) (framework.Landing, error) {
		checker, err := feasibility.New(ctx, w.API, factory, feasibility.Options{Workers: 1})
		assert.NilError(w.t, err)
		c, err := landing.New(checker, landing.Options{Rules: pods.Rules{SchedulerNames: []string{schedulerName}}, Queues: queues})
		assert.NilError(w.t, err)
		return func(s *framework.Snapshot) (framework.Landing, error) {
			c.Sync(s)
			return c, nil
		}
	}
	d, err := descheduler.New(ctx, load(w.t, text), registry(w.t), descheduler.Options{
		Client: client, Dynamic: w.jobs, Informers: factory, Landing: maker(), ControllerLanding: maker(), Usage: w,
		Interval: cycleEvery, Reported: func(r *descheduler.Report) { w.reports = append(w.reports, r) },
	})
	assert.NilError(w.t, err)
	over := make(chan error)
	go func() { over <- d.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		assert.Check(w.t, <-over == nil)
		factory.Shutdown()
		time.Sleep(2 * time.Second) // in virtual time: filter plugins look for the end once in a second
	})
	w.t.Cleanup(stop)
	w.d = d
	return stop
}

// cycleEvery is the interval of cycles.
const cycleEvery = time.Minute

// evict is the answer of the API server to an eviction. A place must have been reserved
// before, on another node.
func (w *migrating) evict(e *policyv1.Eviction) error {
	uid := *e.DeleteOptions.Preconditions.UID
	pod, err := w.API.CoreV1().Pods(namespace).Get(context.Background(), e.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if pod.UID != uid {
		return apierrors.NewConflict(v1.Resource("pods"), e.Name, fmt.Errorf("the UID differs"))
	}
	job := w.job("migration-" + string(uid))
	switch {
	case pods.IsTerminal(pod): // it keeps no room, and nothing is made in its place
	case job == nil:
		w.wrong = append(w.wrong, e.Name+" is evicted without a job")
	case job.Status.TargetNode == "" || job.Status.TargetNode == pod.Spec.NodeName:
		w.wrong = append(w.wrong, fmt.Sprintf("%s is evicted from %s with the place %q", e.Name, pod.Spec.NodeName, job.Status.TargetNode))
	case !w.keepsPlace(job):
		w.wrong = append(w.wrong, fmt.Sprintf("%s is evicted, and nothing keeps its place on %s", e.Name, job.Status.TargetNode))
	}
	if pods.IsReservation(pod) {
		w.wrong = append(w.wrong, e.Name+" is a reservation")
	}
	if job != nil && job.Spec.Group != nil {
		places := len(slices.DeleteFunc(w.all(), func(of *migration.Job) bool {
			return of.Spec.Group == nil || of.Spec.Group.Name != job.Spec.Group.Name || of.Status.TargetNode == ""
		}))
		if places != job.Spec.Group.Count {
			w.wrong = append(w.wrong, fmt.Sprintf("%s is evicted, and %d of %d of its gang have a place", e.Name, places, job.Spec.Group.Count))
		}
	}
	w.evicted = append(w.evicted, uid)
	return w.API.CoreV1().Pods(namespace).Delete(context.Background(), e.Name, *e.DeleteOptions)
}

// keepsPlace says whether the reservation of a job has the node that the job names.
func (w *migrating) keepsPlace(job *migration.Job) bool {
	place, err := w.API.CoreV1().Pods(namespace).Get(context.Background(), job.Status.Reservation.Name, metav1.GetOptions{})
	return err == nil && place.DeletionTimestamp == nil && place.Spec.NodeName == job.Status.TargetNode
}

// pods are all pods there are.
func (w *migrating) pods() (all []*v1.Pod) {
	list, err := w.API.CoreV1().Pods(namespace).List(context.Background(), metav1.ListOptions{})
	assert.NilError(w.t, err)
	for i := range list.Items {
		all = append(all, &list.Items[i])
	}
	return all
}

// job is one of the jobs there are; nil if it is not there.
func (w *migrating) job(name string) *migration.Job {
	object, err := w.jobs.Resource(migration.Resource).Get(context.Background(), name, metav1.GetOptions{})
	if err != nil {
		return nil
	}
	job := new(migration.Job)
	assert.NilError(w.t, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, job))
	return job
}

// all are the jobs there are.
func (w *migrating) all() (jobs []*migration.Job) {
	list, err := w.jobs.Resource(migration.Resource).List(context.Background(), metav1.ListOptions{})
	assert.NilError(w.t, err)
	for _, item := range list.Items {
		jobs = append(jobs, w.job(item.GetName()))
	}
	return jobs
}

// turn is some seconds of the cluster: kubelets end pods and start those that were placed, and
// controllers make pods anew.
func (w *migrating) turn() {
	w.t.Helper()
	for _, p := range w.pods() {
		switch {
		case p.DeletionTimestamp != nil:
			w.EndPod(p.Name)
			if returns(p) && !pods.IsReservation(p) {
				w.Put(w.anew(p))
			}
		case p.Spec.NodeName != "" && p.Status.Phase == v1.PodPending:
			w.ChangePod(p.Name, func(p *v1.Pod) {
				now := metav1.NewTime(time.Now())
				p.Status.Phase, p.Status.StartTime = v1.PodRunning, &now
				p.Status.Conditions = append(p.Status.Conditions, isReady...)
			})
		}
	}
	w.Advance(5 * time.Second)
}

// anew is the pod that its controller makes in place of another.
func (w *migrating) anew(p *v1.Pod) *v1.Pod {
	next := p.DeepCopy()
	next.UID += "+"
	if p.OwnerReferences[0].Kind != "StatefulSet" {
		next.Name += "x"
	}
	next.DeletionTimestamp, next.DeletionGracePeriodSeconds = nil, nil
	next.CreationTimestamp, next.Spec.NodeName = metav1.NewTime(time.Now().Truncate(time.Second)), ""
	next.Status = v1.PodStatus{Phase: v1.PodPending, QOSClass: p.Status.QOSClass}
	return next
}

// Node implements framework.Usage: nodes use what their pods do.
func (w *migrating) Node(name string) (v1.ResourceList, bool) {
	var cpu, memory int64
	for _, p := range w.pods() {
		if p.Spec.NodeName == name && p.Status.Phase == v1.PodRunning && !pods.IsReservation(p) {
			use := usedBy(p)
			cpu, memory = cpu+use.Cpu().MilliValue(), memory+use.Memory().Value()
		}
	}
	return amounts(cpu, memory), true
}

// Pod implements framework.Usage. A reservation uses nothing.
func (w *migrating) Pod(_, name string) (v1.ResourceList, bool) {
	p, err := w.API.CoreV1().Pods(namespace).Get(context.Background(), name, metav1.GetOptions{})
	switch {
	case err != nil:
		return nil, false
	case pods.IsReservation(p):
		return amounts(0, 0), true
	}
	return usedBy(p), true
}

// podLifeTime is how old the policies of choices let a pod become.
const podLifeTime = time.Hour

// migratable makes of random objects such as all belong to the scheduler of this project, in one
// namespace, as old as the time of the bubble wants it. Gangs and pods that are ending are
// left out.
func migratable(o framework.Objects) framework.Objects {
	var kept []*v1.Pod
	shift := time.Since(ft.Now)
	for _, p := range o.Pods {
		if p.DeletionTimestamp != nil {
			continue
		}
		if p.Spec.SchedulerName == "" {
			ours(p.Labels["app"], queueNames[0])(p)
		}
		delete(p.Annotations, pods.AnnotationTaskGroup)
		delete(p.Annotations, pods.AnnotationTaskGroups)
		p.Namespace, p.UID = namespace, types.UID("uid-"+p.Name)
		since := metav1.NewTime(p.CreationTimestamp.Add(shift))
		if age := time.Since(since.Time); age < podLifeTime && age+playedFor >= podLifeTime {
			since = metav1.NewTime(time.Now()) // or it would be too old in the middle, and never be at rest
		}
		p.CreationTimestamp, p.Status.StartTime = since, &since
		kept = append(kept, p)
	}
	o.Pods = kept
	return o
}

// A client has the discovery of the API server.
type client struct {
	*fake.Clientset
	api *shimtest.API
}

func (c client) Discovery() discovery.DiscoveryInterfaces { return c.api.Discovery() }
