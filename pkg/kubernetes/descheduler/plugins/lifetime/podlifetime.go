package lifetime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/eviction"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/selection"
)

// PodLifeTime is the name of the plugin.
const PodLifeTime = "PodLifeTime"

// states are the words that PodLifeTime knows: phases, reasons of pods, reasons of
// containers that wait, and of those that ended. Those of the second and third line of reasons of
// pods are not known upstream: the kubelet refuses, preempts and ends pods with them.
var states = []string{
	"Running", "Pending", "Succeeded", "Failed", "Unknown",
	"NodeAffinity", "NodeLost", "Shutdown", "UnexpectedAdmissionError",
	"OutOfcpu", "OutOfmemory", "OutOfpods", "OutOfephemeral-storage", "Preempting", "Terminated",
	"TopologyAffinityError", "NodeShutdown", "ContainerStatusUnknown",
	"PodInitializing", "ContainerCreating", "ImagePullBackOff", "CrashLoopBackOff",
	"CreateContainerConfigError", "ErrImagePull", "CreateContainerError", "InvalidImageName",
	"OOMKilled", "Error", "Completed", "DeadlineExceeded", "Evicted", "ContainerCannotRun", "StartError",
}

// PodLifeTimeArgs select pods by age, state, conditions and exit codes: a pod must
// agree with all that are given, and with one value of each.
type PodLifeTimeArgs struct {
	metav1.TypeMeta `json:",inline"`
	selection.Pods  `json:",inline"`

	// OwnerKinds includes or excludes pods by the kind of an owner.
	OwnerKinds *selection.Names `json:"ownerKinds,omitempty"`
	// MaxPodLifeTimeSeconds is the age up to which pods stay.
	MaxPodLifeTimeSeconds *uint `json:"maxPodLifeTimeSeconds,omitempty"`
	// States are phases and reasons.
	States []string `json:"states,omitempty"`
	// Conditions of which one must be met.
	Conditions []PodCondition `json:"conditions,omitempty"`
	// ExitCodes of containers that ended.
	ExitCodes []int32 `json:"exitCodes,omitempty"`
	// IncludingInitContainers looks at init containers, too.
	IncludingInitContainers bool `json:"includingInitContainers,omitempty"`
	// IncludingEphemeralContainers looks at ephemeral containers, too.
	IncludingEphemeralContainers bool `json:"includingEphemeralContainers,omitempty"`
}

// A PodCondition is met by a condition of a pod that agrees with all that is given.
type PodCondition struct {
	Type   string `json:"type,omitempty"`
	Status string `json:"status,omitempty"`
	Reason string `json:"reason,omitempty"`
	// MinTimeSinceLastTransitionSeconds is how long it must have been so.
	MinTimeSinceLastTransitionSeconds *uint `json:"minTimeSinceLastTransitionSeconds,omitempty"`
}

// PodLifeTimeDefinition is PodLifeTime.
func PodLifeTimeDefinition() framework.Definition {
	return framework.Typed(framework.Definition{
		Name:   PodLifeTime,
		Points: []framework.Point{framework.Deschedule},
		Args:   func() any { return &PodLifeTimeArgs{} },
	}, validatePodLifeTime, func(a *PodLifeTimeArgs, handle framework.Handle) (framework.Plugin, error) {
		selected, err := a.Selector()
		return &podLifeTime{args: a, handle: handle, selected: selected}, err
	})
}

func validatePodLifeTime(a *PodLifeTimeArgs) error {
	errs := []error{
		a.Pods.Validate(),
		a.OwnerKinds.Validate("ownerKinds"),
		selection.Listed("states", a.States, states),
	}
	for i, c := range a.Conditions {
		if c == (PodCondition{}) {
			errs = append(errs, fmt.Errorf("conditions[%d]: one of type, status, reason and minTimeSinceLastTransitionSeconds must be set", i))
		}
	}
	if a.MaxPodLifeTimeSeconds == nil && len(a.States) == 0 && len(a.Conditions) == 0 && len(a.ExitCodes) == 0 {
		errs = append(errs, errors.New("one of maxPodLifeTimeSeconds, states, conditions and exitCodes must be set"))
	}
	return errors.Join(errs...)
}

type podLifeTime struct {
	args     *PodLifeTimeArgs
	handle   framework.Handle
	selected func(*v1.Pod) bool
}

// Name implements framework.Plugin.
func (p *podLifeTime) Name() string { return PodLifeTime }

// Deschedule implements framework.DeschedulePlugin: the oldest go first.
func (p *podLifeTime) Deschedule(ctx context.Context, nodes []*v1.Node) *framework.Status {
	reason := "it is %s old"
	if a := p.args; len(a.States)+len(a.Conditions)+len(a.ExitCodes) > 0 {
		reason += " and in a state that the policy names"
	}
	return evictOldest(eviction.Start(ctx, p.handle, PodLifeTime), nodes, reason,
		func(pod *v1.Pod, now time.Time) bool { return p.selected(pod) && p.meant(pod, now) })
}

// meant says whether a pod agrees with all that the arguments give.
func (p *podLifeTime) meant(pod *v1.Pod, now time.Time) bool {
	a := p.args
	if limit := a.MaxPodLifeTimeSeconds; limit != nil && !olderThan(ageOf(pod, now), *limit) {
		return false
	}
	if k := a.OwnerKinds; k != nil {
		if len(k.Include) > 0 && !selection.HasOwnerKind(pod, k.Include) || selection.HasOwnerKind(pod, k.Exclude) {
			return false
		}
	}
	statuses := containers(pod, a.IncludingInitContainers, a.IncludingEphemeralContainers)
	if len(a.States) > 0 && !slices.Contains(a.States, string(pod.Status.Phase)) && !reasons(pod, statuses).HasAny(a.States...) {
		return false
	}
	if len(a.ExitCodes) > 0 && !exited(statuses, a.ExitCodes) {
		return false
	}
	return len(a.Conditions) == 0 || slices.ContainsFunc(a.Conditions, func(c PodCondition) bool { return c.metBy(pod, now) })
}

func (c PodCondition) metBy(pod *v1.Pod, now time.Time) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(is v1.PodCondition) bool {
		since := c.MinTimeSinceLastTransitionSeconds
		switch {
		case c.Type != "" && c.Type != string(is.Type),
			c.Status != "" && c.Status != string(is.Status),
			c.Reason != "" && c.Reason != is.Reason:
			return false
		case since == nil:
			return true
		}
		return !is.LastTransitionTime.IsZero() && now.Sub(is.LastTransitionTime.Time)/time.Second >= seconds(*since)
	})
}

func ageOf(pod *v1.Pod, now time.Time) time.Duration { return now.Sub(pod.CreationTimestamp.Time) }

// olderThan compares in whole seconds, as timestamps have no parts of them.
func olderThan(age time.Duration, limit uint) bool { return age/time.Second > seconds(limit) }

// seconds is a number of seconds, at most as many as a Duration can count.
func seconds(n uint) time.Duration { return time.Duration(min(n, 1<<62)) }
