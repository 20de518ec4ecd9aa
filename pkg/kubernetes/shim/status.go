package shim

import (
	"context"
	"sync"

	"go.uber.org/zap"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
)

// A podStatus is what is to be written about a pod that waits.
type podStatus struct {
	nominated *string // nil leaves it as it is
	message   *string // why it is unschedulable; nil leaves the condition as it is
}

// A statusWriter writes the nominated node and the condition of pods that wait. Only the
// last wish for a pod counts: what was superseded before it could be written never is.
type statusWriter struct {
	*Context
	queue workqueue.TypedRateLimitingInterface[string] // keys of pods

	wishes sync.Mutex // guards wanted; it may be taken with the lock of the context held
	wanted map[string]podStatus
}

func newStatusWriter(c *Context) *statusWriter {
	return &statusWriter{Context: c, queue: newQueue(c.options), wanted: map[string]podStatus{}}
}

func (w *statusWriter) start() {
	for range w.options.StatusWorkers {
		w.run(func() { work(w.queue, w.write) })
	}
}

// nominate publishes the node on which room is made for a pod; an empty one is none.
func (w *statusWriter) nominate(key, node string) {
	w.change(key, func(s *podStatus) { s.nominated = &node })
}

// unschedulable says that a pod fits on no node, and why.
func (w *statusWriter) unschedulable(key, message string) {
	message = shortened(message)
	w.change(key, func(s *podStatus) { s.message = &message })
}

func (w *statusWriter) change(key string, change func(*podStatus)) {
	w.wishes.Lock()
	wanted := w.wanted[key]
	change(&wanted)
	w.wanted[key] = wanted
	w.wishes.Unlock()
	w.queue.Add(key)
}

// forget drops what was to be written about a pod that has ended.
func (w *statusWriter) forget(key string) {
	w.wishes.Lock()
	defer w.wishes.Unlock()
	delete(w.wanted, key)
}

// write writes what is wanted of one pod.
func (w *statusWriter) write(key string) error {
	w.wishes.Lock()
	wanted, ok := w.wanted[key]
	delete(w.wanted, key)
	w.wishes.Unlock()
	pod, err := w.podOf(key)
	if !ok || err != nil || pod.Spec.NodeName != "" { // a pod that has its node waits no more
		return nil
	}
	status := map[string]any{}
	if wanted.nominated != nil && *wanted.nominated != pod.Status.NominatedNodeName {
		status["nominatedNodeName"] = *wanted.nominated
	}
	if wanted.message != nil && !tells(pod, *wanted.message) {
		status["conditions"] = []v1.PodCondition{unschedulable(pod, *wanted.message)}
	}
	if len(status) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(w.ctx, w.options.BindTimeout)
	defer cancel()
	err = w.patchStatus(ctx, pod, status)
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	w.log.Warn("status of pod not written yet", refer(pod), zap.Error(err))
	w.wishes.Lock()
	defer w.wishes.Unlock()
	newer := w.wanted[key]
	if newer.nominated == nil {
		newer.nominated = wanted.nominated
	}
	if newer.message == nil {
		newer.message = wanted.message
	}
	w.wanted[key] = newer
	return err
}

// tells reports whether the condition of a pod says this already.
func tells(pod *v1.Pod, message string) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == v1.PodScheduled {
			return c.Status == v1.ConditionFalse && c.Reason == v1.PodReasonUnschedulable && c.Message == message
		}
	}
	return false
}

// unschedulable is the condition on which autoscalers add nodes.
func unschedulable(pod *v1.Pod, message string) v1.PodCondition {
	return v1.PodCondition{
		Type: v1.PodScheduled, Status: v1.ConditionFalse, Reason: v1.PodReasonUnschedulable,
		Message: message, LastTransitionTime: metav1.Now(), ObservedGeneration: pod.Generation,
	}
}
