package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
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
// budget or the want of a place are tried again, until the problem is over: when something has
// happened since, after a while that doubles, and at once where a budget allows more.
type nodeProblem struct {
	args   *NodeProblemArgs
	handle framework.Handle
	nodes  listers.NodeLister
	wake   chan struct{} // holds one token where there are nodes to look at

	mu       sync.Mutex
	look     map[string]bool     // names of nodes to look at
	problems map[string]*problem // of nodes that have one
	heard    uint64              // how many events
	keeps    bool                // pods are to be tried again
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
		DeleteFunc: func(any) { n.hear(false) },
	})
	if err != nil {
		return nil, fmt.Errorf("events of pods: %w", err)
	}
	_, err = h.SharedInformerFactory().Policy().V1().PodDisruptionBudgets().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { n.hear(false) },
		UpdateFunc: func(before, now any) {
			n.hear(now.(*policy.PodDisruptionBudget).Status.DisruptionsAllowed > before.(*policy.PodDisruptionBudget).Status.DisruptionsAllowed)
		},
		DeleteFunc: func(any) { n.hear(true) },
	})
	if err != nil {
		return nil, fmt.Errorf("events of disruption budgets: %w", err)
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
	n.heard++
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
		n.heard++
		delete(n.problems, name)
	}
}

// arrived notes a pod that is heard of on a node which has a problem. The informers of nodes
// and of pods do not wait for each other, so it may have been there before the problem.
func (n *nodeProblem) arrived(before, pod *v1.Pod) {
	n.hear(false)
	if pod.Spec.NodeName == "" || before != nil && before.Spec.NodeName != "" {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if p := n.problems[pod.Spec.NodeName]; p != nil && !p.stays(pod) {
		n.want(pod.Spec.NodeName)
	}
}

// want has a node looked at. The caller holds the lock.
func (n *nodeProblem) want(name string) {
	n.look[name] = true
	n.requeue()
}

// requeue ends a wait. The caller holds the lock.
func (n *nodeProblem) requeue() {
	select {
	case n.wake <- struct{}{}:
	default: // it is awake
	}
}

// hear notes that something has happened, after which a pod that was kept may go. If that is likely,
// it is tried at once.
func (n *nodeProblem) hear(likely bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.heard++
	if likely && n.keeps {
		n.requeue()
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
	wait := n.args.RetryPeriod.Duration
	for {
		k := n.turn(ctx, n.take())
		if k.evicted {
			wait = n.args.RetryPeriod.Duration
		}
		for again := true; again; {
			event, ok := n.wait(ctx, len(k.nodes) > 0, wait)
			switch {
			case !ok:
				return nil
			case event:
				wait = n.args.RetryPeriod.Duration
			case len(k.limited) == 0: // a limit is a matter of time
				wait = max(wait, min(2*wait, retryMax))
			}
			again = !event && !n.mayGo(k)
		}
		for _, name := range k.nodes {
			n.add(name)
		}
	}
}

// retryMax is the longest time until pods are tried again, unless RetryPeriod is longer.
const retryMax = 5 * time.Minute

// A kept is what is left after a turn.
type kept struct {
	nodes   []string  // from which some pods could not be evicted yet
	limited []*v1.Pod // those of them that a limit keeps
	heard   uint64    // how many events there had been
	evicted bool      // another pod was
}

// mayGo says whether a pod that was kept may go now, without a look at the cluster: a limit lets it go,
// or something has happened.
func (n *nodeProblem) mayGo(k *kept) bool {
	n.mu.Lock()
	heard := n.heard
	n.mu.Unlock()
	return heard != k.heard || slices.ContainsFunc(k.limited, func(pod *v1.Pod) bool { return n.handle.Evictor().Full(pod) == nil })
}

// wait returns when there is something to do, and whether an event said so; false when the context has
// ended.
func (n *nodeProblem) wait(ctx context.Context, retry bool, after time.Duration) (event, ok bool) {
	var again <-chan time.Time
	if retry {
		timer := n.handle.Clock().NewTimer(after)
		defer timer.Stop()
		again = timer.C()
	}
	select {
	case <-ctx.Done():
		return false, false
	case <-n.wake:
		return true, true
	case <-again:
		return false, true
	}
}

// turn evicts the pods of some nodes.
func (n *nodeProblem) turn(ctx context.Context, names []string) *kept {
	k := &kept{}
	if len(names) > 0 {
		n.mu.Lock()
		k.heard = n.heard
		n.mu.Unlock()
		s := n.handle.Snapshot()
		for _, name := range names {
			p := n.problemOf(name)
			if p == nil {
				continue // it is over, or the node is gone
			}
			pods := slices.DeleteFunc(s.PodsOn(name), p.stays)
			if s.Node(name) == nil || !n.empty(ctx, k, pods, p) {
				k.nodes = append(k.nodes, name)
			}
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.keeps = len(k.nodes) > 0
	return k
}

// empty evicts pods in the order of the profile, and says whether no pod is left that
// filters let go.
func (n *nodeProblem) empty(ctx context.Context, k *kept, pods []*v1.Pod, p *problem) bool {
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
			all, k.limited = false, append(k.limited, pod)
			continue
		}
		err := evictor.EvictPod(ctx, pod, framework.EvictOptions{Reason: p.reason})
		if err == nil {
			k.evicted = true
			continue
		}
		all = false
		stop := framework.StopAfter(err)
		if stop == framework.StopPod {
			n.tell(p, pod, err)
		} else {
			k.limited = append(k.limited, pod)
		}
		if stop == framework.StopPlugin || stop == framework.StopNode {
			break
		}
	}
	return all
}

// tell warns once for each problem that a pod is kept.
func (n *nodeProblem) tell(p *problem, pod *v1.Pod, err error) {
	if w, ok := n.handle.(framework.Warner); ok && !p.told {
		p.told = true
		w.Warn(fmt.Sprintf("%s, and pod %s/%s stays, maybe with others: %s", p.reason, pod.Namespace, pod.Name, err))
	}
}
