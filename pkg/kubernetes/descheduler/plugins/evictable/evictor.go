package evictable

import (
	"errors"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/eviction"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/order"
)

// Name of the plugin.
const Name = "DefaultEvictor"

// EvictAnnotation marks pods that may be evicted whatever else they are.
const EvictAnnotation = "descheduler.alpha.kubernetes.io/evict"

// Annotations that the kubelet sets on pods that come from files.
const (
	mirrorAnnotation = "kubernetes.io/config.mirror"
	sourceAnnotation = "kubernetes.io/config.source"
)

// Definition is DefaultEvictor.
func Definition() framework.Definition {
	return framework.Typed(framework.Definition{
		Name:   Name,
		Points: []framework.Point{framework.Filter, framework.PreEvictionFilter},
		Args:   DefaultArgs,
	}, Validate, build)
}

// evictor is DefaultEvictor. It keeps nothing between questions.
type evictor struct {
	args        Args
	handle      framework.Handle
	pods        labels.Selector
	nodes       labels.Selector
	namespaces  labels.Selector // nil: all
	protections []protection
}

func build(args *Args, handle framework.Handle) (framework.Plugin, error) {
	e := &evictor{args: *args, handle: handle, pods: labels.Everything()}
	// Validate has read all selectors before.
	e.nodes, _ = labels.Parse(e.args.NodeSelector)
	if e.args.LabelSelector != nil {
		e.pods, _ = metav1.LabelSelectorAsSelector(e.args.LabelSelector)
	}
	if e.args.NamespaceLabelSelector != nil {
		e.namespaces, _ = metav1.LabelSelectorAsSelector(e.args.NamespaceLabelSelector)
	}
	e.protections = e.enabled()
	return e, nil
}

// Name implements framework.Plugin.
func (e *evictor) Name() string { return Name }

// Filter implements framework.FilterPlugin. It names all reasons, so that an operator
// does not find them one after the other.
func (e *evictor) Filter(pod *v1.Pod) error {
	if _, there := pod.Annotations[EvictAnnotation]; there {
		return nil
	}
	if _, there := pod.Annotations[order.PreferNoEviction]; there && e.args.NoEvictionPolicy == Mandatory {
		return errors.New("it prefers not to be evicted, and the policy makes that mandatory")
	}
	if _, mirror := pod.Annotations[mirrorAnnotation]; mirror {
		return errors.New("it is a mirror pod")
	}
	if source, there := pod.Annotations[sourceAnnotation]; there && source != "api" {
		return errors.New("it is a static pod")
	}
	if pod.DeletionTimestamp != nil {
		return errors.New("it is terminating")
	}
	var reasons []string
	for _, why := range e.protections {
		if reason := why(pod); reason != "" {
			reasons = append(reasons, reason)
		}
	}
	if len(reasons) == 0 {
		return nil
	}
	return errors.New(strings.Join(reasons, "; "))
}

// PreEvictionFilter implements framework.PreEvictionFilterPlugin.
func (e *evictor) PreEvictionFilter(pod *v1.Pod) error {
	if e.args.NodeFit {
		if err := eviction.Elsewhere(e.handle, pod, e.nodes); err != nil {
			return err
		}
	}
	if e.namespaces == nil {
		return nil
	}
	namespace := e.handle.Snapshot().Namespace(pod.Namespace)
	if namespace == nil || !e.namespaces.Matches(labels.Set(namespace.Labels)) {
		return fmt.Errorf("its namespace %s is not selected", pod.Namespace)
	}
	return nil
}
