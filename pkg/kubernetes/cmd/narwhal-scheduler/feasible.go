package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"go.uber.org/zap"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/feasibility"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/preferences"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/profile"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim"
)

// readProfile is the profile of kube-scheduler in a file, nil if there is no file. What has no meaning here is logged.
func readProfile(file string, schedulerNames []string, log *zap.Logger) (*config.KubeSchedulerProfile, error) {
	if file == "" {
		return nil, nil //nolint:nilnil // the default
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	read, ignored, err := profile.Read(text, schedulerNames)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, line := range ignored {
		log.Warn("part of the kube-scheduler configuration has no meaning here", zap.String("file", file), zap.String("part", line))
	}
	return read, nil
}

// newFeasibility is the filter plugins of kube-scheduler. It takes its informers from the
// factory, which is started after it.
func newFeasibility(ctx context.Context, client kubernetes.Interface, factory informers.SharedInformerFactory, of *config.KubeSchedulerProfile, volumes time.Duration) (shim.Feasibility, error) {
	return feasibility.New(ctx, client, factory, feasibility.Options{Profile: of, BindTimeout: volumes})
}

// newPreferences is the scores of kube-scheduler, with informers of the same factory.
func newPreferences(factory informers.SharedInformerFactory, of *config.KubeSchedulerProfile) (shim.Preferences, error) {
	return preferences.New(factory, preferences.Options{Profile: of})
}
