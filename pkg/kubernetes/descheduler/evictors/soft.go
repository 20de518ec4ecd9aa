package evictors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	listers "k8s.io/client-go/listers/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

// SoftAnnotation is the annotation of a pod that should be moved. Its value is JSON with
// the fields of softEviction.
const SoftAnnotation = "descheduler.narwhal-scheduler.io/soft-eviction"

// softEviction is the value of the annotation.
type softEviction struct {
	Requester   string `json:"requester"`
	Profile     string `json:"profile"`
	Plugin      string `json:"plugin"`
	Reason      string `json:"reason"`
	RequestedAt string `json:"requestedAt"`
	// Installation is which installation of the descheduler asks. Others leave the annotation.
	Installation string `json:"installation,omitempty"`
	// DeleteOptions are those that an eviction would have had.
	DeleteOptions *metav1.DeleteOptions `json:"deleteOptions,omitempty"`
}

// soft is the plugin SoftEviction: it ends nothing, the owner of a pod does.
type soft struct {
	handle     framework.Handle
	annotation string
	ttl        time.Duration     // 0: requests have no end
	pods       listers.PodLister // nil: there are no informers
}

var (
	_ framework.BudgetIgnorer    = soft{}
	_ framework.EvictChecker     = soft{}
	_ framework.Expirer          = soft{}
	_ framework.InFlightReporter = soft{}
	_ framework.Requester        = soft{}
	_ framework.Withdrawer       = soft{}
)

func newSoft(args *SoftArgs, h framework.Handle) (framework.Plugin, error) {
	s := soft{handle: h, annotation: args.Annotation, ttl: args.TTL.Duration}
	if factory := h.SharedInformerFactory(); factory != nil {
		pods := factory.Core().V1().Pods()
		pods.Informer() // asks for it
		s.pods = pods.Lister()
	}
	return s, nil
}

func validateSoft(args *SoftArgs) error {
	if problems := validation.IsQualifiedName(args.Annotation); len(problems) > 0 {
		return fmt.Errorf("annotation: %s", strings.Join(problems, "; "))
	}
	if args.TTL.Duration < 0 {
		return fmt.Errorf("ttl: must be at least 0s, not %s", args.TTL.Duration)
	}
	return nil
}

// Name implements framework.Plugin.
func (soft) Name() string { return SoftName }

// IgnoresBudgets implements framework.BudgetIgnorer: budgets are the owner's matter.
func (soft) IgnoresBudgets() bool { return true }

// OnlyRequests implements framework.Requester.
func (soft) OnlyRequests() bool { return true }

// InFlight implements framework.InFlightReporter: the pods that have the annotation, by whichever
// process. A pod counts as one that goes until it has ended or its owner takes the annotation away, so
// that no others are asked for in its place.
func (s soft) InFlight() (pods []*v1.Pod) {
	if s.pods == nil {
		return nil
	}
	all, err := s.pods.List(labels.Everything())
	if err != nil {
		return nil // a lister that is filled has none
	}
	for _, pod := range all {
		if s.asked(pod) && pod.Status.Phase != v1.PodSucceeded && pod.Status.Phase != v1.PodFailed {
			pods = append(pods, pod)
		}
	}
	return pods
}

func (s soft) asked(pod *v1.Pod) bool {
	_, asked := pod.Annotations[s.annotation]
	return asked
}

// CheckEviction implements framework.EvictChecker. A pod that has the annotation keeps it, so
// that the owner sees when it was asked first.
func (s soft) CheckEviction(pod *v1.Pod, _ framework.EvictOptions) error {
	if s.asked(pod) {
		return &framework.RefusedError{By: SoftName, Reason: "its owner has been asked to move it and has not"}
	}
	return nil
}

// EvictPod implements framework.EvictPlugin.
func (s soft) EvictPod(ctx context.Context, pod *v1.Pod, options framework.EvictOptions) error {
	if err := s.CheckEviction(pod, options); err != nil {
		return err
	}
	value, err := json.Marshal(softEviction{
		Requester: requester, Profile: options.ProfileName, Plugin: options.PluginName,
		Reason: options.Reason, RequestedAt: now(s.handle), Installation: framework.InstallationOf(s.handle), DeleteOptions: options.DeleteOptions,
	})
	if err != nil {
		return fmt.Errorf("annotation of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return s.annotate(ctx, pod, string(value))
}

// Withdraw implements framework.Withdrawer: the annotation is taken away, unless the profile and the plugin of the options have not written it.
func (s soft) Withdraw(ctx context.Context, pod *v1.Pod, options framework.EvictOptions) error {
	var of softEviction
	if json.Unmarshal([]byte(pod.Annotations[s.annotation]), &of) != nil || of.Requester != requester ||
		of.Profile != options.ProfileName || of.Plugin != options.PluginName || framework.OfAnother(s.handle, of.Installation) {
		return nil
	}
	if err := s.annotate(ctx, pod, nil); !errors.Is(err, framework.ErrGone) {
		return err
	}
	return nil
}

// begins is what the annotations that the plugin writes begin with, whichever their key.
const begins = `{"requester":"` + requester + `","profile":`

// takeBackSoft takes the annotations away that this installation has written for what does not stand any more.
func takeBackSoft(ctx context.Context, h framework.Handle, stands func(framework.Asker) bool) error {
	return unask(ctx, h, func(of softEviction) bool { return !stands(framework.Asker{Profile: of.Profile, Plugin: of.Plugin}) })
}

// Expire implements framework.Expirer. A time that cannot be read is over.
func (s soft) Expire(ctx context.Context) error {
	if s.ttl == 0 {
		return nil
	}
	return unask(ctx, s.handle, func(of softEviction) bool {
		at, _ := time.Parse(time.RFC3339, of.RequestedAt)
		return of.Profile == s.handle.ProfileName() && s.handle.Clock().Since(at) >= s.ttl
	})
}

// failuresMax is how many annotations that could not be taken away are named in a warning.
const failuresMax = 5

// unask takes those annotations away that this installation has written and that are over.
func unask(ctx context.Context, h framework.Handle, over func(softEviction) bool) error {
	factory := h.SharedInformerFactory()
	if factory == nil {
		return nil
	}
	all, err := factory.Core().V1().Pods().Lister().List(labels.Everything())
	if err != nil {
		return err
	}
	var failed []error
	more := 0
	for _, pod := range all {
		for key, value := range pod.Annotations {
			var of softEviction
			if !strings.HasPrefix(value, begins) || json.Unmarshal([]byte(value), &of) != nil ||
				of.Installation != framework.InstallationOf(h) || !over(of) {
				continue
			}
			switch err := (soft{handle: h, annotation: key}).annotate(ctx, pod, nil); {
			case err == nil || errors.Is(err, framework.ErrGone):
			case len(failed) < failuresMax:
				failed = append(failed, fmt.Errorf("annotation of pod %s/%s: %w", pod.Namespace, pod.Name, err))
			default:
				more++
			}
		}
	}
	if more > 0 {
		failed = append(failed, fmt.Errorf("and %d more", more))
	}
	return errors.Join(failed...)
}

// annotate writes the annotation of a pod, or with nil takes it away.
func (s soft) annotate(ctx context.Context, pod *v1.Pod, value any) error {
	// The UID makes the patch fail where the name belongs to another pod by now.
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": pod.UID, "annotations": map[string]any{s.annotation: value},
	}})
	if err != nil {
		return fmt.Errorf("annotation of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	pods := s.handle.ClientSet().CoreV1().Pods(pod.Namespace)
	_, err = pods.Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	return read(err)
}
