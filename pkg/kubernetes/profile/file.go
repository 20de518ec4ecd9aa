package profile

import (
	"fmt"
	"os"

	"go.uber.org/zap"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
)

// ReadFile is Read of a file; nil, which is the default, without one. What has no meaning here is logged.
func ReadFile(file string, schedulerNames []string, log *zap.Logger, outOfTree ...string) (*config.KubeSchedulerProfile, error) {
	if file == "" {
		return nil, nil //nolint:nilnil // as documented
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("scheduler-config: %w", err)
	}
	read, ignored, err := Read(text, schedulerNames, outOfTree...)
	if err != nil {
		return nil, fmt.Errorf("scheduler-config: %s: %w", file, err)
	}
	for _, line := range ignored {
		log.Warn("part of the kube-scheduler configuration has no meaning here", zap.String("file", file), zap.String("part", line))
	}
	return read, nil
}
