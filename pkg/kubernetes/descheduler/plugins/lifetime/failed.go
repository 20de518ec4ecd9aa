package lifetime

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/eviction"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/selection"
)

// RemoveFailedPods is the name of the plugin.
const RemoveFailedPods = "RemoveFailedPods"

// failedSecondsMin is the default age from which failed pods are removed.
const failedSecondsMin = 3600

// FailedArgs select failed pods.
type FailedArgs struct {
	metav1.TypeMeta `json:",inline"`
	selection.Pods  `json:",inline"`

	// ExcludeOwnerKinds are kinds whose pods stay.
	ExcludeOwnerKinds []string `json:"excludeOwnerKinds,omitempty"`
	// MinPodLifetimeSeconds is the age up to which pods stay.
	MinPodLifetimeSeconds *uint `json:"minPodLifetimeSeconds,omitempty"`
	// Reasons of the pod or of a container, of which one must agree.
	Reasons []string `json:"reasons,omitempty"`
	// ExitCodes of containers, of which one must agree.
	ExitCodes []int32 `json:"exitCodes,omitempty"`
	// IncludingInitContainers looks at init containers, too.
	IncludingInitContainers bool `json:"includingInitContainers,omitempty"`
}

// FailedDefinition is RemoveFailedPods.
func FailedDefinition() framework.Definition {
	return framework.Typed(framework.Definition{
		Name:   RemoveFailedPods,
		Points: []framework.Point{framework.Deschedule},
		Args: func() any {
			age := uint(failedSecondsMin)
			return &FailedArgs{MinPodLifetimeSeconds: &age}
		},
	}, func(a *FailedArgs) error { return a.Pods.Validate() }, func(a *FailedArgs, handle framework.Handle) (framework.Plugin, error) {
		selected, err := a.Selector()
		return &failed{args: a, handle: handle, selected: selected}, err
	})
}

type failed struct {
	args     *FailedArgs
	handle   framework.Handle
	selected func(*v1.Pod) bool
}

// Name implements framework.Plugin.
func (f *failed) Name() string { return RemoveFailedPods }

// Deschedule implements framework.DeschedulePlugin: the oldest go first.
func (f *failed) Deschedule(ctx context.Context, nodes []*v1.Node) *framework.Status {
	return evictOldest(eviction.Start(ctx, f.handle, RemoveFailedPods), nodes, "it has failed and is %s old",
		func(pod *v1.Pod, now time.Time) bool { return f.selected(pod) && f.meant(pod, now) })
}

func (f *failed) meant(pod *v1.Pod, now time.Time) bool {
	a := f.args
	if pod.Status.Phase != v1.PodFailed || selection.HasOwnerKind(pod, a.ExcludeOwnerKinds) {
		return false
	}
	if limit := a.MinPodLifetimeSeconds; limit != nil && !olderThan(ageOf(pod, now), *limit) {
		return false
	}
	statuses := containers(pod, a.IncludingInitContainers, false)
	if len(a.Reasons) > 0 && !reasons(pod, statuses).HasAny(a.Reasons...) {
		return false
	}
	return len(a.ExitCodes) == 0 || exited(statuses, a.ExitCodes)
}
