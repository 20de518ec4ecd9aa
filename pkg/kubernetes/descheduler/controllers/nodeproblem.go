package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

// NodeProblemName is the name of the plugin NodeProblem in policies.
const NodeProblemName = "NodeProblem"

// Register returns the definitions of all plugins of this package.
func Register() []framework.Definition {
	return []framework.Definition{framework.Typed(framework.Definition{
		Name:   NodeProblemName,
		Points: []framework.Point{framework.Controller},
		Args:   func() any { return &NodeProblemArgs{RetryPeriod: metav1.Duration{Duration: retryPeriod}} },
	}, validate, newNodeProblem)}
}

// nodeProblem is the plugin NodeProblem. When a node gets a problem, its pods are evicted
// at once, as far as filters and limits let them go. Those that are kept by a limit, a
// budget or the want of a place are tried again, until the problem is over.
type nodeProblem struct {
	args   *NodeProblemArgs
	handle framework.Handle
	nodes  listers.NodeLister
	wake   chan struct{} // holds one token where there are nodes to look at

	mu       sync.Mutex
	look     map[string]bool     // names of nodes to look at
	problems map[string]*problem // of nodes that have one
}

var _ framework.ControllerPlugin = (*nodeProblem)(nil)

func newNodeProblem(args *NodeProblemArgs, h framework.Handle) (framework.Plugin, error) {
	if h.SharedInformerFactory() == nil {
		return nil, errors.New("it needs informers")
	}
	nodes := h.SharedInformerFactory().Core().V1().Nodes()
	n := &nodeProblem{
		args: args, handle: h, nodes: nodes.Lister(),
		wake: make(chan struct{}, 1), look: map[string]bool{}, problems: map[string]*problem{},
	}
	_, err := nodes.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { n.seen(object.(*v1.Node)) },
		UpdateFunc: func(_, now any) { n.seen(now.(*v1.Node)) },
		DeleteFunc: func(object any) { n.gone(object) },
	})
	if err != nil {
		return nil, fmt.Errorf("events of nodes: %w", err)
	}
	_, err = h.SharedInformerFactory().Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { n.arrived(nil, object.(*v1.Pod)) },
		UpdateFunc: func(before, now any) { n.arrived(before.(*v1.Pod), now.(*v1.Pod)) },
	})
	if err != nil {
		return nil, fmt.Errorf("events of pods: %w", err)
	}
	return n, nil
}

// Name implements framework.Plugin.
func (n *nodeProblem) Name() string { return NodeProblemName }

// seen notes a node that got a problem, or has none any more. One that had it before is no
// event.
func (n *nodeProblem) seen(node *v1.Node) {
	p := n.args.problem(node, n.handle.Clock().Now())
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case p == nil:
		delete(n.problems, node.Name)
	case n.problems[node.Name] == nil:
		n.problems[node.Name] = p
		n.want(node.Name)
	}
}

// gone forgets a node. What the informer missed says its name only.
func (n *nodeProblem) gone(object any) {
	if name, err := cache.DeletionHandlingMetaNamespaceKeyFunc(object); err == nil {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.problems, name)
	}
}

// arrived notes a pod that is heard of on a node which has a problem. The informers of nodes
// and of pods do not wait for each other, so it may have been there before the problem.
func (n *nodeProblem) arrived(before, pod *v1.Pod) {
	if pod.Spec.NodeName == "" || before != nil && before.Spec.NodeName != "" {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if p := n.problems[pod.Spec.NodeName]; p != nil && !p.newcomer(pod) {
		n.want(pod.Spec.NodeName)
	}
}

// want has a node looked at. The caller holds the lock.
func (n *nodeProblem) want(name string) {
	n.look[name] = true
	select {
	case n.wake <- struct{}{}:
	default: // it is awake
	}
}

// add has a node looked at again, which its caller does.
func (n *nodeProblem) add(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.look[name] = true
}

// problemOf is the problem of a node, or nil.
func (n *nodeProblem) problemOf(name string) *problem {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.problems[name]
}

// take returns the nodes to look at, by name.
func (n *nodeProblem) take() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	names := make([]string, 0, len(n.look))
	for name := range n.look {
		names = append(names, name)
	}
	clear(n.look)
	slices.Sort(names)
	return names
}

// Run implements framework.ControllerPlugin. It begins with all nodes that have a problem,
// since it may have been stopped in the middle of one.
func (n *nodeProblem) Run(ctx context.Context) error {
	all, err := n.nodes.List(labels.Everything())
	if err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	for _, node := range all {
		n.seen(node)
		if n.problemOf(node.Name) != nil {
			n.add(node.Name)
		}
	}
	for {
		left := n.turn(ctx, n.take())
		if !n.wait(ctx, len(left) > 0) {
			return nil
		}
		for _, name := range left {
			n.add(name)
		}
	}
}

// wait returns when there is something to do; false when the context has ended.
func (n *nodeProblem) wait(ctx context.Context, retry bool) bool {
	var again <-chan time.Time
	if retry {
		timer := n.handle.Clock().NewTimer(n.args.RetryPeriod.Duration)
		defer timer.Stop()
		again = timer.C()
	}
	select {
	case <-ctx.Done():
		return false
	case <-n.wake:
	case <-again:
	}
	return true
}

// turn evicts the pods of some nodes, and returns those nodes from which some pods could
// not be evicted yet.
func (n *nodeProblem) turn(ctx context.Context, names []string) (left []string) {
	if len(names) == 0 {
		return nil
	}
	s := n.handle.Snapshot()
	for _, name := range names {
		p := n.problemOf(name)
		if p == nil {
			continue // it is over, or the node is gone
		}
		pods := slices.DeleteFunc(s.PodsOn(name), p.newcomer)
		if s.Node(name) == nil || !n.empty(ctx, pods, p.reason) {
			left = append(left, name)
		}
	}
	return left
}

// empty evicts pods in the order of the profile, and says whether no pod is left that
// filters let go.
func (n *nodeProblem) empty(ctx context.Context, pods []*v1.Pod, reason string) bool {
	slices.SortFunc(pods, func(a, b *v1.Pod) int {
		if n.handle.Less(a, b) {
			return -1
		}
		return 1
	})
	evictor := n.handle.Evictor()
	all := true
	for _, pod := range pods {
		if !evictor.Filter(pod) {
			continue
		}
		if evictor.Full(pod) != nil {
			all = false
			continue
		}
		err := evictor.EvictPod(ctx, pod, framework.EvictOptions{Reason: reason})
		if err != nil {
			all = false
			if stop := framework.StopAfter(err); stop == framework.StopPlugin || stop == framework.StopNode {
				break
			}
		}
	}
	return all
}
