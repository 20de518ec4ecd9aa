package scheduler

import (
	"sync/atomic"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/config"
)

// A Configured is a scheduler with one resource manager that keeps the configuration which
// it took last, for a web service to show. Its methods may be called from any goroutine.
type Configured struct {
	*Scheduler
	last atomic.Pointer[configuration]
}

// A configuration is what a resource manager sent and the scheduler took.
type configuration struct {
	document *config.Document
	extra    map[string]string
}

var _ api.SchedulerAPI = (*Configured)(nil)

// RegisterResourceManager is that of the scheduler.
func (c *Configured) RegisterResourceManager(request *si.RegisterResourceManagerRequest, callback api.ResourceManagerCallback) (*si.RegisterResourceManagerResponse, error) {
	response, err := c.Scheduler.RegisterResourceManager(request, callback)
	if err == nil {
		c.keep(request.Config, request.ExtraConfig)
	}
	return response, err
}

// UpdateConfiguration is that of the scheduler.
func (c *Configured) UpdateConfiguration(request *si.UpdateConfigurationRequest) error {
	err := c.Scheduler.UpdateConfiguration(request)
	if err == nil {
		c.keep(request.Config, request.ExtraConfig)
	}
	return err
}

// keep keeps what the scheduler took, so that the text is valid.
func (c *Configured) keep(text string, extra map[string]string) {
	document, err := c.Scheduler.config.Defaults.Load(text, nil)
	if err != nil {
		document = c.Document()
	}
	c.last.Store(&configuration{document, extra})
}

// Document is the configuration in use, nil before the first.
func (c *Configured) Document() *config.Document {
	if last := c.last.Load(); last != nil {
		return last.document
	}
	return nil
}

// Extra is the further settings in use. The map is not to be changed.
func (c *Configured) Extra() map[string]string {
	if last := c.last.Load(); last != nil {
		return last.extra
	}
	return nil
}

// Validate says what is wrong with a configuration text.
func (c *Configured) Validate(text string) error {
	_, err := c.Scheduler.config.Defaults.Load(text, nil)
	return err
}
