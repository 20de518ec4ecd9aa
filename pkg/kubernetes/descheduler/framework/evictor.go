package framework

import (
	"context"
	"errors"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EvictOptions say which plugin wants an eviction, and how. Source: design of the
// descheduler framework, "Abstract PodEvictor interface".
type EvictOptions struct {
	// PluginName is the plugin that asks. Empty: filled in by the framework.
	PluginName string
	// ProfileName is the profile of that plugin, filled in by the framework.
	ProfileName string
	// Reason says why in words: in the event, the annotation and the report.
	Reason string
	// Nodes are those where the replacement should run. Empty: any will do.
	Nodes []string
	// DeleteOptions go with the eviction. Nil: those of the policy.
	DeleteOptions *metav1.DeleteOptions
}

var errNotWanted = errors.New("is not one of those where it should run")

// Choice are the nodes where a replacement should run, but for one that will not do; nil: all of these will.
func (o EvictOptions) Choice(refuse func(node string) error, reserved bool) Choice {
	return Choice{Reserved: reserved, Accept: func(node string) error {
		switch {
		case len(o.Nodes) > 0 && !slices.Contains(o.Nodes, node):
			return errNotWanted
		case refuse != nil:
			return refuse(node)
		}
		return nil
	}}
}

// Evictor is how plugins ask for evictions, in the form of the design. Evict
// performs no pre-check: a plugin calls Filter for each pod that it thinks of.
type Evictor interface {
	Plugin
	// Filter says whether the pod can be evicted.
	Filter(pod *v1.Pod) bool
	// Evict has the pod evicted, and says whether that was done.
	Evict(ctx context.Context, pod *v1.Pod, options EvictOptions) bool
}

// PodEvictor is the Evictor that a Handle gives: with the second filter, and
// with reasons where a bool is not enough. It is safe for concurrent use.
type PodEvictor interface {
	Evictor
	// Why returns nil where all filters let the pod go, or else the reasons.
	Why(pod *v1.Pod) error
	// PreEvictionFilter says whether the pod can be evicted now, with a look at the
	// whole cluster.
	PreEvictionFilter(pod *v1.Pod) bool
	// EvictPod asks both filters, limits and cool-down, finds the node where the
	// scheduler would place the replacement, and has the pod evicted. Nil means that
	// it was done, or was done before and has not ended. Errors are those of this
	// package, see Stop.
	EvictPod(ctx context.Context, pod *v1.Pod, options EvictOptions) error
	// Full returns the limit that keeps this pod from being evicted, or nil. It
	// asks limits only and counts nothing.
	Full(pod *v1.Pod) *LimitError
}
