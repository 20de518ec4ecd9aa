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

	mu   sync.Mutex
	look map[string]bool // names of nodes to look at
}

var _ framework.ControllerPlugin = (*nodeProblem)(nil)

func newNodeProblem(args *NodeProblemArgs, h framework.Handle) (framework.Plugin, error) {
	if h.SharedInformerFactory() == nil {
		return nil, errors.New("it needs informers")
	}
	nodes := h.SharedInformerFactory().Core().V1().Nodes()
	n := &nodeProblem{
		args: args, handle: h, nodes: nodes.Lister(),
		wake: make(chan struct{}, 1), look: map[string]bool{},
	}
	_, err := nodes.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { n.seen(nil, object.(*v1.Node)) },
		UpdateFunc: func(before, now any) { n.seen(before.(*v1.Node), now.(*v1.Node)) },
	})
	if err != nil {
		return nil, fmt.Errorf("events of nodes: %w", err)
	}
	return n, nil
}

// Name implements framework.Plugin.
func (n *nodeProblem) Name() string { return NodeProblemName }

// seen notes a node that got a problem. One that had it before is no event: pods which came
// to it since tolerate the problem.
func (n *nodeProblem) seen(before, now *v1.Node) {
	if n.args.problem(now) == "" || before != nil && n.args.problem(before) != "" {
		return
	}
	n.add(now.Name)
	select {
	case n.wake <- struct{}{}:
	default: // it is awake
	}
}

func (n *nodeProblem) add(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.look[name] = true
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
		n.seen(nil, node)
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
		node, err := n.nodes.Get(name)
		if err != nil {
			continue // the node is gone
		}
		reason := n.args.problem(node)
		if reason != "" && (s.Node(name) == nil || !n.empty(ctx, s.PodsOn(name), reason)) {
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
