package main

import (
	"sync"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/config"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice"
)

// A configured is a scheduler that knows which configuration it took last.
type configured struct {
	*scheduler.Scheduler
	mu       sync.Mutex
	document *config.Document
	extra    map[string]string
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
		c.keep(request.Config, request.ExtraConfig)
	}
	return response, err
}

// UpdateConfiguration is that of the scheduler.
func (c *configured) UpdateConfiguration(request *si.UpdateConfigurationRequest) error {
	err := c.Scheduler.UpdateConfiguration(request)
	if err == nil {
		c.keep(request.Config, request.ExtraConfig)
	}
	return err
}

// keep keeps what the scheduler took, so that it is valid.
func (c *configured) keep(text string, extra map[string]string) {
	document, err := config.Load(text, nil)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.document = document
	}
	c.extra = extra
}

// Document is the configuration in use.
func (c *configured) Document() *config.Document {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.document
}

// Extra is the further settings in use.
func (c *configured) Extra() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.extra
}

// Validate says what is wrong with a configuration text.
func (c *configured) Validate(text string) error {
	_, err := config.Load(text, nil)
	return err
}
