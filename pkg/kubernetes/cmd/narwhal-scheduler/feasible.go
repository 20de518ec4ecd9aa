package main

import (
	"context"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/feasibility"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/preferences"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim"
)

// newFeasibility is the filter plugins of kube-scheduler. It takes its informers from the
// factory, which is started after it.
func newFeasibility(ctx context.Context, client kubernetes.Interface, factory informers.SharedInformerFactory, of *config.KubeSchedulerProfile, volumes time.Duration) (shim.Feasibility, error) {
	return feasibility.New(ctx, client, factory, feasibility.Options{Profile: of, BindTimeout: volumes})
}

// newPreferences is the scores of kube-scheduler, with informers of the same factory.
func newPreferences(factory informers.SharedInformerFactory, of *config.KubeSchedulerProfile) (shim.Preferences, error) {
	return preferences.New(factory, preferences.Options{Profile: of})
}
