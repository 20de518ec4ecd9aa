package framework

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/wording"
)

// ErrUnknownPod is what a Landing answers about a pod that does not run in the snapshot, or was
// evicted in this cycle before.
var ErrUnknownPod = errors.New("pod does not run, or was evicted already")

// Scope is what a limit counts evictions of.
type Scope string

// Scopes of limits.
const (
	ScopeTotal     Scope = "total"
	ScopePlugin    Scope = "plugin"
	ScopeNode      Scope = "node"
	ScopeNamespace Scope = "namespace"
	ScopeWorkload  Scope = "workload"
)

// Span is the time over which a limit counts.
type Span string

// Spans of limits.
const (
	// PerCycle counts from the start of a cycle.
	PerCycle Span = "cycle"
	// InFlight counts evictions whose pod has not ended, and migrations that have
	// not.
	InFlight Span = "in flight"
	// Window counts over a time that slides.
	Window Span = "window"
)

// LimitError says that a limit keeps a pod from being evicted. A plugin goes on
// with another node, namespace or workload, or stops: see Stop.
type LimitError struct {
	Scope Scope
	Span  Span
	// Name is the node, namespace, workload or plugin; empty for the total.
	Name string
	// Max is the limit.
	Max int
}

// Error implements error.
func (e *LimitError) Error() string {
	what := string(e.Scope)
	if e.Name != "" {
		what += " " + e.Name
	}
	evictions := wording.Several(e.Max, "eviction")
	switch e.Span {
	case InFlight:
		return fmt.Sprintf("limit of %s in flight reached for %s", evictions, what)
	case Window:
		return fmt.Sprintf("limit of %s in its time reached for %s", evictions, what)
	default:
		return fmt.Sprintf("limit of %s in a cycle reached for %s", evictions, what)
	}
}

// ErrNowhere is what a filter returns that looks for another node for a pod. A cycle asks the plugin
// again when evictions may have made room.
var ErrNowhere = errors.New("it fits on no other node")

// RefusedError says that this one pod is not evicted now, by a filter, a
// disruption budget, a cool-down or for want of a place to go.
type RefusedError struct {
	// By is the plugin or part that refused.
	By string
	// Reason is in words.
	Reason string
	// Err is the error behind it, if there is one.
	Err error
}

// Error implements error.
func (e *RefusedError) Error() string { return e.By + ": " + e.Reason }

// Unwrap returns the error behind it.
func (e *RefusedError) Unwrap() error { return e.Err }

// An UnsuitedError is what a Landing answers where a replacement has places, and none of them will do.
type UnsuitedError struct {
	// Node is one that the scheduler would take, and that will not do. Empty: all were looked at.
	Node string
	// Open says that the scheduler may take another one.
	Open bool
	// Nodes are those where it has a place, by name.
	Nodes  []string
	Reason string
}

// UnsuitedOn says why the place that the scheduler would take will not do.
func UnsuitedOn(pod *v1.Pod, place Place, why error) *UnsuitedError {
	would := "would"
	if place.Open {
		would = "may"
	}
	reason := fmt.Sprintf("node %s, where its replacement %s run, %s", place.Node, would, why)
	if place.Node == pod.Spec.NodeName {
		reason = fmt.Sprintf("its replacement %s come back to node %s", would, place.Node)
	}
	return &UnsuitedError{Node: place.Node, Open: place.Open, Nodes: []string{place.Node}, Reason: reason}
}

// Error implements error.
func (e *UnsuitedError) Error() string { return e.Reason }

// Refusals are why nodes will not do.
type Refusals map[string]error

// refusalsMax is how many reasons an error names.
const refusalsMax = 5

// Unsuited names the most frequent reasons, with numbers of nodes.
func (r Refusals) Unsuited() error {
	counts := map[string]int{}
	for _, err := range r {
		counts[err.Error()]++
	}
	reasons := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	texts := make([]string, min(len(reasons), refusalsMax))
	for i := range texts {
		texts[i] = wording.Several(counts[reasons[i]], "node") + ": " + reasons[i]
	}
	if more := len(reasons) - len(texts); more > 0 {
		texts = append(texts, fmt.Sprintf("%d reasons more", more))
	}
	return &UnsuitedError{Nodes: slices.Sorted(maps.Keys(r)), Reason: "no node helps where its replacement can run: " + strings.Join(texts, "; ")}
}

// Stop is how far a plugin has to stop after an eviction failed.
type Stop int

// How far to stop.
const (
	// StopPod: only this pod stays; go on with the next.
	StopPod Stop = iota
	// StopWorkload: no other pod of this workload.
	StopWorkload
	// StopNamespace: no other pod of this namespace.
	StopNamespace
	// StopNode: no other pod of this node.
	StopNode
	// StopPlugin: nothing more in this run.
	StopPlugin
)

// StopAfter reads how far to stop from an error of EvictPod. Any other error
// stops that pod only.
func StopAfter(err error) Stop {
	var limit *LimitError
	if !errors.As(err, &limit) {
		return StopPod
	}
	switch limit.Scope {
	case ScopeWorkload:
		return StopWorkload
	case ScopeNamespace:
		return StopNamespace
	case ScopeNode:
		return StopNode
	default:
		return StopPlugin
	}
}
