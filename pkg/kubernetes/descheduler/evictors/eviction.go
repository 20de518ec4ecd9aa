package evictors

import (
	"context"

	v1 "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

// eviction is the plugin Eviction.
type eviction struct {
	handle     framework.Handle
	background *background // nil: switched off
}

var _ framework.BackgroundReporter = (*eviction)(nil)

func newEviction(args *EvictionArgs, h framework.Handle) (framework.Plugin, error) {
	e := &eviction{handle: h}
	if args.Background {
		pods := h.SharedInformerFactory().Core().V1().Pods()
		pods.Informer() // asks for it
		e.background = newBackground(pods.Lister(), h.Clock())
	}
	return e, nil
}

// Name implements framework.Plugin.
func (*eviction) Name() string { return EvictionName }

// EvictPod implements framework.EvictPlugin.
func (e *eviction) EvictPod(ctx context.Context, pod *v1.Pod, options framework.EvictOptions) error {
	if e.background.begun(pod) {
		return nil
	}
	err := e.handle.ClientSet().PolicyV1().Evictions(pod.Namespace).Evict(ctx, &policy.Eviction{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace,
			Name:      pod.Name,
			Annotations: map[string]string{
				annotationRequester: requester,
				annotationReason:    whole(options),
			},
		},
		DeleteOptions: about(pod, options),
	})
	if e.background.takes(pod, err) {
		return nil
	}
	return read(err)
}

// Background implements framework.BackgroundReporter.
func (e *eviction) Background() []*v1.Pod { return e.background.pods() }
