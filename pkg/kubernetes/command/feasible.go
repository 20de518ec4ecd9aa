package command

import (
	"context"

	"k8s.io/client-go/informers"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/usage"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/feasibility"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/preferences"
)

// newPreferences is the scores of kube-scheduler, with informers of the same factory, and those of further plugins. The filters may say
// how well the devices of nodes suit a pod.
func newPreferences(factory informers.SharedInformerFactory, of *config.KubeSchedulerProfile, filters *feasibility.Checker) (*preferences.Scorer, error) {
	o := preferences.Options{Profile: of}
	if filters != nil {
		o.Devices = filters.DevicePoints
		if filters.Scores() {
			o.Points = filters.Points
		}
	}
	return preferences.New(factory, o)
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
