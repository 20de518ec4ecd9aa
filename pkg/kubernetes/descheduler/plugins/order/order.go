// Package order has the order in which pods are evicted.
package order

import (
	"cmp"
	"context"

	v1 "k8s.io/api/core/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/kubernetes/pkg/apis/core/v1/helper/qos"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

// Name of the plugin.
const Name = "PrioritySort"

// PreferNoEviction is the annotation of pods that are evicted last, or not at all
// with the policy Mandatory of DefaultEvictor.
const PreferNoEviction = "descheduler.alpha.kubernetes.io/prefer-no-eviction"

// Definition is PrioritySort.
func Definition() framework.Definition {
	return framework.Definition{
		Name:   Name,
		Points: []framework.Point{framework.Sort},
		New: func(context.Context, any, framework.Handle) (framework.Plugin, error) {
			return plugin{}, nil
		},
	}
}

type plugin struct{}

// Name implements framework.Plugin.
func (plugin) Name() string { return Name }

// Less implements framework.SortPlugin.
func (plugin) Less(a, b *v1.Pod) bool { return Compare(a, b) < 0 }

// Compare is negative where a is evicted before b: the less important first, then the
// newest; then names decide.
func Compare(a, b *v1.Pod) int {
	return cmp.Or(
		ByImportance(a, b),
		b.CreationTimestamp.Time.Compare(a.CreationTimestamp.Time),
		ByName(a, b),
	)
}

// ByImportance is negative where a is less important than b: pods that prefer not to be
// evicted come last; then priority decides, where none is below all; then the class of
// service.
func ByImportance(a, b *v1.Pod) int {
	return cmp.Or(
		compareBool(prefersToStay(a), prefersToStay(b)),
		compareBool(a.Spec.Priority != nil, b.Spec.Priority != nil),
		cmp.Compare(corev1helpers.PodPriority(a), corev1helpers.PodPriority(b)),
		cmp.Compare(classOfService(a), classOfService(b)),
	)
}

// ByName is an order of names that no two pods share.
func ByName(a, b *v1.Pod) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
}

func prefersToStay(pod *v1.Pod) bool {
	_, there := pod.Annotations[PreferNoEviction]
	return there
}

func classOfService(pod *v1.Pod) int {
	switch qos.GetPodQOS(pod) {
	case v1.PodQOSBestEffort:
		return 0
	case v1.PodQOSBurstable:
		return 1
	default:
		return 2
	}
}

// compareBool puts false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}
