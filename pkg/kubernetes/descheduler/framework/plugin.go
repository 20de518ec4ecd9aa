package framework

import (
	"context"

	v1 "k8s.io/api/core/v1"
)

// Point is an extension point of the framework, as it is written in a policy.
type Point string

// The extension points. PreEvictionFilter is also read as preEvictionFilter.
const (
	PreSort           Point = "presort"
	Sort              Point = "sort"
	Deschedule        Point = "deschedule"
	Balance           Point = "balance"
	Filter            Point = "filter"
	PreEvictionFilter Point = "preevictionfilter"
	Evict             Point = "evict"
	Controller        Point = "controller"
)

// Points lists all extension points in the order in which they are written.
func Points() []Point {
	return []Point{PreSort, Sort, Deschedule, Balance, Filter, PreEvictionFilter, Evict, Controller}
}

// Plugin is what all plugins are. Source: design of the descheduler framework,
// "Abstract PodEvictor interface".
type Plugin interface {
	// Name is the name in the registry and in policies.
	Name() string
}

// Status is the end of one run of a plugin. Nil is success.
type Status struct {
	Err error
}

// DeschedulePlugin looks at pods one at a time. Nodes are those that the policy
// selects and that are ready, in the order of the profile; the slice must not be
// changed. A failure does not stop other plugins. Source: design of the
// descheduler framework, "Plug-in descheduler strategy".
type DeschedulePlugin interface {
	Plugin
	Deschedule(ctx context.Context, nodes []*v1.Node) *Status
}

// BalancePlugin looks at groups of pods or at the whole cluster. It is called
// after all deschedule plugins of all profiles, and sees their evictions.
type BalancePlugin interface {
	Plugin
	Balance(ctx context.Context, nodes []*v1.Node) *Status
}

// FilterPlugin says which pods may be evicted at all. It is asked often, so it
// looks at the pod alone and not at other nodes. All enabled ones must agree.
type FilterPlugin interface {
	Plugin
	// Filter returns nil where the pod may be evicted, or else why not, in words
	// for people.
	Filter(pod *v1.Pod) error
}

// PreEvictionFilterPlugin is asked just before a pod is evicted, and may look at
// the whole cluster. All enabled ones must agree.
type PreEvictionFilterPlugin interface {
	Plugin
	// PreEvictionFilter returns nil where the pod may be evicted, or else why not.
	PreEvictionFilter(pod *v1.Pod) error
}

// PreSortPlugin orders the nodes that deschedule and balance plugins of its
// profile are given.
type PreSortPlugin interface {
	Plugin
	// PreSort returns the same nodes in another order, in a new slice.
	PreSort(nodes []*v1.Node) []*v1.Node
}

// SortPlugin orders the pods of a profile: exactly one per profile.
type SortPlugin interface {
	Plugin
	// Less says whether a is evicted before b. It is a strict total order: of two
	// different pods exactly one is less.
	Less(a, b *v1.Pod) bool
}

// EvictPlugin carries evictions out: exactly one per profile. No pre-check is
// performed; limits and filters were asked before.
type EvictPlugin interface {
	Plugin
	// EvictPod has the pod evicted. An error of this package says what a plugin
	// may do next; any other one means that this pod stays for now. In a dry run
	// it is not called. It returns when the context ends, which is a minute later at
	// the most.
	EvictPod(ctx context.Context, pod *v1.Pod, options EvictOptions) error
}

// ControllerPlugin is triggered by events instead of the interval. It is built
// with its profile, runs after the informers are filled and leadership is won,
// and shares limits and evictor with the other plugins of its profile. Source:
// design of the descheduler framework, "event-triggered mode".
type ControllerPlugin interface {
	Plugin
	// Run works until the context ends. Where it returns before, it is started again
	// after a while that doubles.
	Run(ctx context.Context) error
}
