package command

import (
	"cmp"
	"context"
	"errors"
	"os"

	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	metricsclient "k8s.io/metrics/pkg/client/clientset/versioned"

	"github.com/narwhal-scheduler/narwhal/pkg/identity"
	"github.com/narwhal-scheduler/narwhal/pkg/identity/ldap"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/internal/replica"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/outoftree"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/profile"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim"
	"github.com/narwhal-scheduler/narwhal/pkg/version"
)

// Requests per second to the API server if nothing else is said; and while it waits to lead, for the lease.
const (
	defaultQPS = 1000
	standbyQPS = 20
)

// run schedules until the context ends, or until another replica leads.
func (s *settings) run(ctx context.Context, log *zap.Logger, level zap.AtomicLevel) error {
	resolver, err := s.resolver()
	if err != nil {
		return err
	}
	added := outoftree.Options{Plugins: s.plugins, Log: log.Named("plugins")}
	used, err := profile.ReadFile(s.profile, s.schedulerNames, log, added.Names()...)
	if err != nil {
		return err
	}
	how, err := replica.ClientConfig(s.kubeconfig, "narwhal-scheduler")
	if err != nil {
		return err
	}
	i := &instance{
		settings: s, namespace: replica.OwnNamespace(s.namespace), pod: os.Getenv("POD_NAME"), log: log, level: level, resolver: resolver,
		profile: used, plugins: added,
		state: new(replica.Readiness), counts: shim.NewMetrics(),
	}
	i.connect = func(qps float32, burst int) (kubernetes.Interface, error) {
		how := rest.CopyConfig(how)
		how.QPS, how.Burst = qps, burst
		replica.UseProtobuf(how)
		i.counts.Instrument(how)
		return kubernetes.NewForConfig(how)
	}
	if i.measured, err = metricsclient.NewForConfig(how); err != nil {
		return err
	}
	counted := rest.CopyConfig(how)
	counted.QPS, counted.Burst = defaultQPS, 2*defaultQPS // a burst of zero lets no request through
	i.counts.Instrument(counted)
	if i.groups, err = dynamic.NewForConfig(counted); err != nil {
		return err
	}
	i.plugins.KubeConfig, i.plugins.Dynamic = how, i.groups
	probes, err := replica.ServeProbes(s.healthListen, i.state)
	if err != nil {
		return err
	}
	defer probes.Stop()
	log.Info("scheduler begins", zap.String("version", version.Text()), zap.String("namespace", i.namespace),
		zap.Strings("schedulerNames", s.schedulerNames), zap.Strings("configMaps", s.configMaps))
	err = i.lead(ctx, i.run, probes.Failed())
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		err = nil
	}
	log.Info("scheduler ended", zap.Error(err))
	return err
}

// lead has the instance run while the process leads. It has read the configuration then, as it is at that moment: one that
// waited for weeks must not begin with the queues of the day when it was started.
func (i *instance) lead(ctx context.Context, run func(context.Context) error, failed <-chan error) error {
	client, err := i.connect(standbyQPS, 2*standbyQPS)
	if err != nil {
		return err
	}
	election := &replica.Election{
		Leading: i.settings.leader, Client: client, Namespace: i.namespace, Log: i.log, State: i.state,
		Pod: types.NamespacedName{Namespace: i.namespace, Name: i.pod},
	}
	return election.Run(ctx, func(ctx context.Context) error {
		i.state.Set("lists the cluster")
		if err := i.configure(ctx, client); err != nil {
			return err
		}
		return run(ctx)
	}, failed)
}

// configure reads the configuration, and makes the client that the instance works with, as the configuration says how fast
// it may be.
func (i *instance) configure(ctx context.Context, client kubernetes.Interface) error {
	maps := i.settings.maps(i.namespace)
	var err error
	if i.config, i.problem, err = maps.Read(ctx, client); err != nil {
		return err
	}
	if i.former, err = maps.InUse(ctx, client); err != nil {
		i.log.Warn("the queues that were in use before are not known", zap.Error(err))
	}
	if i.problem != nil {
		i.log.Warn("configuration not fully understood", zap.Error(i.problem))
	}
	for _, warning := range i.config.Warnings {
		i.log.Warn("setting has no effect", zap.String("problem", warning))
	}
	qps := cmp.Or(i.settings.qps, float32(i.config.QPS), defaultQPS)
	i.client, err = i.connect(qps, cmp.Or(i.settings.burst, i.config.Burst, int(2*qps)))
	return err
}

// maps are the ConfigMaps with the configuration.
func (s *settings) maps(namespace string) shim.ConfigMaps {
	return shim.ConfigMaps{Namespace: namespace, Names: s.configMaps}
}

// resolver finds the groups of users in LDAP. It is nil where that is not configured.
func (s *settings) resolver() (identity.Resolver, error) {
	if s.ldap == "" {
		return nil, nil //nolint:nilnil // as documented
	}
	config, err := ldap.ReadDirectory(s.ldap)
	if err != nil {
		return nil, err
	}
	return ldap.New(config)
}
