package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"k8s.io/utils/clock"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/migration"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/e2e/programs"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// A migrator is one life of the migration controller, in this process. It ends at one of its
// writes, after the API server has carried it out, as a crash does.
type migrator struct {
	framework.Handle
	*migration.Controller
	client  kubernetes.Interface
	dynamic dynamic.Interface
	factory informers.SharedInformerFactory
	cancel  context.CancelFunc
	ended   chan error

	base      http.RoundTripper
	mu        sync.Mutex
	writes    int
	killAt    int // 0 is never
	dead      bool
	evictions *evictions
}

// evictions are how often the API server has carried out an eviction, by the path of the pod.
type evictions struct {
	mu    sync.Mutex
	count map[string]int
}

func (m *migrator) ClientSet() kubernetes.Interface                        { return m.client }
func (m *migrator) DynamicClient() dynamic.Interface                       { return m.dynamic }
func (m *migrator) SharedInformerFactory() informers.SharedInformerFactory { return m.factory }
func (m *migrator) Clock() clock.WithTicker                                { return clock.RealClock{} }
func (m *migrator) ProfileName() string                                    { return "main" }
func (m *migrator) DryRun() bool                                           { return false }
func (m *migrator) Landing() framework.Landing                             { return nil }
func (m *migrator) Name() string                                           { return migration.Name }

var errCrashed = errors.New("the descheduler has crashed")

// RoundTrip passes requests on until the end.
func (m *migrator) RoundTrip(request *http.Request) (*http.Response, error) {
	write := request.Method != http.MethodGet
	m.mu.Lock()
	if write {
		m.writes++
	}
	dead, last := m.dead, write && m.writes == m.killAt
	m.dead = dead || last
	m.mu.Unlock()
	if dead {
		return nil, errCrashed
	}
	response, err := m.base.RoundTrip(request)
	if err == nil && strings.HasSuffix(request.URL.Path, "/eviction") && response.StatusCode < http.StatusMultipleChoices {
		m.evictions.mu.Lock()
		m.evictions.count[request.URL.Path]++
		m.evictions.mu.Unlock()
	}
	if !last {
		return response, err
	}
	if err == nil {
		_ = response.Body.Close()
	}
	m.cancel()
	return nil, errCrashed
}

// startMigrator starts one that ends at a write.
func startMigrator(w *World, killAt int, evictions *evictions) *migrator {
	w.t.Helper()
	m := &migrator{killAt: killAt, evictions: evictions, ended: make(chan error, 1)}
	ctx, cancel := context.WithCancel(w.ctx)
	m.cancel = cancel
	config, err := w.cluster.ConfigOf(w.ctx, namespace, migrationAccount)
	w.check(err)
	config.Wrap(func(base http.RoundTripper) http.RoundTripper {
		m.base = base
		return m
	})
	m.client, err = kubernetes.NewForConfig(config)
	w.check(err)
	m.dynamic, err = dynamic.NewForConfig(config)
	w.check(err)
	m.factory = informers.NewSharedInformerFactory(m.client, 0)
	args := migration.NewArgs()
	args.ObjectLimiters.Workload.Duration.Duration = 0
	m.Controller, err = migration.New(args, m)
	w.check(err)
	m.factory.Start(ctx.Done())
	m.factory.WaitForCacheSync(ctx.Done())
	go func() { m.ended <- m.Run(ctx) }()
	w.t.Cleanup(m.stop)
	return m
}

// stop ends it and waits until it has.
func (m *migrator) stop() {
	m.cancel()
	m.factory.Shutdown()
}

// migrationAccount may do what the roles of the descheduler and of migrations allow, and nothing else.
const migrationAccount = "migrator"

// installJobs creates the kind of jobs and the roles as users do, and waits until jobs are
// served.
func installJobs(w *World) {
	w.t.Helper()
	w.InstallDescheduler(filepath.Join(deschedulerManifests, "..", "crd.yaml"), filepath.Join(deschedulerManifests, "migration", "role.yaml"))
	_, err := w.client.CoreV1().ServiceAccounts(namespace).Create(w.ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: migrationAccount}}, metav1.CreateOptions{})
	w.check(err)
	for _, role := range []string{deschedulerName, deschedulerName + "-migration"} {
		_, err := w.client.RbacV1().ClusterRoleBindings().Create(w.ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: migrationAccount + "-" + role},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: migrationAccount}},
		}, metav1.CreateOptions{})
		w.check(err)
	}
	awaitJobKind(w)
}

// awaitJobKind waits until jobs are served.
func awaitJobKind(w *World) {
	w.t.Helper()
	kubectl, err := w.cluster.Program(programs.Kubectl)
	w.check(err)
	administrator, err := w.cluster.Kubeconfig("administrator", w.cluster.Config())
	w.check(err)
	output, err := exec.Command(kubectl, "wait", "--kubeconfig", administrator, "--for=condition=Established", "--timeout=60s",
		"crd/podmigrationjobs."+migration.Domain).CombinedOutput()
	if err != nil {
		w.t.Fatalf("%v\n%s", err, output)
	}
}

// awaitJob waits until a job has ended.
func awaitJob(w *World, name string) *migration.Job {
	w.t.Helper()
	w.Step("until job %s has ended", name)
	client, err := dynamic.NewForConfig(w.cluster.Config())
	w.check(err)
	jobs := client.Resource(migration.Resource)
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	job := new(migration.Job)
	list := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return jobs.List(ctx, o) },
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return jobs.Watch(ctx, o)
		},
	}
	_, err = watchtools.UntilWithSync(ctx, list, &unstructured.Unstructured{}, nil, func(event watch.Event) (bool, error) {
		object, ok := event.Object.(*unstructured.Unstructured)
		if !ok || object.GetName() != name {
			return false, nil
		}
		job = new(migration.Job)
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, job); err != nil {
			return false, err
		}
		return job.Ended(), nil
	})
	if err != nil {
		w.t.Fatalf("job %s has not ended: %v: %+v", name, err, job.Status)
	}
	return job
}

// TestMigrationSurvivesRestarts migrates pods one after the other. Each time the descheduler crashes
// at another write, and another one goes on: each pod ends once, its replacement runs where its
// place was reserved, and no reservation stays.
func TestMigrationSurvivesRestarts(t *testing.T) {
	needControlPlane(t)
	w := NewWorld(t, Narwhal(), Options{})
	installJobs(w)
	w.AddNodes(2, "4", "16Gi")
	w.CreateDeployment("web", 4, Pod{CPU: "500m", Memory: "1Gi"})
	w.Await(Running("web", 4))
	done := &evictions{count: map[string]int{}}
	for _, killAt := range []int{1, 2, 3, 4, 6, 8, 10, 12} {
		all := w.Pods("web")
		victim := all[slices.IndexFunc(all, func(p *corev1.Pod) bool { return p.DeletionTimestamp == nil })]
		w.Step("pod %s on %s is migrated, the descheduler crashes at write %d", victim.Name, victim.Spec.NodeName, killAt)
		first := startMigrator(w, killAt, done)
		err := first.EvictPod(w.ctx, victim, framework.EvictOptions{Reason: "a test", ProfileName: "main"})
		assert.Assert(t, err == nil || killAt == 1, "%v", err)
		select {
		case err := <-first.ended:
			assert.Assert(t, errors.Is(err, context.Canceled) || errors.Is(err, errCrashed), "%v", err)
		case <-time.After(patience):
			t.Fatalf("write %d never came", killAt)
		}
		first.stop()

		second := startMigrator(w, 0, done)
		job := awaitJob(w, "migration-"+string(victim.UID))
		second.stop()
		assert.Equal(t, job.Status.Phase, migration.Succeeded, "%+v", job.Status)
		assert.Equal(t, job.Status.NodeName, victim.Spec.NodeName)
		assert.Assert(t, job.Status.TargetNode != victim.Spec.NodeName)
		w.Await(Running("web", 4))
		replacement, err := w.client.CoreV1().Pods(namespace).Get(w.ctx, job.Status.PodRef.Name, metav1.GetOptions{})
		w.check(err)
		assert.Equal(t, replacement.Spec.NodeName, job.Status.TargetNode)
	}
	for path, count := range done.count {
		assert.Equal(t, count, 1, path)
	}
	assert.Equal(t, len(done.count), 8)
	left, err := w.client.CoreV1().Pods(corev1.NamespaceAll).List(w.ctx, metav1.ListOptions{LabelSelector: pods.LabelReservation})
	w.check(err)
	assert.Equal(t, len(left.Items), 0, fmt.Sprint(left.Items))
	w.CheckLaws()
}
