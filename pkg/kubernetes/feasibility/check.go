package feasibility

import (
	"context"
	"errors"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// A preparation is what PreFilter found out about a pod: the same for all nodes, until
// a node, a pod or something outside changes. It is never changed.
type preparation struct {
	pod     *v1.Pod
	version uint64 // of the cluster
	outside uint64

	state     fwk.CycleState
	noDevices bool             // no plugin looked at claims of devices
	refused   error            // by PreFilter, on every node
	nodes     sets.Set[string] // on which alone the pod may run; nil is any
	elsewhere error            // the answer for other nodes
	isChanged bool             // in thought
	seen      *listed          // what plugins see again when they were asked in thought; nil if they see nothing else
}

// devicesNotServed is why a pod with claims of devices may run nowhere where the API server does not serve them.
const devicesNotServed = "the API server does not serve claims of devices in resource.k8s.io/v1"

// Check returns nil if a pod may run on a node, else a Refusal, or an error of another
// kind if that cannot be found out. The pod itself is not counted, even if it was set.
func (c *Checker) Check(pod *v1.Pod, node string) error {
	return c.CheckNodes(pod, []string{node})[0]
}

// CheckNodes checks several nodes, in parallel. The answers are in the order of the
// nodes, and are those of one moment.
func (c *Checker) CheckNodes(pod *v1.Pod, nodes []string) []error {
	if len(nodes) == 0 {
		return nil
	}
	defer c.outOfTree.Cycle()()
	p, infos := c.prepare(pods.ForFilters(pod), nodes)
	answers := make([]error, len(nodes))
	inParallel(c.workers, len(nodes), func(i int) {
		answers[i] = c.filter(p, nodes[i], infos[i])
	})
	c.noteRefusals(pod, answers...)
	return answers
}

// RefusedEverywhere is why a pod may run on no node, whatever nodes there are, such as that a claim is not there; nil
// if it may run on some.
func (c *Checker) RefusedEverywhere(pod *v1.Pod) error {
	defer c.outOfTree.Cycle()()
	p, _ := c.prepare(pods.ForFilters(pod), []string{""}) // no node in particular
	return p.refused
}

// prepare runs PreFilter for a pod, and looks up nodes at the same moment. A node that
// is not known is nil.
func (c *Checker) prepare(pod *v1.Pod, nodes []string) (*preparation, []*framework.NodeInfo) {
	return c.prepareIn(nil, pod, nodes)
}

// prepareIn is prepare for a pod that is to be bound, and shares claims with those of a start; nil is any pod.
func (c *Checker) prepareIn(with *start, pod *v1.Pod, nodes []string) (*preparation, []*framework.NodeInfo) {
	p, infos := c.prepareInTree(with, pod, nodes)
	c.prepareOutOfTree(p)
	return p, infos
}

// prepareInTree is prepare for the plugins of kube-scheduler, which look at the cluster while it is locked.
func (c *Checker) prepareInTree(with *start, pod *v1.Pod, nodes []string) (*preparation, []*framework.NodeInfo) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cluster.pods[pod.UID] != nil {
		return c.prepareChanged(with, pod, nodes, nil, []*v1.Pod{pod})
	}
	p := c.recall(pod)
	if p == nil {
		p = c.preFilter(with, pod)
	}
	c.remember(p)
	return p, c.lookUp(nodes)
}

// prepareChanged is prepare, with other pods counted for the moment. The first node is
// the one on which pods are added. The cluster is locked.
func (c *Checker) prepareChanged(with *start, pod *v1.Pod, nodes []string, add, remove []*v1.Pod) (*preparation, []*framework.NodeInfo) {
	for _, other := range add {
		c.named.learn(other)
	}
	seen := c.see()
	defer c.cluster.change(nodes[0], add, remove)()
	if c.views != nil && c.usesDevices(pod) {
		defer c.views.change(pod, c.cluster.node(nodes[0]), add, remove)()
	}
	p := c.preFilter(with, pod)
	p.seen = seen
	return p, c.lookUp(nodes)
}

func (c *Checker) lookUp(nodes []string) []*framework.NodeInfo {
	infos := make([]*framework.NodeInfo, len(nodes))
	for i, name := range nodes {
		infos[i] = c.cluster.node(name)
	}
	return infos
}

// preFilter runs PreFilter. The cluster is locked.
func (c *Checker) preFilter(with *start, pod *v1.Pod) *preparation {
	defer c.cluster.view(pod)()
	p := &preparation{
		pod:     pod,
		version: c.changes.version(),
		outside: c.outside.Load(), // before PreFilter: what changes meanwhile counts as later
	}
	state := framework.NewCycleState()
	if p.state = state; with != nil {
		state.SetPodGroupSchedulingCycle(with.of)
	} else if c.views != nil {
		defer c.views.sharing(pod)()
	}
	c.see()
	result, status, choosing := c.framework.RunPreFilterPlugins(context.Background(), p.state, pod)
	c.take(p, result, status, choosing)
	if c.noDevices {
		if len(pod.Spec.ResourceClaims) > 0 && p.refused == nil {
			p.refused = &Refusal{Plugin: names.DynamicResources, Reasons: []string{devicesNotServed}, unresolvable: true}
		}
		p.noDevices = true
	}
	return p
}

// take takes what PreFilter of some plugins found out.
func (c *Checker) take(p *preparation, result *fwk.PreFilterResult, status *fwk.Status, choosing sets.Set[string]) {
	p.refused = c.errorOf(status)
	if result.AllNodes() {
		return
	}
	if p.nodes == nil {
		p.nodes = result.NodeNames
	} else {
		p.nodes = p.nodes.Intersection(result.NodeNames)
	}
	by := slices.Min(choosing.UnsortedList())
	p.elsewhere = &Refusal{
		Plugin: by, outOfTree: c.outOfTree.Has(by),
		Reasons:      []string{"node(s) are not those that the pod names"},
		unresolvable: true,
	}
}

// isPlain says that neither volumes nor devices have to be found for the pod. What
// PreFilter found out then depends on nodes, pods, namespaces and device classes alone,
// and nothing has to be reserved.
func (p *preparation) isPlain() bool {
	skipped := p.state.GetSkipFilterPlugins()
	return skipped.Has(names.VolumeBinding) && (p.noDevices || skipped.Has(names.DynamicResources))
}

// filter is the answer for one node.
func (c *Checker) filter(p *preparation, name string, info *framework.NodeInfo) error {
	switch {
	case info == nil:
		return ErrUnknownNode
	case p.refused != nil:
		return p.refused
	case p.nodes != nil && !p.nodes.Has(name):
		return p.elsewhere
	}
	err := c.errorOf(c.framework.RunFilterPlugins(context.Background(), p.state, p.pod, info))
	if refusal := new(Refusal); errors.As(err, &refusal) && refusal.Plugin == names.DynamicResources {
		refusal.unresolvable = !p.isChanged && !c.views.holders.anyOn(info, p.pod.UID)
	}
	return err
}
