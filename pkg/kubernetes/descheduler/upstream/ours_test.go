package upstream

import (
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/evictors"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/landing"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/policy"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/feasibility"
)

// An engine has what does not depend on the world.
type engine struct {
	t        testing.TB
	registry *framework.Registry
	cluster  *landing.Cluster
}

func newEngine(t testing.TB, more ...framework.Definition) *engine {
	t.Helper()
	r := new(framework.Registry)
	assert.NilError(t, r.Register(slices.Concat(plugins.Definitions(), evictors.Register(), more)...))
	factory := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
	checker, err := feasibility.New(t.Context(), fake.NewClientset(), factory, feasibility.Options{Workers: 1})
	assert.NilError(t, err)
	factory.Start(t.Context().Done())
	t.Cleanup(factory.Shutdown)
	assert.NilError(t, checker.WaitForSync(t.Context()))
	c, err := landing.New(checker, landing.Options{}) // all pods are those of another scheduler, and what that prefers is not known
	assert.NilError(t, err)
	return &engine{t: t, registry: r, cluster: c}
}

// ours are the pods that this descheduler evicts in one cycle, and why it keeps each other one.
func (e *engine) ours(w *world) (evicted []*v1.Pod, why map[*v1.Pod]string) {
	e.t.Helper()
	p, _, err := policy.Load([]byte(w.policy), e.registry, policy.Options{Defaults: map[framework.Point][]string{
		framework.Filter: {"DefaultEvictor"}, framework.PreEvictionFilter: {"DefaultEvictor"},
		framework.Sort: {"PrioritySort"}, framework.Evict: {"Eviction"},
	}})
	assert.NilError(e.t, err, "%s", w.policy)
	d, err := descheduler.New(e.t.Context(), p, e.registry, descheduler.Options{
		Client: &fake.Clientset{}, Clock: clocktesting.NewFakeClock(w.now), DryRun: true,
		Objects: func() (framework.Objects, error) { return framework.Objects{Nodes: w.nodes, Pods: w.pods}, nil },
		Landing: func(s *framework.Snapshot) (framework.Landing, error) {
			e.cluster.Sync(s)
			return e.cluster, nil
		},
	})
	assert.NilError(e.t, err)
	report, err := d.Cycle(e.t.Context())
	assert.NilError(e.t, err)
	assert.Equal(e.t, len(report.Failures), 0, "%v", report.Failures)
	why = map[*v1.Pod]string{}
	for _, pod := range w.pods {
		if slices.ContainsFunc(report.Evictions, func(e descheduler.Eviction) bool { return e.UID == pod.UID }) {
			evicted = append(evicted, pod)
		}
		why[pod] = strings.Join(strings.Fields(d.Why(pod.Namespace, pod.Name).String()), " ")
	}
	return evicted, why
}
