package oracle

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/frameworktest/nodefit"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/landing"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/migration"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/order"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/queues"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/policy"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/feasibility"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// start is the time of the first cycle.
var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// An engine has what does not depend on the world.
type engine struct {
	t        testing.TB
	registry *framework.Registry
	options  policy.Options
	cluster  *landing.Cluster
}

func newEngine(t testing.TB) *engine {
	r := new(framework.Registry)
	assert.NilError(t, r.Register(slices.Concat(plugins.Definitions(), evictors.Register(), controllers.Register(),
		[]framework.Definition{migration.Definition()},
		queues.Definitions(func(a, b *v1.Pod) bool { return order.Compare(a, b) < 0 }))...))
	var objects []runtime.Object
	for _, n := range namespaces() {
		objects = append(objects, n)
	}
	for _, c := range claims() {
		objects = append(objects, c)
	}
	for _, v := range volumes() {
		objects = append(objects, v)
	}
	client := fake.NewClientset(objects...)
	factory := informers.NewSharedInformerFactory(client, 0)
	checker, err := feasibility.New(t.Context(), client, factory, feasibility.Options{Workers: 1})
	assert.NilError(t, err)
	factory.Start(t.Context().Done())
	t.Cleanup(factory.Shutdown)
	assert.NilError(t, checker.WaitForSync(t.Context()))
	c, err := landing.New(checker, landing.Options{Rules: pods.Rules{SchedulerNames: []string{"narwhal"}}})
	assert.NilError(t, err)
	return &engine{t: t, registry: r, cluster: c, options: policy.Options{Defaults: map[framework.Point][]string{
		framework.Filter: {"DefaultEvictor"}, framework.PreEvictionFilter: {"DefaultEvictor"},
		framework.Sort: {"PrioritySort"}, framework.Evict: {"Eviction"},
	}}}
}

// A run is a descheduler at work in a world that the test changes between its cycles.
type run struct {
	t        testing.TB
	w        *world
	clock    *clocktesting.FakeClock
	d        *descheduler.Descheduler
	evicted  []types.UID        // what the API server evicted in this cycle
	shuffled *rand.Rand         // shuffles the objects before each cycle, unless it is nil
	fails    func(*v1.Pod) bool // for which pods the API server has an error of its own
	failed   []types.UID        // the pods for which it had one
}

// start begins a run. The world is changed by it: disruption budgets pay for evictions.
func (e *engine) start(w *world, dry bool) (*run, error) {
	p, _, err := policy.Load([]byte(w.s.text()), e.registry, e.options)
	if err != nil {
		return nil, err
	}
	r := &run{t: e.t, w: w, clock: clocktesting.NewFakeClock(start)}
	client := &fake.Clientset{}
	client.AddReactor("create", "pods", func(a ktesting.Action) (bool, runtime.Object, error) {
		return true, nil, r.answer(a.(ktesting.CreateAction).GetObject().(*policyv1.Eviction))
	})
	o := descheduler.Options{
		Client: client, Clock: r.clock, DryRun: dry,
		Objects: func() (framework.Objects, error) {
			c := r.w.copy()
			if r.shuffled != nil {
				c.shuffle(r.shuffled)
			}
			return c.o, nil
		},
	}
	o.Landing = func(s *framework.Snapshot) (framework.Landing, error) { return nodefit.New(s), nil }
	if w.core {
		o.Landing = func(s *framework.Snapshot) (framework.Landing, error) {
			e.cluster.Sync(s)
			return e.cluster, nil
		}
	}
	r.d, err = descheduler.New(e.t.Context(), p, e.registry, o)
	return r, err
}

// answer is what the API server answers to an eviction.
func (r *run) answer(e *policyv1.Eviction) error {
	i := slices.IndexFunc(r.w.o.Pods, func(p *v1.Pod) bool { return p.Namespace == e.Namespace && p.Name == e.Name })
	if i < 0 {
		return apierrors.NewNotFound(v1.Resource("pods"), e.Name)
	}
	p := r.w.o.Pods[i]
	if o := e.DeleteOptions; o != nil && o.Preconditions != nil && o.Preconditions.UID != nil && *o.Preconditions.UID != p.UID {
		return apierrors.NewConflict(v1.Resource("pods"), p.Name, fmt.Errorf("uid"))
	}
	if r.fails != nil && r.fails(p) {
		r.failed = append(r.failed, p.UID)
		return apierrors.NewInternalError(fmt.Errorf("no"))
	}
	allowed, budget := charge(p, r.w.o.Budgets)
	if !allowed {
		return apierrors.NewTooManyRequests("it would violate the pod's disruption budget", 0)
	}
	if budget != nil {
		budget.Status.DisruptionsAllowed--
	}
	r.evicted = append(r.evicted, p.UID)
	return nil
}

// cycle runs a cycle and returns its report, and that as JSON.
func (r *run) cycle() (*descheduler.Report, string, error) {
	r.evicted = nil
	report, err := r.d.Cycle(r.t.Context())
	if err != nil {
		return report, "", err
	}
	var text bytes.Buffer
	err = report.JSON(&text)
	return report, text.String(), err
}

// evictions are those of a report, in a line each.
func evictions(r *descheduler.Report) (of []string) {
	for _, e := range r.Evictions {
		of = append(of, line(e))
	}
	return of
}

func line(e descheduler.Eviction) string {
	return fmt.Sprintf("%s/%s %s %s->%s (%s)", e.Profile, e.Plugin, e.Pod, e.From, e.To, e.Reason)
}

// uids are the pods that a report says were evicted.
func uids(r *descheduler.Report) (of []types.UID) {
	for _, e := range r.Evictions {
		of = append(of, e.UID)
	}
	return of
}
