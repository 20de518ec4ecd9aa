package entrypoint

import (
	"maps"
	"sync"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	narwhal "github.com/narwhal-scheduler/narwhal/pkg/scheduler"

	"github.com/apache/yunikorn-core/pkg/common/configs"
)

// A manager is the scheduler as a resource manager sees it: the empty configuration stands
// for configs.DefaultSchedulerConfig, and what is said of a build is kept for REST.
type manager struct {
	*narwhal.Configured

	mu     sync.Mutex
	builds map[string]map[string]string // by resource manager
}

var _ api.SchedulerAPI = (*manager)(nil)

// RegisterResourceManager is that of the scheduler.
func (m *manager) RegisterResourceManager(request *si.RegisterResourceManagerRequest, callback api.ResourceManagerCallback) (*si.RegisterResourceManagerResponse, error) {
	if request == nil {
		return m.Configured.RegisterResourceManager(nil, callback)
	}
	response, err := m.Configured.RegisterResourceManager(&si.RegisterResourceManagerRequest{
		RmID: request.RmID, Version: request.Version, PolicyGroup: request.PolicyGroup, BuildInfo: request.BuildInfo,
		Config: configs.Text(request.Config), ExtraConfig: request.ExtraConfig,
	}, callback)
	if err == nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.builds[request.RmID] = maps.Clone(request.BuildInfo)
	}
	return response, err
}

// UpdateConfiguration is that of the scheduler.
func (m *manager) UpdateConfiguration(request *si.UpdateConfigurationRequest) error {
	if request == nil {
		return m.Configured.UpdateConfiguration(nil)
	}
	return m.Configured.UpdateConfiguration(&si.UpdateConfigurationRequest{
		RmID: request.RmID, PolicyGroup: request.PolicyGroup, Config: configs.Text(request.Config), ExtraConfig: request.ExtraConfig,
	})
}

// Validate says what is wrong with a configuration text.
func (m *manager) Validate(text string) error { return m.Configured.Validate(configs.Text(text)) }

// build is what a resource manager said of its build when it registered.
func (m *manager) build(resourceManager string) map[string]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.builds[resourceManager])
}
