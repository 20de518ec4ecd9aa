package evictors

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

// The names of the plugins.
const (
	EvictionName = "Eviction"
	DeleteName   = "Delete"
	SoftName     = "SoftEviction"
)

// Annotations that this package writes. Those of an Eviction are in the audit log.
const (
	annotationRequester = "requester"
	annotationReason    = "reason"
	requester           = "sigs.k8s.io/descheduler"
)

// Register returns the definitions of all evict plugins of this package.
func Register() []framework.Definition {
	points := []framework.Point{framework.Evict}
	return []framework.Definition{
		framework.Typed(framework.Definition{Name: EvictionName, Points: points}, nil, newEviction),
		{
			Name: DeleteName, Points: points,
			New: func(_ context.Context, _ any, h framework.Handle) (framework.Plugin, error) {
				return deletion{h.ClientSet()}, nil
			},
		},
		framework.Typed(framework.Definition{
			Name: SoftName, Points: points, Args: func() any { return &SoftArgs{Annotation: SoftAnnotation, TTL: metav1.Duration{Duration: time.Hour}} }, TakeBack: takeBackSoft,
		}, validateSoft, newSoft),
	}
}

// EvictionArgs are the arguments of Eviction.
type EvictionArgs struct {
	// Background takes an answer of the API server that an owner has begun to move a pod
	// with the annotation descheduler.alpha.kubernetes.io/request-evict-only as success.
	Background bool `json:"background"`
}

// SoftArgs are the arguments of SoftEviction.
type SoftArgs struct {
	// Annotation is the key that is written. Its value is JSON: see softEviction.
	Annotation string `json:"annotation"`
	// TTL is after which time a request is taken back that the owner of the pod has not followed, so that a cycle asks for what still
	// should go. 0 is never.
	TTL metav1.Duration `json:"ttl"`
}

// whole is the reason of an eviction with what asked for it.
func whole(o framework.EvictOptions) string {
	return fmt.Sprintf("triggered by %s/%s: %s", o.ProfileName, o.PluginName, o.Reason)
}

// about are the options of a deletion of this very pod: another one of the same name may
// have taken its place since it was looked at.
func about(pod *v1.Pod, o framework.EvictOptions) *metav1.DeleteOptions {
	of := &metav1.DeleteOptions{}
	if o.DeleteOptions != nil {
		of = o.DeleteOptions.DeepCopy()
	}
	of.Preconditions = &metav1.Preconditions{UID: &pod.UID}
	return of
}

// read makes an answer of the API server an error of the framework. A conflict means that
// the name belongs to another pod by now.
func read(err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return fmt.Errorf("%w: %w", framework.ErrGone, err)
	case apierrors.IsTooManyRequests(err):
		return &framework.RefusedError{By: "disruption budget", Reason: err.Error(), Err: err}
	}
	return err
}

// now is the time for values that people read.
func now(h framework.Handle) string { return h.Clock().Now().UTC().Format(time.RFC3339) }
