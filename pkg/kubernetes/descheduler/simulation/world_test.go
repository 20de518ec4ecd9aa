package simulation

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/controllers"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/evictors"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	ft "github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/frameworktest"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/internal/scores"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/landing"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/migration"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/order"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/queues"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/policy"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/feasibility"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// schedulerName is that of pods which the scheduler of this project places.
const schedulerName = "narwhal"

// A world is one cluster, with a descheduler that really evicts.
type world struct {
	t       testing.TB
	objects framework.Objects
	queues  string
	policy  *policy.Policy
	clock   *clocktesting.FakeClock
	d       *descheduler.Descheduler

	refuse  func(*v1.Pod) error // what the API server answers besides; nil: all is well
	evicted []*v1.Pod           // in this cycle, in the order of the API server
}

// registry has all plugins.
func registry(t testing.TB) *framework.Registry {
	t.Helper()
	r := new(framework.Registry)
	assert.NilError(t, r.Register(slices.Concat(plugins.Definitions(), evictors.Register(), controllers.Register(), []framework.Definition{migration.Definition()},
		queues.Definitions(func(a, b *v1.Pod) bool { return order.Compare(a, b) < 0 }))...))
	return r
}

// measured names both sources of measured use, which a world is.
const measured = "\nmetricsProviders: [{source: KubernetesMetrics}, {source: Prometheus, prometheus: {url: http://world}}]\n"

// load reads a policy.
func load(t testing.TB, text string) *policy.Policy {
	t.Helper()
	if !strings.Contains(text, "metricsProviders:") {
		text += measured
	}
	p, _, err := policy.Load([]byte(text), registry(t), policy.Options{
		Defaults: map[framework.Point][]string{
			framework.Filter: {"DefaultEvictor"}, framework.PreEvictionFilter: {"DefaultEvictor"},
			framework.Sort: {order.Name}, framework.Evict: {evictors.EvictionName},
		},
		ConfigurationDefaults: map[framework.Point][]string{
			framework.Filter: {migration.Name}, framework.PreEvictionFilter: {migration.Name},
			framework.Sort: {order.Name}, framework.Evict: {migration.Name},
		},
	})
	assert.NilError(t, err, "%s", text)
	return p
}

// unlimited is one queue without limits.
const unlimited = "partitions: [{name: default, queues: [{name: root, queues: [{name: a}]}]}]"

// newWorld is a cluster with a policy.
func newWorld(t testing.TB, o framework.Objects, queues string, p *policy.Policy) *world {
	t.Helper()
	w := &world{t: t, objects: o, queues: queues, policy: p, clock: clocktesting.NewFakeClock(ft.Now)}
	w.d = w.descheduler(false)
	return w
}

// descheduler makes one over the cluster, with a core of its own.
func (w *world) descheduler(dryRun bool) *descheduler.Descheduler {
	w.t.Helper()
	options := descheduler.Options{
		Client: w.server(), Clock: w.clock, DryRun: dryRun, Usage: w,
		Objects: w.seen,
	}
	c := newLanding(w.t, w.queues, w.objects.Pods)
	options.Landing = func(s *framework.Snapshot) (framework.Landing, error) {
		c.SetOrder(w.policy.NodeOrder)
		c.PackOthers(w.policy.Enables("HighNodeUtilization", framework.Balance))
		c.Sync(s)
		return c, nil
	}
	d, err := descheduler.New(w.t.Context(), w.policy, registry(w.t), options)
	assert.NilError(w.t, err)
	return d
}

// A sharedLanding is a landing with the informers that tell it of controllers. What it knows of one world is replaced by that of the
// next, so that few are made.
type sharedLanding struct {
	*landing.Cluster
	factory informers.SharedInformerFactory
}

// idle are those that no test uses now. They work until the process ends.
var idle struct {
	sync.Mutex
	landings []*sharedLanding
}

// newLanding is the scheduler's core with the real filter plugins, until the test ends.
func newLanding(t testing.TB, queues string, all []*v1.Pod) *landing.Cluster {
	t.Helper()
	idle.Lock()
	defer idle.Unlock()
	last := len(idle.landings) - 1
	if last < 0 {
		idle.landings, last = append(idle.landings, makeLanding(t)), 0
	}
	l := idle.landings[last]
	idle.landings = idle.landings[:last]
	t.Cleanup(func() {
		idle.Lock()
		defer idle.Unlock()
		idle.landings = append(idle.landings, l)
	})
	ft.Controllers(t, l.factory, all)
	assert.NilError(t, l.SetQueues(queues))
	l.SetOrder("") // the policy of the last world may have had one
	l.PackOthers(false)
	return l.Cluster
}

func makeLanding(t testing.TB) *sharedLanding {
	t.Helper()
	client := fake.NewClientset()
	factory := informers.NewSharedInformerFactory(client, 0)
	checker, err := feasibility.New(context.Background(), client, factory, feasibility.Options{})
	assert.NilError(t, err)
	preferred, err := scores.New(context.Background(), client, factory)
	assert.NilError(t, err)
	factory.Start(context.Background().Done())
	assert.NilError(t, checker.WaitForSync(t.Context()))
	c, err := landing.New(checker, landing.Options{Rules: pods.Rules{SchedulerNames: []string{schedulerName}}, Scores: preferred})
	assert.NilError(t, err)
	return &sharedLanding{c, factory}
}

// server is an API server that knows evictions only, and keeps disruption budgets.
func (w *world) server() *fake.Clientset {
	client := &fake.Clientset{}
	client.AddReactor("create", "pods", func(a ktesting.Action) (bool, runtime.Object, error) {
		e, ok := a.(ktesting.CreateAction).GetObject().(*policyv1.Eviction)
		assert.Assert(w.t, ok)
		return true, nil, w.answer(w.pod(e.Namespace, e.Name, *e.DeleteOptions.Preconditions.UID))
	})
	return client
}

// answer is that of the API server to an eviction.
func (w *world) answer(pod *v1.Pod) error {
	if pod == nil {
		return apierrors.NewNotFound(v1.Resource("pods"), "")
	}
	if w.refuse != nil {
		if err := w.refuse(pod); err != nil {
			return err
		}
	}
	for _, b := range w.budgetsOf(pod) {
		if b.Status.DisruptionsAllowed <= 0 {
			return apierrors.NewTooManyRequests("it would violate the pod's disruption budget", 0)
		}
		b.Status.DisruptionsAllowed--
	}
	w.evicted = append(w.evicted, pod)
	return nil
}

func (w *world) budgetsOf(pod *v1.Pod) (of []*policyv1.PodDisruptionBudget) {
	if pod.Status.Phase != v1.PodRunning {
		return nil
	}
	for _, b := range w.objects.Budgets {
		s, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		assert.NilError(w.t, err)
		if b.Namespace == pod.Namespace && s.Matches(labels.Set(pod.Labels)) {
			of = append(of, b)
		}
	}
	return of
}

func (w *world) pod(namespace, name string, uid types.UID) *v1.Pod {
	for _, p := range w.objects.Pods {
		if p.Namespace == namespace && p.Name == name && p.UID == uid {
			return p
		}
	}
	return nil
}

// cycle runs one cycle, and returns its report and the same as JSON.
func (w *world) cycle(d *descheduler.Descheduler) (*descheduler.Report, string) {
	w.t.Helper()
	w.evicted = nil
	report, err := d.Cycle(w.t.Context())
	assert.NilError(w.t, err)
	var text bytes.Buffer
	assert.NilError(w.t, report.JSON(&text))
	return report, text.String()
}

// movesOf are the evictions of a cycle: plugin, pod, and from where to where.
func movesOf(report *descheduler.Report) (moves []string) {
	for _, e := range report.Evictions {
		moves = append(moves, fmt.Sprintf("%s %s %s %s", e.Plugin, e.Pod, e.From, e.To))
	}
	return moves
}

// seen is the cluster as informers have it: what the API server counts down meanwhile is
// not in it.
func (w *world) seen() (framework.Objects, error) {
	o := w.objects
	o.Budgets = nil
	for _, b := range w.objects.Budgets {
		o.Budgets = append(o.Budgets, b.DeepCopy())
	}
	return o, nil
}

// settle lets the evicted pods end, and those that are made in their place run where the
// report says.
func (w *world) settle(report *descheduler.Report) {
	w.t.Helper()
	w.clock.Step(time.Minute)
	to := map[types.UID]string{}
	for _, e := range report.Evictions {
		to[e.UID] = e.To
	}
	var kept []*v1.Pod
	for _, p := range w.objects.Pods {
		node, gone := to[p.UID]
		if !gone {
			kept = append(kept, p)
			continue
		}
		if _, owned := framework.WorkloadOf(p); owned && p.Status.Phase == v1.PodRunning && node != "" {
			kept = append(kept, w.anew(p, node))
		}
	}
	w.objects.Pods = kept
	w.allow()
}

// anew is the pod that its controller makes in place of another. Those of a StatefulSet keep
// their name.
func (w *world) anew(pod *v1.Pod, node string) *v1.Pod {
	next := pod.DeepCopy()
	next.UID = pod.UID + "+"
	if pod.OwnerReferences[0].Kind != "StatefulSet" {
		next.Name = pod.Name + "x"
	}
	now := metav1.NewTime(w.clock.Now())
	next.CreationTimestamp, next.Spec.NodeName = now, node
	next.Status = v1.PodStatus{Phase: v1.PodRunning, StartTime: &now, Conditions: isReady, QOSClass: pod.Status.QOSClass}
	return next
}

var isReady = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}

// allow fills in what each budget allows: one pod at a time. A budget of none allows nothing.
func (w *world) allow() {
	for _, b := range w.objects.Budgets {
		b.Status.DisruptionsAllowed = 1
		if b.Spec.MaxUnavailable != nil {
			b.Status.DisruptionsAllowed = b.Spec.MaxUnavailable.IntVal
		}
		b.Status.CurrentHealthy, b.Status.DesiredHealthy = 10, 5
	}
}

// Node implements framework.Usage: nodes use what their pods do.
func (w *world) Node(name string) (v1.ResourceList, bool) {
	var cpu, memory int64
	for _, p := range w.objects.Pods {
		if p.Spec.NodeName == name && p.Status.Phase == v1.PodRunning {
			use := usedBy(p)
			cpu, memory = cpu+use.Cpu().MilliValue(), memory+use.Memory().Value()
		}
	}
	return amounts(cpu, memory), true
}

// Of implements framework.UsageSources: a query is answered with the part of its processors that
// a node uses. Prometheus says nothing of pods.
func (w *world) Of(_ context.Context, query framework.UsageQuery) (framework.Usage, error) {
	if query.Source == framework.Prometheus {
		return queried{w}, nil
	}
	return w, nil
}

// queried is what Prometheus answers.
type queried struct{ w *world }

// Node implements framework.Usage.
func (q queried) Node(name string) (v1.ResourceList, bool) {
	use, _ := q.w.Node(name)
	for _, n := range q.w.objects.Nodes {
		if n.Name == name {
			part := use.Cpu().MilliValue() * 1000 / n.Status.Allocatable.Cpu().MilliValue()
			return v1.ResourceList{framework.MetricResource: *resource.NewMilliQuantity(part, resource.DecimalSI)}, true
		}
	}
	return nil, false
}

// Pod implements framework.Usage.
func (queried) Pod(string, string) (v1.ResourceList, bool) { return nil, false }

// Pod implements framework.Usage.
func (w *world) Pod(namespace, name string) (v1.ResourceList, bool) {
	for _, p := range w.objects.Pods {
		if p.Namespace == namespace && p.Name == name {
			return usedBy(p), true
		}
	}
	return nil, false
}
