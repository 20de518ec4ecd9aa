package outoftree

import (
	"context"
	"fmt"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// Name is what is said to have changed when one pod is to be tried again.
func Name(uid types.UID) string { return "pod " + string(uid) }

// A waker knows which pods plugins have refused, and has those tried again for which an event may help, by what the plugin said:
// the events that it registered, and its hint about each. A plugin that registers none wakes its pods with any event.
type waker struct {
	set     *Set
	wants   map[string][]fwk.ClusterEventWithHint // by plugin
	mu      sync.Mutex
	refused map[types.UID]*refusal
	changed func(name string) // nil before Notify
}

// A refusal is which plugins have refused a pod since it was tried again.
type refusal struct {
	pod     *v1.Pod
	plugins map[string]bool
}

func newWaker(s *Set) *waker {
	return &waker{set: s, wants: map[string][]fwk.ClusterEventWithHint{}, refused: map[types.UID]*refusal{}}
}

// register asks a plugin which events may help pods that it refuses.
func (w *waker) register(ctx context.Context, g *guarded) (err error) {
	if !g.points[preFilter] && !g.points[filter] && !g.points[reserve] && !g.points[permit] {
		return nil // it refuses none
	}
	registers, ok := g.inner.(fwk.EnqueueExtensions)
	if !ok {
		w.wants[g.name] = framework.UnrollWildCardResource()
		return nil
	}
	if w.wants[g.name], err = registers.EventsToRegister(ctx); err != nil {
		return fmt.Errorf("EventsToRegister: %w", err)
	}
	return nil
}

// Notify has a function called with the Name of each pod that is to be tried again.
func (s *Set) Notify(changed func(name string)) {
	s.waker.mu.Lock()
	defer s.waker.mu.Unlock()
	s.waker.changed = changed
}

// Refused notes that a plugin has refused a pod. What is no plugin of the set is left out.
func (s *Set) Refused(pod *v1.Pod, plugin string) {
	if !s.Has(plugin) {
		return
	}
	w := s.waker
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.refused[pod.UID]
	if r == nil {
		r = &refusal{plugins: map[string]bool{}}
		w.refused[pod.UID] = r
	}
	r.pod, r.plugins[plugin] = pod, true
}

// Forget forgets a pod that has its node, or is gone.
func (s *Set) Forget(uid types.UID) {
	if s == nil {
		return
	}
	s.waker.mu.Lock()
	defer s.waker.mu.Unlock()
	delete(s.waker.refused, uid)
}

// Happened has those pods tried again which an event may help.
func (s *Set) Happened(event fwk.ClusterEvent, before, now any) {
	if s != nil {
		s.waker.happened(event, before, now)
	}
}

func (w *waker) happened(event fwk.ClusterEvent, before, now any) {
	type question struct {
		pod    *v1.Pod
		plugin string
		event  fwk.ClusterEvent
	}
	var questions []question
	w.mu.Lock()
	for uid, r := range w.refused {
		about := event
		if pod, ok := before.(*v1.Pod); ok && pod.UID == uid {
			if now == nil {
				continue // its own end helps it not, as when it is unreserved
			}
			about.Resource = fwk.TargetPod
		}
		for plugin := range r.plugins {
			questions = append(questions, question{r.pod, plugin, about})
		}
	}
	w.mu.Unlock()
	for _, q := range questions {
		if w.helps(q.plugin, q.pod, q.event, before, now) {
			w.wake(q.pod.UID)
		}
	}
}

// helps says whether a pod that a plugin has refused may run after an event. If the plugin gives no answer, it may.
func (w *waker) helps(plugin string, pod *v1.Pod, event fwk.ClusterEvent, before, now any) bool {
	for _, wanted := range w.wants[plugin] {
		if !framework.MatchClusterEvents(wanted.Event, event) {
			continue
		}
		if wanted.QueueingHintFn == nil {
			return true
		}
		g := w.set.guards[plugin]
		hint, failure := ask(g, "QueueingHint", pod, func() fwk.QueueingHint {
			hint, err := wanted.QueueingHintFn(klog.Background(), pod, before, now)
			if err != nil {
				_ = g.fails("QueueingHint", pod, err, nil) // it is logged
				return fwk.Queue
			}
			return hint
		})
		if failure != nil || hint == fwk.Queue {
			return true
		}
	}
	return false
}

// wake has a pod tried again.
func (w *waker) wake(uid types.UID) {
	w.mu.Lock()
	delete(w.refused, uid)
	changed := w.changed
	w.mu.Unlock()
	if changed != nil {
		changed(Name(uid))
	}
}

// Activate has pods tried again, since a plugin says so.
func (w *waker) Activate(_ klog.Logger, pods map[string]*v1.Pod) { w.activate(pods) }

func (w *waker) activate(pods map[string]*v1.Pod) {
	for _, pod := range pods {
		w.wake(pod.UID)
	}
}
