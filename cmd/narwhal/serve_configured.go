package main

import (
	"sync/atomic"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/config"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice"
)

// A configured is a scheduler with one resource manager, as the web service needs it.
// It keeps the last configuration that the scheduler took.
type configured struct {
	*scheduler.Scheduler
	document atomic.Pointer[config.Document]
}

var (
	_ api.SchedulerAPI         = (*configured)(nil)
	_ webservice.Configuration = (*configured)(nil)
	_ webservice.Views         = (*configured)(nil)
)

// RegisterResourceManager is that of the scheduler.
func (c *configured) RegisterResourceManager(request *si.RegisterResourceManagerRequest, callback api.ResourceManagerCallback) (*si.RegisterResourceManagerResponse, error) {
	response, err := c.Scheduler.RegisterResourceManager(request, callback)
	if err == nil {
		c.keep(request.Config)
	}
	return response, err
}

// UpdateConfiguration is that of the scheduler.
func (c *configured) UpdateConfiguration(request *si.UpdateConfigurationRequest) error {
	err := c.Scheduler.UpdateConfiguration(request)
	if err == nil {
		c.keep(request.Config)
	}
	return err
}

// keep stores a text that the scheduler took, so that it is valid.
func (c *configured) keep(text string) {
	if document, err := config.Load(text, nil); err == nil {
		c.document.Store(document)
	}
}

// Document is the configuration in use.
func (c *configured) Document() *config.Document { return c.document.Load() }

// Extra is nothing: the simulated resource manager has no further settings.
func (c *configured) Extra() map[string]string { return nil }

// Validate says what is wrong with a configuration text.
func (c *configured) Validate(text string) error {
	_, err := config.Load(text, nil)
	return err
}
