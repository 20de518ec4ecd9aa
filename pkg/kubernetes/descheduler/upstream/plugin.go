package upstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	promapi "github.com/prometheus/client_golang/api"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/descheduler/pkg/descheduler/evictions"
	"sigs.k8s.io/descheduler/pkg/descheduler/metricscollector"
	"sigs.k8s.io/descheduler/pkg/descheduler/pod"
	"sigs.k8s.io/descheduler/pkg/framework/pluginregistry"
	"sigs.k8s.io/descheduler/pkg/framework/types"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

// Definition makes a plugin of one that was written for the descheduler of Kubernetes, with what it
// registers there. It works at deschedule, balance, and as a filter, where it does there. Measured use
// and Prometheus are not handed on. Like all plugins, what it wants evicted goes only where its
// replacement has a place.
func Definition(name string, of pluginregistry.PluginUtilities) (framework.Definition, error) {
	d := framework.Definition{Name: name, Args: func() any {
		args := of.PluginArgInstance.DeepCopyObject()
		if of.PluginArgDefaulter != nil {
			of.PluginArgDefaulter(args)
		}
		return args
	}}
	if _, is := of.PluginType.(types.DeschedulePlugin); is {
		d.Points = append(d.Points, framework.Deschedule)
	}
	if _, is := of.PluginType.(types.BalancePlugin); is {
		d.Points = append(d.Points, framework.Balance)
	}
	if _, is := of.PluginType.(types.EvictorPlugin); is {
		d.Points = append(d.Points, framework.Filter, framework.PreEvictionFilter)
	}
	if len(d.Points) == 0 || of.PluginBuilder == nil || of.PluginArgInstance == nil {
		return d, fmt.Errorf("plugin %q has no type that is known, no arguments or nothing that builds it", name)
	}
	if of.PluginArgValidator != nil {
		d.Validate = func(args any) error { return of.PluginArgValidator(args.(runtime.Object)) }
	}
	d.New = func(ctx context.Context, args any, h framework.Handle) (framework.Plugin, error) {
		built, err := of.PluginBuilder(ctx, args.(runtime.Object), handle{Handle: h})
		if err != nil {
			return nil, err
		}
		return adapted{built}, nil
	}
	return d, nil
}

// An adapted plugin is one of upstream. It is asked only at the points of its definition.
type adapted struct{ types.Plugin }

var errKept = errors.New("the plugin does not let it go")

// Deschedule implements framework.DeschedulePlugin.
func (a adapted) Deschedule(ctx context.Context, nodes []*v1.Node) *framework.Status {
	return statusOf(a.Plugin.(types.DeschedulePlugin).Deschedule(ctx, nodes))
}

// Balance implements framework.BalancePlugin.
func (a adapted) Balance(ctx context.Context, nodes []*v1.Node) *framework.Status {
	return statusOf(a.Plugin.(types.BalancePlugin).Balance(ctx, nodes))
}

// Filter implements framework.FilterPlugin.
func (a adapted) Filter(pod *v1.Pod) error {
	return keptUnless(a.Plugin.(types.EvictorPlugin).Filter(pod))
}

// PreEvictionFilter implements framework.PreEvictionFilterPlugin.
func (a adapted) PreEvictionFilter(pod *v1.Pod) error {
	return keptUnless(a.Plugin.(types.EvictorPlugin).PreEvictionFilter(pod))
}

func keptUnless(goes bool) error {
	if goes {
		return nil
	}
	return errKept
}

func statusOf(s *types.Status) *framework.Status {
	if s == nil || s.Err == nil {
		return nil
	}
	return &framework.Status{Err: s.Err}
}

// A handle is one of this descheduler, as upstream has it.
type handle struct{ framework.Handle }

// PluginInstanceID implements types.Handle.
func (h handle) PluginInstanceID() string { return h.InstanceID() }

// PrometheusClient implements types.Handle.
func (handle) PrometheusClient() promapi.Client { return nil }

// MetricsCollector implements types.Handle.
func (handle) MetricsCollector() *metricscollector.MetricsCollector { return nil }

// Evictor implements types.Handle.
func (h handle) Evictor() types.Evictor { return evictor{h.Handle.Evictor()} }

// GetPodsAssignedToNodeFunc implements types.Handle: the pods of the cycle that runs, by name.
func (h handle) GetPodsAssignedToNodeFunc() pod.GetPodsAssignedToNodeFunc {
	return func(node string, filter pod.FilterFunc) (of []*v1.Pod, _ error) {
		for _, p := range h.Snapshot().PodsOn(node) {
			if filter == nil || filter(p) {
				of = append(of, p)
			}
		}
		return of, nil
	}
}

// An evictor has limits said as upstream says them.
type evictor struct{ framework.PodEvictor }

// Evict implements types.Evictor.
func (e evictor) Evict(ctx context.Context, pod *v1.Pod, options evictions.EvictOptions) error {
	reason := cmp.Or(options.Reason, "the plugin gives no reason")
	err := e.EvictPod(ctx, pod, framework.EvictOptions{Reason: reason})
	if err == nil {
		return nil
	}
	switch framework.StopAfter(err) {
	case framework.StopPlugin:
		return evictions.NewEvictionTotalLimitError()
	case framework.StopNode:
		return evictions.NewEvictionNodeLimitError(pod.Spec.NodeName)
	case framework.StopNamespace:
		return evictions.NewEvictionNamespaceLimitError(pod.Namespace)
	}
	return err
}
