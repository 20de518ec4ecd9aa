package migration

import (
	"cmp"
	"context"
	"encoding/json"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// evictStep ends the pod, once: that it is about to be evicted is written before, so that
// after an interruption it is known by what the pod has ended. Until it has ended it is only
// looked at.
func (c *Controller) evictStep(ctx context.Context, job *Job) (time.Duration, error) {
	known := job.condition(Eviction)
	pod, err := c.livePod(ctx, job)
	switch {
	case err != nil:
		return 0, err
	case known == nil && (pod == nil || pod.DeletionTimestamp != nil):
		return 0, c.end(ctx, job, c.unevicted(job), MissingPod, "the pod is gone, and was not evicted for this job")
	case pod == nil:
		return c.went(ctx, job, Condition{Type: Eviction, Status: metav1.ConditionTrue, Reason: EvictComplete})
	case pod.DeletionTimestamp != nil:
		return retryAfter, nil
	}
	if job.mode() == ReservationFirst {
		place, err := c.live(ctx, *job.Status.Reservation)
		if err != nil {
			return 0, err
		}
		if reason, message := lost(place); reason != "" {
			return 0, c.end(ctx, job, Aborted, reason, message)
		}
	}
	if known == nil {
		return c.went(ctx, job, Condition{Type: Eviction, Status: metav1.ConditionFalse, Reason: Evicting})
	}
	if _, asked := pod.Annotations[AnnotationSoftEviction]; asked && c.policyOf(job, pod) == BySoftEviction {
		return retryAfter, nil // it is the owner's turn
	}
	if wait := c.bucket.take(c.handle.Clock().Now()); wait > 0 {
		return wait, nil
	}
	return c.evict(ctx, job, pod)
}

// unevicted is the end of a job that evicted nothing.
func (c *Controller) unevicted(job *Job) Phase {
	if job.mode() == EvictDirectly {
		return Failed
	}
	return Aborted
}

// evict asks for the end of a pod. A refusal is noted, and the pod is tried again.
func (c *Controller) evict(ctx context.Context, job *Job, pod *v1.Pod) (time.Duration, error) {
	options := metav1.DeleteOptions{}
	if job.Spec.DeleteOptions != nil {
		options = *job.Spec.DeleteOptions.DeepCopy()
	}
	options.Preconditions = metav1.NewUIDPreconditions(string(pod.UID))
	client := c.handle.ClientSet().CoreV1().Pods(pod.Namespace)
	var err error
	switch c.policyOf(job, pod) {
	case ByDelete:
		err = client.Delete(ctx, pod.Name, options)
	case BySoftEviction:
		err = c.askSoftly(ctx, job, pod)
	default:
		err = client.EvictV1(ctx, &policy.Eviction{
			ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, Annotations: map[string]string{
				"requested-by": Domain, "reason": job.Annotations[AnnotationReason],
			}},
			DeleteOptions: &options,
		})
	}
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) { // gone, or another pod of the name
		return retryAfter, nil
	}
	return c.waits(ctx, job, Condition{Type: Eviction, Reason: FailedEvict, Message: err.Error()})
}

// policyOf is the way in which a pod is ended: the label of the job or of the pod, or else
// the arguments.
func (c *checks) policyOf(job *Job, pod *v1.Pod) Policy {
	p := Policy(cmp.Or(job.Labels[LabelEvictionPolicy], pod.Labels[LabelEvictionPolicy]))
	if !p.known() {
		return c.args.EvictionPolicy
	}
	return p
}

// askSoftly asks what owns a pod to end it, with an annotation.
func (c *Controller) askSoftly(ctx context.Context, job *Job, pod *v1.Pod) error {
	text, err := json.Marshal(map[string]string{"job": job.Name, "reason": job.Annotations[AnnotationReason]})
	if err != nil {
		return err
	}
	if err := c.annotate(ctx, pod, string(text)); err != nil {
		return err
	}
	if now, err := c.jobs.get(ctx, job.Name); apierrors.IsNotFound(err) || err == nil && now.Ended() { // meanwhile
		return c.unask(ctx, job)
	}
	return nil
}

// annotate writes what asks the owner of a pod, or with nil takes it away.
func (c *checks) annotate(ctx context.Context, pod *v1.Pod, value any) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": pod.UID, "annotations": map[string]any{AnnotationSoftEviction: value},
	}})
	if err != nil {
		return err
	}
	_, err = c.handle.ClientSet().CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// asker is the job that has asked the owner of a pod to end it; empty if none has.
func asker(pod *v1.Pod) string {
	var said struct {
		Job string `json:"job"`
	}
	if text := pod.Annotations[AnnotationSoftEviction]; text == "" || json.Unmarshal([]byte(text), &said) != nil {
		return "" // another plugin, or a user, has asked
	}
	return said.Job
}

// unask takes back what a job has asked of the owner of its pod.
func (c *Controller) unask(ctx context.Context, job *Job) error {
	pod, err := c.livePod(ctx, job)
	if err == nil && pod != nil && asker(pod) == job.Name {
		err = c.annotate(ctx, pod, nil)
	}
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// A bucket bounds how many evictions are asked for in a second. It does not wait.
type bucket struct {
	mu     sync.Mutex
	every  time.Duration // after which there is one more
	most   int
	tokens int
	since  time.Time // when the tokens were counted
}

func newBucket(rate PerSecond, most int) *bucket {
	return &bucket{every: max(time.Duration(float64(time.Second)/float64(rate)), 1), most: most, tokens: most}
}

// take takes a token, or says how long to wait for one.
func (b *bucket) take(now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if more := int64(now.Sub(b.since) / b.every); b.since.IsZero() || more >= int64(b.most) {
		b.tokens, b.since = b.most, now
	} else if more > 0 {
		b.tokens = min(b.most, b.tokens+int(more))
		b.since = b.since.Add(time.Duration(more) * b.every)
	}
	if b.tokens == 0 {
		return max(b.every-now.Sub(b.since), atOnce)
	}
	b.tokens--
	return 0
}
