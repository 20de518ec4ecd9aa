package main

import (
	"cmp"
	"context"
	"errors"

	"go.uber.org/zap"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/narwhal-scheduler/narwhal/pkg/identity"
	"github.com/narwhal-scheduler/narwhal/pkg/identity/ldap"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/internal/replica"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim"
)

// Requests per second to the API server if nothing else is said.
const defaultQPS = 1000

// run schedules until the context ends, or until another replica leads.
func (s *settings) run(ctx context.Context, log *zap.Logger, level zap.AtomicLevel) error {
	namespace := replica.OwnNamespace(s.namespace)
	resolver, err := s.resolver()
	if err != nil {
		return err
	}
	counts := shim.NewMetrics()
	client, config, problem, err := s.client(ctx, namespace, counts)
	if err != nil {
		return err
	}
	if problem != nil {
		log.Warn("configuration not fully understood", zap.Error(problem))
	}
	for _, warning := range config.Warnings {
		log.Warn("setting has no effect", zap.String("problem", warning))
	}
	state := new(replica.Readiness)
	probes, err := replica.ServeProbes(s.healthListen, state)
	if err != nil {
		return err
	}
	defer probes.Stop()
	log.Info("scheduler begins", zap.String("version", replica.Version()), zap.String("namespace", namespace),
		zap.Strings("schedulerNames", s.schedulerNames), zap.Strings("configMaps", s.configMaps))
	lead := func(ctx context.Context) error {
		i := &instance{
			settings: s, client: client, config: config, resolver: resolver, namespace: namespace, log: log, level: level, state: state, counts: counts,
		}
		return i.run(ctx)
	}
	election := &replica.Election{Leading: s.leader, Client: client, Namespace: namespace, Log: log, State: state}
	err = election.Run(ctx, lead, probes.Failed())
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		err = nil
	}
	log.Info("scheduler ended", zap.Error(err))
	return err
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

// client makes the client of the API server. The configuration is read with it, since it
// says how fast the client may be; what is wrong in it is the problem.
func (s *settings) client(ctx context.Context, namespace string, counts *shim.Metrics) (client kubernetes.Interface, config shim.Configuration, problem, err error) {
	how, err := replica.ClientConfig(s.kubeconfig, "narwhal-scheduler")
	if err != nil {
		return nil, config, nil, err
	}
	first, err := kubernetes.NewForConfig(how)
	if err != nil {
		return nil, config, nil, err
	}
	config, problem, err = shim.ConfigMaps{Namespace: namespace, Names: s.configMaps}.Read(ctx, first)
	if err != nil {
		return nil, config, nil, err
	}
	how = rest.CopyConfig(how)
	how.QPS = cmp.Or(s.qps, float32(config.QPS), defaultQPS)
	how.Burst = cmp.Or(s.burst, config.Burst, int(2*how.QPS))
	replica.UseProtobuf(how)
	counts.Instrument(how)
	client, err = kubernetes.NewForConfig(how)
	return client, config, problem, err
}
