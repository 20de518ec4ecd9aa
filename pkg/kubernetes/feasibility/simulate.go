package feasibility

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// CheckWith answers as Check does, for a node on which some pods are added and others
// are removed in thought. A pod that is added counts as running there; one that is
// removed and is not on the node is left out. Devices of claims that are reserved for pods
// which are removed, and for nothing else, count as free; what volumes they would release is not
// known before they end.
//
// With an error that is a Refusal and Unresolvable, the answer is the same whatever else
// is removed.
func (c *Checker) CheckWith(pod *v1.Pod, node string, add, remove []*v1.Pod) error {
	add, remove = without(add, pod), without(remove, pod)
	if len(add) == 0 && len(remove) == 0 {
		return c.Check(pod, node)
	}
	defer c.outOfTree.Cycle()()
	pod, add = pods.ForFilters(pod), forFilters(add)
	if p, info, ok := c.prepareWith(pod, node, add, remove); ok {
		c.prepareOutOfTree(p)
		return c.filter(p, node, info)
	}
	p, infos := c.prepare(pod, []string{node})
	if infos[0] == nil || p.refused != nil {
		return c.filter(p, node, infos[0])
	}
	s := simulation{
		Checker: c,
		preparation: &preparation{
			pod: pod, nodes: p.nodes, elsewhere: p.elsewhere,
			state: p.state.Clone(),
		},
		info: infos[0].SnapshotConcrete(),
	}
	if err := s.apply(add, remove); err != nil {
		return err
	}
	return c.filter(s.preparation, node, s.info)
}

// prepareWith runs PreFilter on the changed node, if that is needed. Otherwise it is
// enough, and faster, to tell its state of the pods one by one.
func (c *Checker) prepareWith(pod *v1.Pod, node string, add, remove []*v1.Pod) (p *preparation, info *framework.NodeInfo, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.mustPrepare(pod, node, add, remove) {
		return nil, nil, false
	}
	p, infos := c.prepareChanged(nil, pod, []string{node}, add, append(c.onNode(node, remove), pod))
	p.isChanged = true
	return p, infos[0], true
}

// mustPrepare says that PreFilter must see the changed node. The cluster is locked.
func (c *Checker) mustPrepare(pod *v1.Pod, node string, add, remove []*v1.Pod) bool {
	// Of a claim that one pod may use, the state knows that it is used, not by how many.
	if hasClaims(pod) && (slices.ContainsFunc(add, hasClaims) || slices.ContainsFunc(remove, hasClaims)) {
		return true
	}
	// The plugin of devices is told of no pods.
	if c.usesDevices(pod) && (slices.ContainsFunc(add, c.usesDevices) || slices.ContainsFunc(remove, c.usesDevices)) {
		return true
	}
	return slices.ContainsFunc(add, func(a *v1.Pod) bool {
		// When no pod has anti-affinity against this one, its plugin is left out, and
		// would not hear of those that are added.
		if len(antiAffinityOf(a)) > 0 {
			return true
		}
		counted := c.cluster.counted(a.UID)
		return counted != nil && counted.Spec.NodeName != node // it must not count twice
	})
}

// onNode is those of the pods that are counted on a node. The cluster is locked.
func (c *Checker) onNode(node string, pods []*v1.Pod) []*v1.Pod {
	var there []*v1.Pod
	for _, pod := range pods {
		if p := c.cluster.counted(pod.UID); p != nil && p.Spec.NodeName == node {
			there = append(there, p)
		}
	}
	return there
}

// A simulation is a copy of a node and of what PreFilter found out, on which pods are
// added and removed.
type simulation struct {
	*Checker
	*preparation
	info *framework.NodeInfo
}

// apply removes pods and adds others. A pod that is in both is on the node afterwards.
func (s *simulation) apply(add, remove []*v1.Pod) error {
	for _, pod := range remove {
		if counted := s.find(pod); counted != nil {
			if err := s.remove(counted); err != nil {
				return err
			}
		}
	}
	node := s.info.Node().Name
	for _, pod := range add {
		if counted := s.find(pod); counted != nil {
			continue // it came there meanwhile
		}
		if err := s.add(on(pod, node)); err != nil {
			return err
		}
	}
	return nil
}

// find is what is counted of a pod on the node, or nil.
func (s *simulation) find(pod *v1.Pod) fwk.PodInfo {
	for _, p := range s.info.Pods {
		if p.GetPod().UID == pod.UID {
			return p
		}
	}
	return nil
}

func (s *simulation) remove(p fwk.PodInfo) error {
	takeOff(s.info, p.GetPod())
	return s.errorOf(s.framework.RunPreFilterExtensionRemovePod(context.Background(), s.state, s.pod, p, s.info))
}

func (s *simulation) add(pod *v1.Pod) error {
	// An error is about terms that cannot be read. The pod then counts without them, as
	// it does when it is set.
	p, _ := framework.NewPodInfo(pod)
	s.info.AddPodInfo(p)
	return s.errorOf(s.framework.RunPreFilterExtensionAddPod(context.Background(), s.state, s.pod, p, s.info))
}

// forFilters is pods as filters see them.
func forFilters(all []*v1.Pod) []*v1.Pod {
	seen := make([]*v1.Pod, len(all))
	for i, pod := range all {
		seen[i] = pods.ForFilters(pod)
	}
	return seen
}

// without is the pods but one.
func without(pods []*v1.Pod, one *v1.Pod) []*v1.Pod {
	for i, pod := range pods {
		if pod.UID == one.UID {
			rest := append([]*v1.Pod(nil), pods[:i]...)
			return append(rest, without(pods[i+1:], one)...)
		}
	}
	return pods
}
