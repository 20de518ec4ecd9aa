package controllers

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
	v1 "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/drain"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// NodeProblemName is the name of the plugin NodeProblem in policies.
const NodeProblemName = "NodeProblem"

// Register returns the definitions of all plugins of this package.
func Register() []framework.Definition {
	return []framework.Definition{framework.Typed(framework.Definition{
		Name:   NodeProblemName,
		Points: []framework.Point{framework.Controller},
		Args: func() any {
			return &NodeProblemArgs{MaxNodes: maxNodes, RetryPeriod: metav1.Duration{Duration: retryPeriod}}
		},
	}, validate, newNodeProblem)}
}

// nodeProblem is the plugin NodeProblem. When a node gets a problem, a drain of it is opened at once: it takes
// nothing new, and its pods are evicted as far as filters and limits let them go. Those that are kept by a limit, a
// budget or the want of a place are tried again, until the problem is over: when something has
// happened since, after a while that doubles, and at once where a budget allows more.
//
// How far a drain is stands on the node: see package drain. So another process goes on with it.
type nodeProblem struct {
	args   *NodeProblemArgs
	handle framework.Handle
	nodes  listers.NodeLister
	wake   chan struct{} // holds one token where there are nodes to look at
	pace   *rate.Limiter // of turns

	drains map[string]*draining // by node; of Run

	mu       sync.Mutex
	look     map[string]bool     // names of nodes to look at
	problems map[string]*problem // of nodes that have one
	heard    uint64              // how many events
	keeps    bool                // pods are to be tried again
	states   map[string]drain.Status
}

var (
	_ framework.ControllerPlugin = (*nodeProblem)(nil)
	_ framework.Previewer        = (*nodeProblem)(nil)
	_ framework.DrainReporter    = (*nodeProblem)(nil)
)

func newNodeProblem(args *NodeProblemArgs, h framework.Handle) (framework.Plugin, error) {
	if h.SharedInformerFactory() == nil {
		return nil, errors.New("it needs informers")
	}
	n := &nodeProblem{
		args: args, handle: h, nodes: h.SharedInformerFactory().Core().V1().Nodes().Lister(), wake: make(chan struct{}, 1), pace: rate.NewLimiter(rate.Every(turnEvery), turnsMax),
		drains: map[string]*draining{}, look: map[string]bool{}, problems: map[string]*problem{}, states: map[string]drain.Status{},
	}
	n.sources() // asks for them
	return n, nil
}

// Name implements framework.Plugin.
func (n *nodeProblem) Name() string { return NodeProblemName }

// Drains implements framework.DrainReporter.
func (n *nodeProblem) Drains() map[string]drain.Status {
	n.mu.Lock()
	defer n.mu.Unlock()
	return maps.Clone(n.states)
}

// A source is an informer, and what is done with what it tells.
type source struct {
	cache.SharedIndexInformer
	handler cache.ResourceEventHandler
}

// sources are what it hears of. The caller asks the factory for these informers.
func (n *nodeProblem) sources() []source {
	factory := n.handle.SharedInformerFactory()
	return []source{{
		factory.Core().V1().Nodes().Informer(), cache.ResourceEventHandlerFuncs{
			AddFunc: func(object any) { n.seen(object.(*v1.Node)) },
			UpdateFunc: func(before, now any) {
				if before.(*v1.Node).Annotations[drain.Annotation] == now.(*v1.Node).Annotations[drain.Annotation] {
					n.hear(false) // otherwise it was written here
				}
				n.seen(now.(*v1.Node))
			},
			DeleteFunc: n.gone,
		},
	}, {
		factory.Core().V1().Pods().Informer(), cache.ResourceEventHandlerFuncs{
			AddFunc:    func(object any) { n.arrived(nil, object.(*v1.Pod)) },
			UpdateFunc: func(before, now any) { n.arrived(before.(*v1.Pod), now.(*v1.Pod)) },
			DeleteFunc: n.left,
		},
	}, {
		factory.Policy().V1().PodDisruptionBudgets().Informer(), cache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { n.hear(false) },
			UpdateFunc: func(before, now any) {
				n.hear(now.(*policy.PodDisruptionBudget).Status.DisruptionsAllowed > before.(*policy.PodDisruptionBudget).Status.DisruptionsAllowed)
			},
			DeleteFunc: func(any) { n.hear(true) },
		},
	}}
}

// mine is what a node says of a drain that this plugin takes care of, or nil. Other says that the plugin of another profile does. A
// drain whose profile is gone is of the profile that would open it too, or else of the only one that drains nodes.
func (n *nodeProblem) mine(node *v1.Node) (record *drain.Status, other bool) {
	record = drain.Of(node)
	if record == nil || record.Profile == n.handle.ProfileName() {
		return record, false
	}
	var others []string
	if s, ok := n.handle.(framework.ProfileKnower); ok {
		others = s.OtherProfiles()
	}
	if slices.Contains(others, record.Profile) || len(others) > 0 && (!n.selects(node) || n.args.opener(node, record.Cordoned) == nil) {
		return nil, true
	}
	return record, false
}

// selects says whether the plugin drains a node at all.
func (n *nodeProblem) selects(node *v1.Node) bool {
	s, ok := n.handle.(framework.ProfileKnower)
	return !ok || s.Selects(node)
}

// seen notes a node that got a problem, or has none any more. One that had it before is no
// event.
func (n *nodeProblem) seen(node *v1.Node) {
	record, other := n.mine(node)
	var p *problem
	if !other && n.selects(node) {
		p = n.args.problem(node, record, n.handle.Clock().Now())
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	before := n.problems[node.Name]
	switch {
	case p == nil:
		delete(n.problems, node.Name)
		if before != nil || record != nil {
			n.want(node.Name)
		}
	case before == nil || before.by != p.by:
		if before != nil {
			p.opened = before.opened
		}
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
		n.want(name)
	}
}

// arrived notes a pod that is heard of on a node which has a problem, or that ends there. The informers of nodes
// and of pods do not wait for each other, so it may have been there before the problem.
func (n *nodeProblem) arrived(before, pod *v1.Pod) {
	n.hear(false)
	known := before != nil && before.Spec.NodeName != ""
	if pod.Spec.NodeName == "" || known && pods.IsTerminal(before) == pods.IsTerminal(pod) {
		return
	}
	n.about(pod)
}

// left notes a pod that is gone. Of one that the informer missed nothing is known.
func (n *nodeProblem) left(object any) {
	n.hear(false)
	if pod, ok := pods.LastKnown(object).(*v1.Pod); ok && !pods.IsTerminal(pod) {
		n.about(pod)
	}
}

// about has the node of a pod looked at, where the pod is to leave it.
func (n *nodeProblem) about(pod *v1.Pod) {
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

// A request is what a turn is to look at.
type request struct {
	look     map[string]bool
	problems map[string]*problem
	heard    uint64 // how many events there had been
}

// take returns what to look at.
func (n *nodeProblem) take() request {
	n.mu.Lock()
	defer n.mu.Unlock()
	r := request{look: n.look, problems: maps.Clone(n.problems), heard: n.heard}
	n.look = map[string]bool{}
	return r
}

// A turn may follow another one at once so often, and then after so long: each looks at the whole cluster, and what tenants do
// with their pods and budgets may ask for one as often as they like.
const (
	turnsMax  = 10
	turnEvery = 2 * time.Second
)
