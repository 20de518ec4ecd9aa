package queues

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

// SortName is the name of the plugin QueueSort in policies.
const SortName = "QueueSort"

// Sort is the plugin QueueSort: pods of queues that use most in relation to their guarantee
// go first, and those of queues without a guarantee before all others. Among pods of one
// share, and of other schedulers, another order decides.
type Sort struct {
	handle framework.Handle
	then   func(a, b *v1.Pod) bool
}

var _ framework.SortPlugin = (*Sort)(nil)

// sortDefinition is QueueSort in a registry, over an order of single pods.
func sortDefinition(then func(a, b *v1.Pod) bool) framework.Definition {
	return framework.Definition{
		Name:   SortName,
		Points: []framework.Point{framework.Sort},
		New: func(_ context.Context, _ any, handle framework.Handle) (framework.Plugin, error) {
			return &Sort{handle: handle, then: then}, nil
		},
	}
}

// Definitions are the plugins of this package. Then orders pods of queues that use the
// same: a strict total order.
func Definitions(then func(a, b *v1.Pod) bool) []framework.Definition {
	return []framework.Definition{protectionDefinition(), sortDefinition(then)}
}

// Name is the name in the registry.
func (s *Sort) Name() string { return SortName }

// Less says whether a goes before b.
func (s *Sort) Less(a, b *v1.Pod) bool {
	if queues, ok := s.handle.Landing().(framework.Queues); ok {
		shareA, ofA := queues.ShareOf(a)
		shareB, ofB := queues.ShareOf(b)
		switch {
		case ofA != ofB:
			return ofA // a pod of ours before one of another scheduler
		case ofA:
			if c := shareA.Compare(shareB); c != 0 {
				return c > 0
			}
		}
	}
	return s.then(a, b)
}
