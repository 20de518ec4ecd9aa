package command

import (
	"context"
	"errors"

	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/queues"
)

// registry has all plugins that policies may name: those of this project, and others.
func registry(further []framework.Definition) (*framework.Registry, error) {
	r := new(framework.Registry)
	own := queues.Definitions(func(a, b *v1.Pod) bool { return a.Name < b.Name })
	return r, r.Register(append(own, further...)...)
}

// defaults are the plugins that each profile has unless it switches them off.
func defaults() map[framework.Point][]string { return nil }

// configurationDefaults are those of the kind DeschedulerConfiguration; nil: the same.
func configurationDefaults() map[framework.Point][]string { return nil }

// build makes the descheduler.
func build(context.Context, *parts) (descheduling, error) {
	return nil, errors.New("this build has no descheduler")
}
