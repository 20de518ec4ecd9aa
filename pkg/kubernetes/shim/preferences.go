package shim

import (
	"iter"

	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
)

// Preferences know which nodes suit a pod best. They have a cache of the cluster, which the context
// feeds like that of Feasibility. All methods may be called from any goroutine.
//
// It is package preferences; the interface is here so that a test can stand in for it.
type Preferences interface {
	SetNode(node *v1.Node)
	RemoveNode(name string)
	// SetPod takes a pod whose spec.nodeName is set, in place of an older state of it.
	SetPod(pod *v1.Pod)
	RemovePod(pod *v1.Pod)
	// PlacePod counts a pod on a node that was chosen for it.
	PlacePod(pod *v1.Pod, node string)

	// Best is those of some nodes that suit a pod best, the best first, at most so many; none if the order of the
	// nodes may decide. The nodes come with 0 to 100 points for that order.
	Best(pod *v1.Pod, nodes iter.Seq2[string, int64], most int) []string
}

// noPreferences is for a context that has none.
type noPreferences struct{}

func (noPreferences) SetNode(*v1.Node)                                     {}
func (noPreferences) RemoveNode(string)                                    {}
func (noPreferences) SetPod(*v1.Pod)                                       {}
func (noPreferences) RemovePod(*v1.Pod)                                    {}
func (noPreferences) PlacePod(*v1.Pod, string)                             {}
func (noPreferences) Best(*v1.Pod, iter.Seq2[string, int64], int) []string { return nil }

// A cluster is both that know where pods may run and where they had better. It tells both of nodes and pods.
type cluster struct {
	Feasibility
	prefer Preferences
}

func (c *cluster) SetNode(node *v1.Node) {
	c.Feasibility.SetNode(node)
	c.prefer.SetNode(node)
}

func (c *cluster) RemoveNode(name string) {
	c.Feasibility.RemoveNode(name)
	c.prefer.RemoveNode(name)
}

func (c *cluster) SetPod(pod *v1.Pod) {
	c.Feasibility.SetPod(pod)
	c.prefer.SetPod(pod)
}

func (c *cluster) RemovePod(pod *v1.Pod) {
	c.Feasibility.RemovePod(pod)
	c.prefer.RemovePod(pod)
}

// BestNodes chooses the nodes that suit a pod best.
func (c callback) BestNodes(args *scheduler.BestNodesArgs) []string {
	pod, err := c.podOf(args.AllocationKey)
	if err != nil {
		return nil
	}
	return c.feasible.prefer.Best(pod, args.Nodes, args.Most)
}
