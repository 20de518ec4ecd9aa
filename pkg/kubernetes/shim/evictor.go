package shim

import (
	"context"
	"encoding/json"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"
	v1 "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
)

// An eviction is the wish of the core that a pod ends, and how its end is confirmed.
type eviction struct {
	termination si.TerminationType
	message     string
}

// conditionAttempts is how often the condition of a victim is tried before it is deleted
// without one: the room is waited for.
const conditionAttempts = 3

// An evictor ends pods that the core wants to end: with a condition that says why, and then
// with the grace that the pod asks for. One of another scheduler is evicted, so that its budgets
// are kept whatever is known of them here. The core hears of the end when the pod is gone.
type evictor struct {
	*Context
	queue workqueue.TypedRateLimitingInterface[string] // keys of pods
}

func newEvictor(c *Context) *evictor {
	return &evictor{Context: c, queue: newQueue(c.options)}
}

func (e *evictor) start() {
	for range e.options.EvictWorkers {
		e.run(func() { work(e.Context, e.queue, e.evict) })
	}
}

func (e *evictor) add(key string) { e.queue.Add(key) }

// evict ends one pod. The error is logged.
func (e *evictor) evict(key string) error {
	e.mu.RLock()
	t := e.tasks[key]
	if t == nil || t.eviction == nil || t.pod.DeletionTimestamp != nil {
		e.mu.RUnlock()
		return nil
	}
	pod, why, foreign := t.pod, *t.eviction, t.foreign()
	e.mu.RUnlock()

	ctx, cancel := context.WithTimeout(e.ctx, e.options.BindTimeout)
	defer cancel()
	if !foreign && why.termination == si.TerminationType_PREEMPTED_BY_SCHEDULER {
		err := e.patchStatus(ctx, pod, map[string]any{"conditions": []v1.PodCondition{disrupted(pod, why.message)}})
		if err != nil && !apierrors.IsNotFound(err) && e.queue.NumRequeues(key) < conditionAttempts {
			e.log.Warn("condition of victim not written", refer(pod), zap.Error(err))
			return err
		}
	}
	err := e.end(ctx, pod, foreign)
	switch {
	case err == nil:
		e.log.Info("pod evicted", refer(pod), zap.Stringer("termination", why.termination), zap.String("reason", why.message))
		return nil
	case apierrors.IsNotFound(err) || apierrors.IsConflict(err): // gone, or another pod of the name
		return nil
	}
	if apierrors.IsTooManyRequests(err) {
		e.options.Metrics.refused.Inc()
	}
	e.log.Warn("pod not evicted yet", refer(pod), zap.Error(err))
	return err
}

// end asks the API server to end a pod.
func (e *evictor) end(ctx context.Context, pod *v1.Pod, foreign bool) error {
	options := metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(pod.UID))}
	if !foreign {
		return e.options.Client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, options)
	}
	return e.options.Client.PolicyV1().Evictions(pod.Namespace).Evict(ctx, &policy.Eviction{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}, DeleteOptions: &options,
	})
}

// disrupted is the condition that tells controllers and people why a pod ends.
func disrupted(pod *v1.Pod, message string) v1.PodCondition {
	return v1.PodCondition{
		Type: v1.DisruptionTarget, Status: v1.ConditionTrue, Reason: v1.PodReasonPreemptionByScheduler,
		Message: shortened(message), LastTransitionTime: metav1.Now(), ObservedGeneration: pod.Generation,
	}
}

// patchStatus changes a part of the status of a pod, unless there is another pod of its name
// by now.
func (c *Context) patchStatus(ctx context.Context, pod *v1.Pod, status map[string]any) error {
	return c.patch(ctx, pod, map[string]any{"uid": pod.UID}, status)
}

// patch changes a part of the status of the pod that has such metadata by now.
func (c *Context) patch(ctx context.Context, pod *v1.Pod, metadata, status map[string]any) error {
	patch, err := json.Marshal(map[string]any{"metadata": metadata, "status": status})
	if err != nil {
		return err
	}
	answer, err := c.options.Client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if err == nil {
		c.status.answered(answer)
	}
	return err
}
