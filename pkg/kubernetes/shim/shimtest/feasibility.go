package shimtest

import (
	"context"
	"fmt"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/shim"
)

// A Feasibility knows node selectors, cordons and conflicts, and notes what it is told. It
// stands in for package feasibility.
type Feasibility struct {
	mu       sync.Mutex
	nodes    map[string]*v1.Node
	pods     map[string]string // UID to node
	reserved map[string]string // UID to node, reserved and not given back
	prepared []string          // "pod node", in order

	// What can be told to it before it is used: answers in place of its own.
	Conflict  func(pod *v1.Pod, node string) error
	OnReserve func(pod *v1.Pod, node string) error
	OnPreBind func(pod *v1.Pod, node string) error
}

var _ shim.Feasibility = (*Feasibility)(nil)

// NewFeasibility knows nothing yet.
func NewFeasibility() *Feasibility {
	return &Feasibility{nodes: map[string]*v1.Node{}, pods: map[string]string{}, reserved: map[string]string{}}
}

// SetNode is told of a node.
func (f *Feasibility) SetNode(node *v1.Node) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.nodes[node.Name] = node
}

// RemoveNode is told of the end of a node.
func (f *Feasibility) RemoveNode(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.nodes, name)
}

// SetPod is told of a pod with its node.
func (f *Feasibility) SetPod(pod *v1.Pod) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pods[string(pod.UID)] = pod.Spec.NodeName
}

// RemovePod is told of the end of a pod.
func (f *Feasibility) RemovePod(pod *v1.Pod) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.pods, string(pod.UID))
}

// Check looks at the node selector, at cordons and at Conflict.
func (f *Feasibility) Check(pod *v1.Pod, node string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.nodes[node]
	if n == nil {
		return fmt.Errorf("node %s is not known", node)
	}
	for name, value := range pod.Spec.NodeSelector {
		if n.Labels[name] != value {
			return fmt.Errorf("label %s of the node differs", name)
		}
	}
	if f.Conflict != nil {
		return f.Conflict(pod, node)
	}
	return nil
}

// CheckNodes is Check for several nodes.
func (f *Feasibility) CheckNodes(pod *v1.Pod, nodes []string) []error {
	answers := make([]error, len(nodes))
	for i, node := range nodes {
		answers[i] = f.Check(pod, node)
	}
	return answers
}

// CheckWith is Check: what is added and removed changes nothing.
func (f *Feasibility) CheckWith(pod *v1.Pod, node string, _, _ []*v1.Pod) error {
	return f.Check(pod, node)
}

// Class is the node selector.
func (f *Feasibility) Class(pod *v1.Pod) string { return fmt.Sprint(pod.Spec.NodeSelector) }

// Reserve notes it.
func (f *Feasibility) Reserve(_ context.Context, pod *v1.Pod, node string) error {
	if f.OnReserve != nil {
		if err := f.OnReserve(pod, node); err != nil {
			return err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reserved[string(pod.UID)] = node
	return nil
}

// Unreserve takes that back.
func (f *Feasibility) Unreserve(_ context.Context, pod *v1.Pod, _ string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.reserved, string(pod.UID))
}

// PreBind notes it.
func (f *Feasibility) PreBind(_ context.Context, pod *v1.Pod, node string) error {
	if f.OnPreBind != nil {
		if err := f.OnPreBind(pod, node); err != nil {
			return err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.prepared = append(f.prepared, pod.Name+" "+node)
	return nil
}

// PodsOn is the names of the pods that count as running on a node, sorted.
func (f *Feasibility) PodsOn(node string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var names []string
	for uid, on := range f.pods {
		if on == node {
			names = append(names, uid[len("uid-"):])
		}
	}
	slices.Sort(names)
	return names
}

// Reserved is the node that is reserved for a pod; empty if there is none.
func (f *Feasibility) Reserved(name string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.reserved["uid-"+name]
}
