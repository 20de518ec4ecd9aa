package violations

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/constraints"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/eviction"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/selection"
)

// NodeAffinity is the name of the plugin.
const NodeAffinity = "RemovePodsViolatingNodeAffinity"

// Kinds of node affinity, as they are written in a policy.
const (
	required  = "requiredDuringSchedulingIgnoredDuringExecution"
	preferred = "preferredDuringSchedulingIgnoredDuringExecution"
)

// NodeAffinityArgs select pods whose node does not, or not best, match them.
type NodeAffinityArgs struct {
	metav1.TypeMeta `json:",inline"`
	selection.Pods  `json:",inline"`

	// NodeAffinityType lists the kinds of affinity that are looked at.
	NodeAffinityType []string `json:"nodeAffinityType,omitempty"`
}

// NodeAffinityDefinition is RemovePodsViolatingNodeAffinity.
func NodeAffinityDefinition() framework.Definition {
	return framework.Typed(framework.Definition{
		Name:   NodeAffinity,
		Points: []framework.Point{framework.Deschedule},
		Args:   func() any { return &NodeAffinityArgs{} },
	}, validateNodeAffinity, func(a *NodeAffinityArgs, handle framework.Handle) (framework.Plugin, error) {
		selected, err := a.Selector()
		return &nodeAffinity{args: a, handle: handle, selected: selected}, err
	})
}

func validateNodeAffinity(a *NodeAffinityArgs) error {
	errs := []error{a.Pods.Validate(), selection.Listed("nodeAffinityType", a.NodeAffinityType, []string{required, preferred})}
	if len(a.NodeAffinityType) == 0 {
		errs = append(errs, errors.New("nodeAffinityType must be set, such as [requiredDuringSchedulingIgnoredDuringExecution]"))
	}
	return errors.Join(errs...)
}

type nodeAffinity struct {
	args     *NodeAffinityArgs
	handle   framework.Handle
	selected func(*v1.Pod) bool
}

// Name implements framework.Plugin.
func (n *nodeAffinity) Name() string { return NodeAffinity }

// Deschedule implements framework.DeschedulePlugin.
func (n *nodeAffinity) Deschedule(ctx context.Context, nodes []*v1.Node) *framework.Status {
	run := eviction.Start(ctx, n.handle, NodeAffinity)
	weights := &weightCache{nodes: run.Snapshot().Nodes(), known: map[string]*nodeWeights{}}
	run.Repeat(func() {
		for _, node := range nodes {
			pods := slices.DeleteFunc(run.PodsOn(node.Name), func(pod *v1.Pod) bool {
				a := pod.Spec.Affinity
				return a == nil || a.NodeAffinity == nil || !counts(pod) || !n.selected(pod)
			})
			for _, pod := range eviction.Sorted(n.handle, pods) {
				n.look(run, weights, pod, node)
			}
		}
	})
	return run.Status()
}

// look moves a pod that another node matches, or matches better.
func (n *nodeAffinity) look(run *eviction.Run, weights *weightCache, pod *v1.Pod, node *v1.Node) {
	if slices.Contains(n.args.NodeAffinityType, required) && constraints.HasRequiredAffinity(pod) && !constraints.LabelsAllow(pod, node) {
		if run.Removable(pod) {
			run.Move(pod, "its required node affinity does not match its node any more", func(string) error { return nil })
		}
		return
	}
	if !slices.Contains(n.args.NodeAffinityType, preferred) {
		return
	}
	weight := weights.of(pod.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	here := weight.byNode[node.Name]
	if weight.most <= here || !run.Removable(pod) {
		return
	}
	best := run.Best(pod, func(node string) int64 { return weight.byNode[node] })
	run.Move(pod, "its preferred node affinity matches another node better", func(landing string) error {
		if there := weight.byNode[landing]; there <= here || there < best {
			return fmt.Errorf("has weight %d, and its own has %d", there, here)
		}
		return nil
	})
}

// A weightCache knows how much pods prefer nodes: those with the same terms alike.
type weightCache struct {
	nodes []*v1.Node
	known map[string]*nodeWeights
}

// nodeWeights are the sums of the terms that match nodes.
type nodeWeights struct {
	byNode map[string]int64 // those that are not zero
	most   int64            // of the nodes that take new pods
}

// of returns the weights of terms. Terms that cannot be read give no preference.
func (w *weightCache) of(preferences []v1.PreferredSchedulingTerm) *nodeWeights {
	if len(preferences) == 0 {
		return &nodeWeights{}
	}
	key, err := json.Marshal(preferences)
	if err != nil {
		return &nodeWeights{}
	}
	if known := w.known[string(key)]; known != nil {
		return known
	}
	found := &nodeWeights{byNode: map[string]int64{}}
	w.known[string(key)] = found
	terms, err := nodeaffinity.NewPreferredSchedulingTerms(preferences)
	if err != nil {
		return found
	}
	for _, node := range w.nodes {
		if score := terms.Score(node); score != 0 {
			found.byNode[node.Name] = score
			if !node.Spec.Unschedulable {
				found.most = max(found.most, score)
			}
		}
	}
	return found
}
