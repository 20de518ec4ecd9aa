package migration

import (
	"context"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// listed is a pod as the informer has it, which may be a moment old; nil if it is not there,
// or another one of the name is.
func (c *checks) listed(ref PodRef) *v1.Pod {
	pod, err := c.pods.Pods(ref.Namespace).Get(ref.Name)
	if err != nil || ref.UID != "" && pod.UID != ref.UID {
		return nil
	}
	return pod
}

// live is a pod as the API server has it; nil if it is gone, also if another one of the name
// is there.
func (c *checks) live(ctx context.Context, ref PodRef) (*v1.Pod, error) {
	pod, err := c.handle.ClientSet().CoreV1().Pods(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	case ref.UID != "" && pod.UID != ref.UID:
		return nil, nil
	}
	return pod, nil
}

// look is the pod of the informer, or else that of the API server: what was made a moment ago
// may not be heard of yet. That it is gone is certain.
func (c *checks) look(ctx context.Context, ref PodRef) (*v1.Pod, error) {
	if pod := c.listed(ref); pod != nil {
		return pod, nil
	}
	return c.live(ctx, ref)
}

// podOf is the pod of a job that has not begun. One that is gone, or is ending, is an error
// which IsNotFound reports.
func (c *Controller) podOf(ctx context.Context, job *Job) (*v1.Pod, error) {
	ref := job.Spec.PodRef
	ref.UID = job.podUID()
	pod, err := c.look(ctx, ref)
	if err == nil && (pod == nil || pod.DeletionTimestamp != nil) {
		err = apierrors.NewNotFound(v1.Resource("pods"), ref.Namespace+"/"+ref.Name)
	}
	return pod, err
}

// place is the reservation of a job; nil if it is gone.
func (c *Controller) place(ctx context.Context, job *Job) (*v1.Pod, error) {
	return c.look(ctx, *job.Status.Reservation)
}

// taker is the pod that was given the place of a reservation; nil if there is none.
func taker(all []*v1.Pod, reservation types.UID) *v1.Pod {
	for _, pod := range all {
		if pods.TakenReservation(pod) == reservation {
			return pod
		}
	}
	return nil
}
