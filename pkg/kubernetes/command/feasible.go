package command

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/usage"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/feasibility"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/preferences"
)

// newFeasibility is the filter plugins of kube-scheduler. It takes its informers from the
// factory, which is started after it.
func newFeasibility(ctx context.Context, client kubernetes.Interface, factory informers.SharedInformerFactory, of *config.KubeSchedulerProfile, volumes time.Duration) (*feasibility.Checker, error) {
	return feasibility.New(ctx, client, factory, feasibility.Options{Profile: of, BindTimeout: volumes})
}

// newPreferences is the scores of kube-scheduler, with informers of the same factory. The filters may say how
// well the devices of nodes suit a pod.
func newPreferences(factory informers.SharedInformerFactory, of *config.KubeSchedulerProfile, devices func(*v1.Pod, []string) []int64) (*preferences.Scorer, error) {
	return preferences.New(factory, preferences.Options{Profile: of, Devices: devices})
}

// follow tells the scores what nodes are measured to use, until the context ends, if their profile says that it counts.
func follow(ctx context.Context, scores *preferences.Scorer, from usage.Options) error {
	query, server, counts := scores.Measures()
	if !counts {
		return nil
	}
	provider := usage.Provider{Source: query.Source}
	if server != nil {
		provider.URL = server.URL
		if token := server.AuthToken; token != nil {
			provider.SecretNamespace, provider.SecretName = token.SecretReference.Namespace, token.SecretReference.Name
		}
	}
	from.Providers = []usage.Provider{provider}
	sources, err := usage.New(from)
	if err != nil {
		return err
	}
	go sources.Follow(ctx, query, scores.Measure)
	return nil
}
