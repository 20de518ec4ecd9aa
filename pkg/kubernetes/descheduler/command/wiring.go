package command

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	metricsclient "k8s.io/metrics/pkg/client/clientset/versioned"
	"k8s.io/utils/clock"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/controllers"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/evictors"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/internal/scores"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/landing"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/migration"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/evictable"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/order"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/queues"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/utilization"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/policy"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/usage"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/feasibility"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/internal/replica"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim"
)

// registry has all plugins that policies may name: those of this project, and others.
func registry(further []framework.Definition) (*framework.Registry, error) {
	r := new(framework.Registry)
	return r, r.Register(slices.Concat(
		plugins.Definitions(), []framework.Definition{migration.Definition()},
		evictors.Register(), controllers.Register(), queues.Definitions(func(a, b *v1.Pod) bool { return order.Compare(a, b) < 0 }), further,
	)...)
}

// defaults are the plugins that each profile has unless it switches them off.
func defaults() map[framework.Point][]string {
	return map[framework.Point][]string{
		framework.Filter:            {evictable.Name},
		framework.PreEvictionFilter: {evictable.Name},
		framework.Sort:              {order.Name},
		framework.Evict:             {evictors.EvictionName},
	}
}

// configurationDefaults are those of the kind DeschedulerConfiguration, which migrates: the
// evict plugin is a controller too.
func configurationDefaults() map[framework.Point][]string {
	return map[framework.Point][]string{
		framework.Filter:            {migration.Name},
		framework.PreEvictionFilter: {migration.Name},
		framework.Sort:              {order.Name},
		framework.Evict:             {migration.Name},
	}
}

// A wired descheduler takes the feature gates into account, and keeps measured use fresh.
type wired struct {
	*descheduler.Descheduler
	*parts
	sources *usage.Sources
	order   *atomic.Pointer[nodeOrder]
}

// Run implements descheduling.
func (w wired) Run(ctx context.Context) error {
	if w.settings.interval == 0 {
		if err := w.sources.Poll(ctx); err != nil {
			w.log.Warn("measured use of nodes cannot be read", zap.Error(err))
		}
		return w.Descheduler.Run(ctx)
	}
	ctx, stop := context.WithCancel(ctx)
	var polls sync.WaitGroup
	polls.Go(func() { w.sources.Run(ctx) })
	defer polls.Wait()
	defer stop()
	return w.Descheduler.Run(ctx)
}

// Reload implements descheduling.
func (w wired) Reload(ctx context.Context, p *policy.Policy) error {
	if !slices.Equal(p.Metrics, w.policy.Metrics) {
		w.log.Warn("metricsProviders of the policy file take effect after a restart only")
	}
	err := w.Descheduler.Reload(ctx, gated(p, &w.settings.gates))
	if err == nil {
		w.order.Store(orderOf(p))
	}
	return err
}

// gated switches on in a policy what the gates ask for.
func gated(p *policy.Policy, g *gates) *policy.Policy {
	for i := range p.Profiles {
		if args, ok := p.Profiles[i].Args[evictors.EvictionName].(*evictors.EvictionArgs); ok && g.enabled(inBackground) {
			args.Background = true
		}
	}
	return p
}

// build makes the descheduler.
func build(ctx context.Context, p *parts) (descheduling, error) {
	how := rest.CopyConfig(p.how)
	if p.settings.dryRun {
		how = descheduler.ReadOnly(how)
	}
	replica.UseProtobuf(how)
	client, err := kubernetes.NewForConfig(how)
	if err != nil {
		return nil, err
	}
	if err := discover(client.Discovery(), clientVersion(), p.settings.interval == 0, p.log); err != nil {
		return nil, err
	}
	objects, err := dynamic.NewForConfig(how)
	if err != nil {
		return nil, err
	}
	factory := shim.NewFactory(client)
	now, err := p.settings.from.clock()
	if err != nil {
		return nil, err
	}
	sources, err := measured(how, client, p.policy, now)
	if err != nil {
		return nil, err
	}
	places := places{parts: p, client: client, factory: factory, sources: sources, clock: now, order: new(atomic.Pointer[nodeOrder])}
	places.order.Store(orderOf(p.policy))
	landing, err := places.maker(ctx)
	if err != nil {
		return nil, err
	}
	ofControllers, err := places.maker(ctx)
	if err != nil {
		return nil, err
	}
	d, err := descheduler.New(ctx, gated(p.policy, &p.settings.gates), p.registry, descheduler.Options{
		Client: client, Dynamic: objects, Informers: factory, Landing: landing, ControllerLanding: ofControllers, Usage: sources.Usage(), Clock: now,
		Interval: p.settings.interval, DryRun: p.settings.dryRun, Recorder: p.recorder, Installation: p.settings.leaseIn + "/" + p.settings.leader.Name,
		Metrics: descheduler.NewMetrics(p.metrics), Tracing: p.spans, Log: p.log,
		Reported: func(r *descheduler.Report) { p.reported(r) },
	})
	if err != nil {
		return nil, err
	}
	p.answers(d)
	return wired{d, p, sources, places.order}, nil
}

// measured are the sources of measured use that a policy names.
func measured(how *rest.Config, client kubernetes.Interface, p *policy.Policy, now clock.WithTicker) (*usage.Sources, error) {
	metrics, err := metricsclient.NewForConfig(how)
	if err != nil {
		return nil, err
	}
	var providers []usage.Provider
	for _, m := range p.Metrics {
		providers = append(providers, usage.Provider{
			Source: string(m.Source), URL: m.URL, SecretNamespace: m.SecretNamespace, SecretName: m.SecretName,
		})
	}
	return usage.New(usage.Options{Providers: providers, Metrics: metrics, Client: client, Clock: now})
}

// A nodeOrder is the order of nodes that schedulers have, as far as the policy that is in use says.
type nodeOrder struct {
	stated framework.NodeOrder // empty: it does not say
	packs  bool                // it empties nodes, which is of use with a scheduler that prefers full ones only
}

// orderOf is that of a policy.
func orderOf(p *policy.Policy) *nodeOrder {
	return &nodeOrder{stated: p.NodeOrder, packs: p.Enables(utilization.HighName, framework.Balance)}
}

// places make what says where pods would run.
type places struct {
	*parts
	client  kubernetes.Interface
	factory informers.SharedInformerFactory
	sources *usage.Sources
	clock   clock.Clock
	order   *atomic.Pointer[nodeOrder] // nil: nothing is known
}

// uses says what nodes use where the profile of the scheduler has LoadAware, which needs the same source among the metrics providers
// of the policy. Nil where the profile has not.
func (m places) uses(ctx context.Context, preferred *scores.Cluster) func() (time.Time, []framework.Measurement) {
	query, counts := preferred.Measures()
	if !counts {
		return nil
	}
	return func() (time.Time, []framework.Measurement) {
		bounded, cancel := context.WithTimeout(ctx, queuesMax)
		defer cancel()
		measured, err := m.sources.Measured(bounded, query)
		if err != nil {
			m.log.Warn("LoadAware of the scheduler cannot be known, and nodes count by requests", zap.String("source", query.Source), zap.Error(err))
		}
		return m.clock.Now(), measured
	}
}

// queuesMax bounds one read of the queues of the scheduler, for which a cycle waits.
const queuesMax = 10 * time.Second

// maker makes a function that follows the snapshots of cycles.
func (m places) maker(ctx context.Context) (func(*framework.Snapshot) (framework.Landing, error), error) {
	of := m.settings.queues
	checker, err := feasibility.New(ctx, m.client, m.factory, feasibility.Options{Profile: of.profile})
	if err != nil {
		return nil, fmt.Errorf("filter plugins: %w", err)
	}
	preferred, err := scores.New(ctx, m.client, m.factory)
	if err != nil {
		return nil, err
	}
	if err := preferred.SetProfile(of.profile); err != nil {
		return nil, err
	}
	cluster, err := landing.New(checker, landing.Options{
		Rules: pods.Rules{SchedulerNames: of.names, DefaultQueue: of.defaultQueue}, Defaults: of.defaults(), Scores: preferred, OrderAlone: !of.prefer, Measured: m.uses(ctx, preferred),
	})
	if err != nil {
		return nil, err
	}
	maps := shim.ConfigMaps{Namespace: replica.OwnNamespace(of.namespace), Names: []string{of.configMap}}
	return func(s *framework.Snapshot) (framework.Landing, error) {
		bounded, cancel := context.WithTimeout(ctx, queuesMax)
		defer cancel()
		if config, problem, err := maps.Read(bounded, m.client); err != nil || problem != nil {
			m.log.Warn("queues of the scheduler cannot be read, those before are used", zap.Error(err), zap.NamedError("problem", problem))
		} else if err := cluster.SetQueues(config.Queues); err != nil {
			m.log.Warn("queues of the scheduler are wrong, those before are used", zap.Error(err))
		}
		if m.order != nil {
			of := m.order.Load()
			cluster.SetOrder(of.stated)
			cluster.PackOthers(of.packs)
		}
		cluster.Sync(s)
		return cluster, nil
	}, nil
}
