package frameworktest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

// Limits are the most evictions in a cycle; zero is no limit.
type Limits struct {
	Total, PerNode, PerNamespace, PerWorkload int
}

// An Eviction is what was recorded of one.
type Eviction struct {
	Pod     *v1.Pod
	Node    string // where it ran
	To      string // where its replacement stands; empty: nowhere
	Options framework.EvictOptions
}

// String is "namespace/name node -> node".
func (e Eviction) String() string {
	to := e.To
	if to == "" {
		to = "nowhere"
	}
	return fmt.Sprintf("%s/%s %s -> %s", e.Pod.Namespace, e.Pod.Name, e.Node, to)
}

// evictor implements framework.PodEvictor without an API server.
type evictor struct {
	handle *Handle

	mu       sync.Mutex
	filters  []framework.Plugin
	done     []Eviction
	asked    []string
	declined []string
	counts   map[framework.LimitError]int
}

// Name implements framework.Plugin.
func (e *evictor) Name() string { return "frameworktest" }

// Filter implements framework.Evictor.
func (e *evictor) Filter(pod *v1.Pod) bool { return e.Why(pod) == nil }

// Why implements framework.PodEvictor.
func (e *evictor) Why(pod *v1.Pod) error {
	if pod.DeletionTimestamp != nil {
		return errors.New("it is terminating")
	}
	var errs []error
	for _, f := range e.filters {
		if f, ok := f.(framework.FilterPlugin); ok {
			errs = append(errs, f.Filter(pod))
		}
	}
	return errors.Join(errs...)
}

// PreEvictionFilter implements framework.PodEvictor.
func (e *evictor) PreEvictionFilter(pod *v1.Pod) bool { return e.preEviction(pod) == nil }

func (e *evictor) preEviction(pod *v1.Pod) error {
	for _, f := range e.filters {
		if f, ok := f.(framework.PreEvictionFilterPlugin); ok {
			if err := f.PreEvictionFilter(pod); err != nil {
				return &framework.RefusedError{By: f.(framework.Plugin).Name(), Reason: err.Error()}
			}
		}
	}
	return nil
}

// Evict implements framework.Evictor.
func (e *evictor) Evict(ctx context.Context, pod *v1.Pod, o framework.EvictOptions) bool {
	return e.EvictPod(ctx, pod, o) == nil
}

// EvictPod implements framework.PodEvictor.
func (e *evictor) EvictPod(_ context.Context, pod *v1.Pod, o framework.EvictOptions) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.asked = append(e.asked, pod.Namespace+"/"+pod.Name)
	if e.handle.snapshot.WasEvicted(pod.UID) {
		return nil
	}
	if err := e.preEviction(pod); err != nil {
		return err
	}
	if limit := e.full(pod); limit != nil {
		return limit
	}
	if refuse := e.handle.options.Refuse; refuse != nil {
		if err := refuse(pod); err != nil {
			return err
		}
	}
	to := ""
	_, owned := framework.WorkloadOf(pod)
	if owned && pod.Status.Phase != v1.PodFailed && pod.Status.Phase != v1.PodSucceeded {
		place, err := e.handle.landing.Place(pod, o.Choice(nil, false))
		if err != nil {
			return &framework.RefusedError{By: "landing", Reason: err.Error()}
		}
		to = place.Node
	}
	_ = e.handle.landing.Book(pod, to)
	for _, l := range e.limits(pod) {
		e.counts[l]++
	}
	e.handle.snapshot.Evicted(pod.UID)
	e.done = append(e.done, Eviction{Pod: pod, Node: pod.Spec.NodeName, To: to, Options: o})
	return nil
}

// Full implements framework.PodEvictor.
func (e *evictor) Full(pod *v1.Pod) *framework.LimitError {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.full(pod)
}

func (e *evictor) full(pod *v1.Pod) *framework.LimitError {
	for _, l := range e.limits(pod) {
		if l.Max > 0 && e.counts[l] >= l.Max {
			return &l
		}
	}
	return nil
}

// limits are those that count a pod.
func (e *evictor) limits(pod *v1.Pod) []framework.LimitError {
	most := e.handle.options.Limits
	limits := []framework.LimitError{
		{Scope: framework.ScopeTotal, Span: framework.PerCycle, Max: most.Total},
		{Scope: framework.ScopeNode, Span: framework.PerCycle, Name: pod.Spec.NodeName, Max: most.PerNode},
		{Scope: framework.ScopeNamespace, Span: framework.PerCycle, Name: pod.Namespace, Max: most.PerNamespace},
	}
	if w, ok := framework.WorkloadOf(pod); ok {
		limits = append(limits, framework.LimitError{
			Scope: framework.ScopeWorkload, Span: framework.PerCycle, Name: w.String(), Max: most.PerWorkload,
		})
	}
	return limits
}

// Declined implements framework.Decliner.
func (e *evictor) Declined(pod *v1.Pod, _ framework.EvictOptions, why error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.declined = append(e.declined, fmt.Sprintf("%s/%s: %v", pod.Namespace, pod.Name, why))
}

// Evictions are those that were done, in their order.
func (h *Handle) Evictions() []Eviction {
	h.evictor.mu.Lock()
	defer h.evictor.mu.Unlock()
	return slices.Clone(h.evictor.done)
}

// Moves are the evictions as texts, in their order.
func (h *Handle) Moves() []string {
	moves := []string{}
	for _, e := range h.Evictions() {
		moves = append(moves, e.String())
	}
	return moves
}

// Evicted are the pods that were evicted, "namespace/name", sorted.
func (h *Handle) Evicted() []string {
	names := []string{}
	for _, e := range h.Evictions() {
		names = append(names, e.Pod.Namespace+"/"+e.Pod.Name)
	}
	slices.Sort(names)
	return names
}

// Asked are the pods for which EvictPod was called, whatever the answer.
func (h *Handle) Asked() []string {
	h.evictor.mu.Lock()
	defer h.evictor.mu.Unlock()
	return slices.Clone(h.evictor.asked)
}

// Declined are the reasons why plugins left pods where they are.
func (h *Handle) Declined() []string {
	h.evictor.mu.Lock()
	defer h.evictor.mu.Unlock()
	return slices.Clone(h.evictor.declined)
}

// Use adds a plugin to those that are asked as filters, where it is one.
func (h *Handle) Use(plugin framework.Plugin) {
	h.evictor.mu.Lock()
	defer h.evictor.mu.Unlock()
	h.evictor.filters = append(h.evictor.filters, plugin)
}
