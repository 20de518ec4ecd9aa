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
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
)

// A podStatus is what is to be written about a pod that waits.
type podStatus struct {
	nominated *string // nil leaves it as it is
	waits     *waits  // nil leaves the condition as it is
	ungated   bool    // the condition that its scheduling gates have left behind goes
	urgent    bool    // others act on it
}

// A waits is why a pod waits.
type waits struct {
	reason  scheduler.WaitReason
	message string
}

// Reasons of the condition of pods that the core does not know of, or that no node helps whatever nodes there are.
const (
	waitsRefused      scheduler.WaitReason = "Refused"          // by the core, or since it is no placeholder
	waitsForReference scheduler.WaitReason = "MissingReference" // a namespace, daemonset or pod group
	waitsForClaim     scheduler.WaitReason = "ClaimNotReady"    // a volume or device claim
	waitsForPlugin    scheduler.WaitReason = "RefusedByPlugin"  // that is none of kube-scheduler's
)

// A statusWriter writes the nominated node and the condition of pods that wait. Only the
// last wish for a pod counts: what was superseded before it could be written never is.
type statusWriter struct {
	*Context
	queue statusQueue

	wishes  sync.Mutex // guards what follows; it may be taken with the lock of the context held
	wanted  map[string]podStatus
	written map[string]*v1.Pod // what the API server answered last, where informers may not have it yet
	said    map[string]*waits  // why pods wait, as it was told last
}

func newStatusWriter(c *Context) *statusWriter {
	w := &statusWriter{Context: c, wanted: map[string]podStatus{}, written: map[string]*v1.Pod{}, said: map[string]*waits{}}
	w.queue = newStatusQueue(c.ctx, c.options, w.isUrgent)
	return w
}

// isUrgent reports whether others act on what is to be written about a pod.
func (w *statusWriter) isUrgent(key string) bool {
	w.wishes.Lock()
	defer w.wishes.Unlock()
	return w.wanted[key].urgent
}

func (w *statusWriter) start() {
	for range w.options.StatusWorkers {
		w.run(func() { work(w.Context, w.queue, w.write) })
	}
}

// nominate publishes the node on which room is made for a pod; an empty one is none.
func (w *statusWriter) nominate(key, node string) {
	w.change(key, func(s *podStatus) { s.nominated, s.urgent = &node, true })
}

// waits says why a pod waits.
func (w *statusWriter) waits(key string, reason scheduler.WaitReason, message string) {
	now := &waits{reason, shortened(message)}
	w.change(key, func(s *podStatus) {
		before := w.said[key]
		w.said[key], s.waits = now, now
		s.urgent = s.urgent || reason == scheduler.WaitsForNodes || before != nil && before.reason == scheduler.WaitsForNodes
	})
}

// again has it looked at anew whether nodes help a pod, since its claims have changed.
func (w *statusWriter) again(key string) {
	w.wishes.Lock()
	said := w.said[key]
	w.wishes.Unlock()
	if said != nil && said.reason == scheduler.WaitsForNodes {
		w.change(key, func(s *podStatus) { s.waits, s.urgent = w.said[key], true })
	}
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
	delete(w.said, key)
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
	ctx, cancel := context.WithTimeout(w.ctx, w.options.BindTimeout)
	defer cancel()
	if err := w.freeClaims(ctx, pod, wanted.waits); err != nil {
		w.putBack(key, wanted)
		w.log.Warn("claim of a pod that waits not freed yet", refer(pod), zap.Error(err))
		return err
	}
	status := map[string]any{}
	if wanted.nominated != nil && *wanted.nominated != pod.Status.NominatedNodeName {
		status["nominatedNodeName"] = *wanted.nominated
	}
	if why := w.helped(pod, wanted.waits); why != nil && !tells(pod, why) {
		status["conditions"] = []v1.PodCondition{conditionOf(pod, why)}
	} else if wanted.ungated && saysGated(pod) {
		status["conditions"] = []map[string]any{{"type": v1.PodScheduled, "$patch": "delete"}}
	}
	if len(status) == 0 {
		return nil
	}
	// Only the pod that was looked at: one that has been bound since must not say that it waits.
	err := w.patch(ctx, pod, map[string]any{"uid": pod.UID, "resourceVersion": pod.ResourceVersion}, status)
	if err == nil || apierrors.IsNotFound(err) {
		return nil
	}
	if !apierrors.IsConflict(err) {
		w.log.Warn("status of pod not written yet", refer(pod), zap.Error(err))
	}
	w.putBack(key, wanted)
	return err
}

// putBack keeps what could not be written about a pod, but for what is superseded by now.
func (w *statusWriter) putBack(key string, wanted podStatus) {
	w.wishes.Lock()
	defer w.wishes.Unlock()
	newer := w.wanted[key]
	if newer.nominated == nil {
		newer.nominated = wanted.nominated
	}
	if newer.waits == nil {
		newer.waits = wanted.waits
	}
	newer.ungated, newer.urgent = newer.ungated || wanted.ungated, newer.urgent || wanted.urgent
	w.wanted[key] = newer
}

// freeClaims frees a claim that keeps a pod from nodes, if it waits for nodes.
func (w *statusWriter) freeClaims(ctx context.Context, pod *v1.Pod, why *waits) error {
	refers, ok := w.feasible.Feasibility.(claimReferences)
	if !ok || why == nil || why.reason != scheduler.WaitsForNodes {
		return nil
	}
	return refers.FreeClaims(ctx, pod)
}

// saysGated reports whether the condition of a pod says that it has scheduling gates.
func saysGated(pod *v1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c v1.PodCondition) bool {
		return c.Type == v1.PodScheduled && c.Reason == v1.PodReasonSchedulingGated
	})
}

// helped is why a pod waits, where that is said to be for nodes and a claim or a plugin keeps it from all nodes that may come.
func (w *statusWriter) helped(pod *v1.Pod, why *waits) *waits {
	refers, ok := w.feasible.Feasibility.(claimReferences)
	if !ok || why == nil || why.reason != scheduler.WaitsForNodes || len(refers.References(pod)) == 0 {
		return why
	}
	if err := refers.RefusedEverywhere(pod); err != nil {
		reason := waitsForClaim
		if refusedBy(err) != "" {
			reason = waitsForPlugin
		}
		return &waits{reason, shortened(err.Error())}
	}
	return why
}

// scheduled is the condition of a pod that says whether it has its node, and nil if it has none.
func scheduled(pod *v1.Pod) *v1.PodCondition {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == v1.PodScheduled {
			return c
		}
	}
	return nil
}

// tells reports whether the condition of a pod says this already.
func tells(pod *v1.Pod, why *waits) bool {
	c := scheduled(pod)
	return c != nil && c.Status == v1.ConditionFalse && c.Reason == string(why.reason) && c.Message == why.message
}

// conditionOf is the condition that says why a pod waits. Autoscalers add nodes for the reason Unschedulable.
func conditionOf(pod *v1.Pod, why *waits) v1.PodCondition {
	since := metav1.Now()
	if c := scheduled(pod); c != nil && c.Status == v1.ConditionFalse {
		since = c.LastTransitionTime // of the status, not of the reason
	}
	return v1.PodCondition{
		Type: v1.PodScheduled, Status: v1.ConditionFalse, Reason: string(why.reason),
		Message: why.message, LastTransitionTime: since, ObservedGeneration: pod.Generation,
	}
}
