package lifetime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/eviction"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/order"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/selection"
)

// TooManyRestarts is the name of the plugin.
const TooManyRestarts = "RemovePodsHavingTooManyRestarts"

var restartStates = []string{string(v1.PodRunning), "CrashLoopBackOff"}

// RestartsArgs select pods whose containers were started again.
type RestartsArgs struct {
	metav1.TypeMeta `json:",inline"`
	selection.Pods  `json:",inline"`

	// PodRestartThreshold is the sum of restarts from which pods are removed, at
	// least one.
	PodRestartThreshold int32 `json:"podRestartThreshold,omitempty"`
	// IncludingInitContainers adds the restarts of init containers.
	IncludingInitContainers bool `json:"includingInitContainers,omitempty"`
	// States are Running and CrashLoopBackOff, or a part of them. None: any state.
	States []string `json:"states,omitempty"`
}

// RestartsDefinition is RemovePodsHavingTooManyRestarts.
func RestartsDefinition() framework.Definition {
	return framework.Typed(framework.Definition{
		Name:   TooManyRestarts,
		Points: []framework.Point{framework.Deschedule},
		Args:   func() any { return &RestartsArgs{} },
	}, validateRestarts, func(a *RestartsArgs, handle framework.Handle) (framework.Plugin, error) {
		selected, err := a.Selector()
		return &restarts{args: a, handle: handle, selected: selected}, err
	})
}

func validateRestarts(a *RestartsArgs) error {
	errs := []error{a.Pods.Validate(), selection.Listed("states", a.States, restartStates)}
	if a.PodRestartThreshold < 1 {
		errs = append(errs, fmt.Errorf("podRestartThreshold: must be at least 1, not %d", a.PodRestartThreshold))
	}
	return errors.Join(errs...)
}

type restarts struct {
	args     *RestartsArgs
	handle   framework.Handle
	selected func(*v1.Pod) bool
}

// Name implements framework.Plugin.
func (r *restarts) Name() string { return TooManyRestarts }

// Deschedule implements framework.DeschedulePlugin: most restarts go first.
func (r *restarts) Deschedule(ctx context.Context, nodes []*v1.Node) *framework.Status {
	run := eviction.Start(ctx, r.handle, TooManyRestarts)
	pods := podsOf(run.Snapshot(), nodes, func(pod *v1.Pod) bool { return r.selected(pod) && r.meant(pod) })
	slices.SortFunc(pods, func(a, b *v1.Pod) int {
		return cmp.Or(cmp.Compare(r.count(b), r.count(a)), order.Compare(a, b))
	})
	for _, pod := range pods {
		if run.Removable(pod) {
			run.Evict(pod, fmt.Sprintf("its containers were started again %d times", r.count(pod)))
		}
	}
	return run.Status()
}

func (r *restarts) meant(pod *v1.Pod) bool {
	if r.count(pod) < int64(r.args.PodRestartThreshold) {
		return false
	}
	statuses := containers(pod, r.args.IncludingInitContainers, false)
	return len(r.args.States) == 0 || slices.Contains(r.args.States, string(pod.Status.Phase)) ||
		slices.ContainsFunc(statuses, func(c v1.ContainerStatus) bool {
			return c.State.Waiting != nil && slices.Contains(r.args.States, c.State.Waiting.Reason)
		})
}

func (r *restarts) count(pod *v1.Pod) int64 {
	var sum int64
	for _, c := range containers(pod, r.args.IncludingInitContainers, false) {
		sum += int64(c.RestartCount)
	}
	return sum
}
