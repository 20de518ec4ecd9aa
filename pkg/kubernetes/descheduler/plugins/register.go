// Package plugins registers the built-in plugins of the descheduler. Names and
// arguments are those of the Kubernetes descheduler, and of Koordinator for
// LowNodeLoad. The tests of most of them are in this package: each program of tests links all of
// Kubernetes, in seconds.
package plugins

import (
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/duplicates"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/evictable"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/lifetime"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/openroom"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/order"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/utilization"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/violations"
)

// Definitions are all built-in plugins.
func Definitions() []framework.Definition {
	return []framework.Definition{
		evictable.Definition(),
		order.Definition(),
		lifetime.PodLifeTimeDefinition(),
		lifetime.FailedDefinition(),
		lifetime.RestartsDefinition(),
		violations.AntiAffinityDefinition(),
		violations.NodeAffinityDefinition(),
		violations.NodeTaintsDefinition(),
		violations.TopologySpreadDefinition(),
		duplicates.Definition(),
		openroom.Definition(),
		utilization.LowDefinition(),
		utilization.HighDefinition(),
		utilization.LoadDefinition(),
	}
}

// Register adds the built-in plugins to a registry.
func Register(registry *framework.Registry) error { return registry.Register(Definitions()...) }
