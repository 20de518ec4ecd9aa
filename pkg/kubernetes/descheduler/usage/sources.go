package usage

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	metrics "k8s.io/metrics/pkg/client/clientset/versioned"
	"k8s.io/utils/clock"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

const (
	// PollInterval is the time between two reads of the metrics of nodes.
	PollInterval = 5 * time.Second
	// MaxAge is the age above which values are not given out, where a query says
	// nothing else.
	MaxAge = 3 * time.Minute
	// TokenFile is where a pod finds the token of its service account.
	TokenFile = "/var/run/secrets/kubernetes.io/serviceaccount/token"
	// TokenKey is the key of a secret that holds a token.
	TokenKey = "prometheusAuthToken"
)

// A Provider is a source that a policy names.
type Provider struct {
	// Source is framework.KubernetesMetrics or framework.Prometheus.
	Source string
	// URL is that of Prometheus.
	URL string
	// SecretNamespace and SecretName are the secret with the token for Prometheus.
	// Empty: the token of the service account, where there is one.
	SecretNamespace, SecretName string
}

// Options are what Sources work with.
type Options struct {
	Providers []Provider
	// Metrics is the client for metrics.k8s.io.
	Metrics metrics.Interface
	// Client reads secrets.
	Client kubernetes.Interface
	// Clock is the only source of time.
	Clock clock.WithTicker
	// Transport is used for Prometheus. Nil: that of package net/http.
	Transport http.RoundTripper
	// TokenFile is the token of the service account. Empty: the constant TokenFile.
	TokenFile string
}

// Sources are all providers of a policy. They are safe for concurrent use.
type Sources struct {
	first      string
	clock      clock.WithTicker
	nodes      *nodeMetrics
	prometheus *prometheus
}

var _ framework.UsageSources = (*Sources)(nil)

// New makes the sources that a policy names. Without any it returns nil, whose methods
// can be called, too.
func New(o Options) (*Sources, error) {
	if len(o.Providers) == 0 {
		return nil, nil
	}
	s := &Sources{first: o.Providers[0].Source, clock: o.Clock}
	var errs []error
	for _, p := range o.Providers {
		switch p.Source {
		case framework.KubernetesMetrics:
			if s.nodes != nil {
				errs = append(errs, errors.New("metrics providers: KubernetesMetrics is there twice"))
			}
			s.nodes = &nodeMetrics{client: o.Metrics, clock: o.Clock}
		case framework.Prometheus:
			if s.prometheus != nil {
				errs = append(errs, errors.New("metrics providers: Prometheus is there twice"))
			}
			if u, err := url.Parse(p.URL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
				errs = append(errs, fmt.Errorf("metrics providers: %q is no URL of Prometheus", p.URL))
			}
			s.prometheus = newPrometheus(p, o)
		default:
			errs = append(errs, fmt.Errorf("metrics providers: %q is neither KubernetesMetrics nor Prometheus", p.Source))
		}
	}
	return s, errors.Join(errs...)
}

// Usage is what a Handle answers: nil where the policy names no source.
func (s *Sources) Usage() framework.Usage {
	if s == nil {
		return nil
	}
	return s
}

// Run polls until the context ends. A poll that fails is logged and tried again: values
// get old meanwhile, and then plugins leave nodes alone.
func (s *Sources) Run(ctx context.Context) {
	if s == nil || s.nodes == nil {
		return
	}
	ticker := s.nodes.clock.NewTicker(PollInterval)
	defer ticker.Stop()
	for {
		if err := s.nodes.poll(ctx); err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "Metrics of nodes could not be read")
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
	}
}

// Poll reads the metrics of nodes once, for a command that runs one cycle only.
func (s *Sources) Poll(ctx context.Context) error {
	if s == nil || s.nodes == nil {
		return nil
	}
	return s.nodes.poll(ctx)
}

// Of implements framework.UsageSources.
func (s *Sources) Of(ctx context.Context, query framework.UsageQuery) (framework.Usage, error) {
	if query.MaxAge == 0 {
		query.MaxAge = MaxAge
	}
	switch {
	case query.Source == framework.KubernetesMetrics && s.nodes != nil:
		return s.nodes.view(ctx, query.MaxAge)
	case query.Source == framework.Prometheus && s.prometheus != nil:
		return s.prometheus.ask(ctx, query)
	default:
		return nil, fmt.Errorf("source %s is none of the metrics providers of the policy", query.Source)
	}
}

// Node implements framework.Usage for the first provider. Prometheus knows nothing
// without a query.
func (s *Sources) Node(name string) (v1.ResourceList, bool) {
	view, err := s.Of(context.Background(), framework.UsageQuery{Source: s.first})
	if err != nil {
		return nil, false
	}
	return view.Node(name)
}

// Pod implements framework.Usage for the first provider.
func (s *Sources) Pod(namespace, name string) (v1.ResourceList, bool) {
	view, err := s.Of(context.Background(), framework.UsageQuery{Source: s.first})
	if err != nil {
		return nil, false
	}
	return view.Pod(namespace, name)
}
