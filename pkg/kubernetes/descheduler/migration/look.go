package migration

import (
	"context"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

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
	if !isSegment(ref.Namespace) || !isSegment(ref.Name) {
		return nil, nil // the client would say for ever that it cannot ask for that
	}
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

// livePod is the pod of a job at the API server; nil if it is gone.
func (c *checks) livePod(ctx context.Context, job *Job) (*v1.Pod, error) {
	return c.live(ctx, PodRef{Namespace: job.Spec.PodRef.Namespace, Name: job.Spec.PodRef.Name, UID: job.podUID()})
}

// isSegment says whether a pod or a namespace may have a name, as far as that is a part of a path.
func isSegment(name string) bool { return name != "" && len(content.IsPathSegmentName(name)) == 0 }

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

// Indexes of pods. With them no job looks at all pods of a namespace.
const (
	podsByController  = Domain + "/controller"  // its UID
	podsByReservation = Domain + "/reservation" // the UID of that whose place they were given
)

// indexPods adds the indexes to an informer, unless the plugin of another profile has.
func indexPods(informer cache.SharedIndexInformer) (cache.Indexer, error) {
	if _, there := informer.GetIndexer().GetIndexers()[podsByController]; there {
		return informer.GetIndexer(), nil
	}
	by := func(uid func(*v1.Pod) types.UID) cache.IndexFunc {
		return func(object any) ([]string, error) {
			pod, ok := object.(*v1.Pod)
			if !ok || uid(pod) == "" {
				return nil, nil
			}
			return []string{string(uid(pod))}, nil
		}
	}
	err := informer.AddIndexers(cache.Indexers{podsByController: by(workloadUID), podsByReservation: by(pods.TakenReservation)})
	return informer.GetIndexer(), err
}

// indexedBy are the pods of an index, in no order.
func (c *checks) indexedBy(index string, uid types.UID) []*v1.Pod {
	objects, _ := c.indexed.ByIndex(index, string(uid)) // the index is there
	all := make([]*v1.Pod, 0, len(objects))
	for _, object := range objects {
		if pod, ok := object.(*v1.Pod); ok {
			all = append(all, pod)
		}
	}
	return all
}

// place is the reservation of a job; nil if it is gone.
func (c *Controller) place(ctx context.Context, job *Job) (*v1.Pod, error) {
	return c.look(ctx, *job.Status.Reservation)
}

// taker is the pod that was given the place of a reservation; nil if there is none. Certain
// reads the API server, as the informer may not have heard of it yet.
func (c *checks) taker(ctx context.Context, reservation PodRef, certain bool) (*v1.Pod, error) {
	if !certain {
		known := c.indexedBy(podsByReservation, reservation.UID)
		if len(known) == 0 {
			return nil, nil
		}
		return known[0], nil // there is one at most
	}
	all, err := c.handle.ClientSet().CoreV1().Pods(reservation.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for i := range all.Items {
		if pods.TakenReservation(&all.Items[i]) == reservation.UID {
			return &all.Items[i], nil
		}
	}
	return nil, nil
}
