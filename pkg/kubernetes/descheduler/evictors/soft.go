package evictors

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

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
	// DeleteOptions are those that an eviction would have had.
	DeleteOptions *metav1.DeleteOptions `json:"deleteOptions,omitempty"`
}

// soft is the plugin SoftEviction: it ends nothing, the owner of a pod does.
type soft struct {
	handle     framework.Handle
	annotation string
}

var _ framework.BudgetIgnorer = soft{}

func newSoft(args *SoftArgs, h framework.Handle) (framework.Plugin, error) {
	return soft{h, args.Annotation}, nil
}

func validateSoft(args *SoftArgs) error {
	if problems := validation.IsQualifiedName(args.Annotation); len(problems) > 0 {
		return fmt.Errorf("annotation: %s", strings.Join(problems, "; "))
	}
	return nil
}

// Name implements framework.Plugin.
func (soft) Name() string { return SoftName }

// IgnoresBudgets implements framework.BudgetIgnorer: budgets are the owner's matter.
func (soft) IgnoresBudgets() bool { return true }

// EvictPod implements framework.EvictPlugin. A pod that has the annotation keeps it, so
// that the owner sees when it was asked first.
func (s soft) EvictPod(ctx context.Context, pod *v1.Pod, options framework.EvictOptions) error {
	if _, asked := pod.Annotations[s.annotation]; asked {
		return &framework.RefusedError{By: SoftName, Reason: "its owner has been asked to move it and has not"}
	}
	value, err := json.Marshal(softEviction{
		Requester: requester, Profile: options.ProfileName, Plugin: options.PluginName,
		Reason: options.Reason, RequestedAt: now(s.handle), DeleteOptions: options.DeleteOptions,
	})
	if err != nil {
		return fmt.Errorf("annotation of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	// The UID makes the patch fail where the name belongs to another pod by now.
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": pod.UID, "annotations": map[string]string{s.annotation: string(value)},
	}})
	if err != nil {
		return fmt.Errorf("annotation of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	pods := s.handle.ClientSet().CoreV1().Pods(pod.Namespace)
	_, err = pods.Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	return read(err)
}
