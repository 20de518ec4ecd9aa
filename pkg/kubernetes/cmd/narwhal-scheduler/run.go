package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"go.uber.org/zap"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/narwhal-scheduler/narwhal/pkg/identity"
	"github.com/narwhal-scheduler/narwhal/pkg/identity/ldap"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim"
)

// namespaceFile is where the namespace of a pod is found.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// Requests per second to the API server if nothing else is said.
const defaultQPS = 1000

// run schedules until the context ends, or until another replica leads.
func (s *settings) run(ctx context.Context, log *zap.Logger, level zap.AtomicLevel) error {
	namespace := s.ownNamespace()
	resolver, err := s.resolver()
	if err != nil {
		return err
	}
	client, config, problem, err := s.client(ctx, namespace)
	if err != nil {
		return err
	}
	if problem != nil {
		log.Warn("configuration not fully understood", zap.Error(problem))
	}
	for _, warning := range config.Warnings {
		log.Warn("setting has no effect", zap.String("problem", warning))
	}
	state := new(readiness)
	probes, err := serveProbes(s.healthListen, state)
	if err != nil {
		return err
	}
	defer probes.stop()
	log.Info("scheduler begins", zap.String("version", version()), zap.String("namespace", namespace),
		zap.Strings("schedulerNames", s.schedulerNames), zap.Strings("configMaps", s.configMaps))
	lead := func(ctx context.Context) error {
		i := &instance{
			settings: s, client: client, config: config, resolver: resolver, namespace: namespace, log: log, level: level, state: state,
		}
		return i.run(ctx)
	}
	election := &election{leading: s.leader, client: client, namespace: namespace, log: log, state: state}
	err = election.run(ctx, lead, probes.failed)
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

// ownNamespace is the namespace of the ConfigMaps and of the lease.
func (s *settings) ownNamespace() string {
	text, _ := os.ReadFile(namespaceFile) // there is none outside a cluster
	return cmp.Or(s.namespace, os.Getenv("POD_NAMESPACE"), strings.TrimSpace(string(text)), "default")
}

// client makes the client of the API server. The configuration is read with it, since it
// says how fast the client may be; what is wrong in it is the problem.
func (s *settings) client(ctx context.Context, namespace string) (client kubernetes.Interface, config shim.Configuration, problem, err error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = s.kubeconfig
	how, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, config, nil, fmt.Errorf("how to reach the API server: %w", err)
	}
	how.UserAgent = "narwhal-scheduler/" + version()
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
	how.ContentType = "application/vnd.kubernetes.protobuf" // far cheaper to read and write than JSON
	how.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	client, err = kubernetes.NewForConfig(how)
	return client, config, problem, err
}
