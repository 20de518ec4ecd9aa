package shim

import (
	"context"
	"slices"
	"sync"

	"go.uber.org/zap"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// A podStatus is what is to be written about a pod that waits.
type podStatus struct {
	nominated *string // nil leaves it as it is
	message   *string // why it is unschedulable; nil leaves the condition as it is
	ungated   bool    // the condition that its scheduling gates have left behind goes
}

// A statusWriter writes the nominated node and the condition of pods that wait. Only the
// last wish for a pod counts: what was superseded before it could be written never is.
type statusWriter struct {
	*Context
	queue statusQueue

	wishes  sync.Mutex // guards what follows; it may be taken with the lock of the context held
	wanted  map[string]podStatus
	written map[string]*v1.Pod // what the API server answered last, where informers may not have it yet
}

func newStatusWriter(c *Context) *statusWriter {
	w := &statusWriter{Context: c, wanted: map[string]podStatus{}, written: map[string]*v1.Pod{}}
	w.queue = newStatusQueue(c.ctx, c.options, w.isUrgent)
	return w
}

// isUrgent reports whether others act on what is to be written about a pod.
func (w *statusWriter) isUrgent(key string) bool {
	w.wishes.Lock()
	defer w.wishes.Unlock()
	wanted := w.wanted[key]
	return wanted.nominated != nil || wanted.message != nil
}

func (w *statusWriter) start() {
	for range w.options.StatusWorkers {
		w.run(func() { work(w.Context, w.queue, w.write) })
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

// ungated takes away what the API server has said of the gates of a pod that has none any more. The
// pod may wait long for something else.
func (w *statusWriter) ungated(pod *v1.Pod) {
	if !pods.IsGated(pod) && !pods.IsBound(pod) && saysGated(pod) {
		w.change(pods.Key(pod), func(s *podStatus) { s.ungated = true })
	}
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
	delete(w.written, key)
}

// answered takes the state of a pod after its status was changed. Informers may hear of it
// only later.
func (w *statusWriter) answered(pod *v1.Pod) {
	key := pods.Key(pod)
	w.mu.RLock() // so that it is not noted after the end of the pod
	defer w.mu.RUnlock()
	if w.tasks[key] == nil {
		return
	}
	w.wishes.Lock()
	defer w.wishes.Unlock()
	if last := w.written[key]; last == nil || older(last, pod) {
		w.written[key] = pod
	}
}

// latest is the newer one of what informers say of a pod and what the API server answered. The
// lock of wishes must be held.
func (w *statusWriter) latest(pod *v1.Pod) *v1.Pod {
	written := w.written[pods.Key(pod)]
	if written != nil && older(pod, written) {
		return written
	}
	delete(w.written, pods.Key(pod))
	return pod
}

// take is what is wanted of a pod, with the pod in its latest state.
func (w *statusWriter) take(key string) (pod *v1.Pod, wanted podStatus, ok bool) {
	pod, err := w.podOf(key)
	w.wishes.Lock()
	defer w.wishes.Unlock()
	wanted, ok = w.wanted[key]
	delete(w.wanted, key)
	if err != nil {
		return nil, wanted, false
	}
	return w.latest(pod), wanted, ok
}

// write writes what is wanted of one pod.
func (w *statusWriter) write(key string) error {
	pod, wanted, ok := w.take(key)
	if !ok || pod.Spec.NodeName != "" { // a pod that has its node waits no more
		return nil
	}
	status := map[string]any{}
	if wanted.nominated != nil && *wanted.nominated != pod.Status.NominatedNodeName {
		status["nominatedNodeName"] = *wanted.nominated
	}
	if wanted.message != nil && !tells(pod, *wanted.message) {
		status["conditions"] = []v1.PodCondition{unschedulable(pod, *wanted.message)}
	} else if wanted.ungated && saysGated(pod) {
		status["conditions"] = []map[string]any{{"type": v1.PodScheduled, "$patch": "delete"}}
	}
	if len(status) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(w.ctx, w.options.BindTimeout)
	defer cancel()
	err := w.patchStatus(ctx, pod, status)
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
	newer.ungated = newer.ungated || wanted.ungated
	w.wanted[key] = newer
	return err
}

// saysGated reports whether the condition of a pod says that it has scheduling gates.
func saysGated(pod *v1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c v1.PodCondition) bool {
		return c.Type == v1.PodScheduled && c.Reason == v1.PodReasonSchedulingGated
	})
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
