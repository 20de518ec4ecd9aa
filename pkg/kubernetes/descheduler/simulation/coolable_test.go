package simulation

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	ft "github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/frameworktest"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/landing"
)

// A cooling looks for evictions that take a node below a threshold, by trying: all sets of its pods that are evicted
// at once, in each order, in one cycle or several. No pod may come back to the node, and none may go to a node that is
// above the threshold with it, whichever of the nodes that it likes best the scheduler takes.
type cooling struct {
	node      string
	threshold int64 // of its processors, in thousandths of one
	atOnce    int   // the largest set
	// best are the nodes of which the scheduler takes any for a pod, in a cluster in which other pods still end.
	best func(o framework.Objects, pod *v1.Pod) []string
}

// possible says whether there are such evictions in so many cycles.
func (c *cooling) possible(o framework.Objects, cycles int) bool {
	if usedOn(o, c.node) <= c.threshold {
		return true
	}
	on := slices.DeleteFunc(slices.Clone(o.Pods), func(p *v1.Pod) bool { return p.Spec.NodeName != c.node })
	return cycles > 0 && c.anySet(on, nil, func(set []*v1.Pod) bool { return c.leave(leaving(o, set), set, cycles) })
}

// anySet says whether a set of some pods, beside others, does.
func (c *cooling) anySet(pods, beside []*v1.Pod, does func(set []*v1.Pod) bool) bool {
	for i, p := range pods {
		set := append(slices.Clone(beside), p)
		if does(set) || len(set) < c.atOnce && c.anySet(pods[i+1:], set, does) {
			return true
		}
	}
	return false
}

// leave says whether the pods of a set, which all end, can be made anew in one of their orders.
func (c *cooling) leave(o framework.Objects, set []*v1.Pod, cycles int) bool {
	if len(set) == 0 {
		o.Pods = slices.DeleteFunc(slices.Clone(o.Pods), func(p *v1.Pod) bool { return p.DeletionTimestamp != nil })
		return c.possible(o, cycles-1)
	}
	return slices.ContainsFunc(set, func(p *v1.Pod) bool {
		again := p.DeepCopy()
		again.UID, again.Name, again.Spec.NodeName = p.UID+"+", p.Name+"x", ""
		best := c.best(o, again)
		rest := slices.DeleteFunc(slices.Clone(set), func(other *v1.Pod) bool { return other == p })
		return len(best) > 0 && !slices.ContainsFunc(best, func(node string) bool {
			there := again.DeepCopy()
			there.Spec.NodeName = node
			next := framework.Objects{Nodes: o.Nodes, Pods: append(slices.Clone(o.Pods), there)}
			return node == c.node || usedOn(next, node) > c.threshold || !c.leave(next, rest, cycles)
		})
	})
}

// leaving is a cluster in which some pods end.
func leaving(o framework.Objects, set []*v1.Pod) framework.Objects {
	o.Pods = slices.Clone(o.Pods)
	for i, p := range o.Pods {
		if slices.Contains(set, p) {
			o.Pods[i] = p.DeepCopy()
			o.Pods[i].DeletionTimestamp = &metav1.Time{Time: ft.Now}
		}
	}
	return o
}

// usedOn is how much of its processors a node uses, in thousandths of one.
func usedOn(o framework.Objects, node string) (used int64) {
	for _, p := range o.Pods {
		if p.Spec.NodeName == node {
			use := usedBy(p)
			used += use.Cpu().MilliValue()
		}
	}
	return used
}

// byCore asks the scheduler of this project where it places a pod.
func byCore(c *landing.Cluster) func(framework.Objects, *v1.Pod) []string {
	return func(o framework.Objects, pod *v1.Pod) []string {
		c.Sync(framework.NewSnapshot(o, ft.Now.Add(time.Second)))
		to, err := c.Place(pod, framework.Choice{})
		if err != nil {
			return nil
		}
		return []string{to.Node}
	}
}
