package violations

import (
	"context"
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
	return framework.Definition{
		Name:     NodeAffinity,
		Points:   []framework.Point{framework.Deschedule},
		Args:     func() any { return &NodeAffinityArgs{} },
		Validate: validateNodeAffinity,
		New: func(_ context.Context, args any, handle framework.Handle) (framework.Plugin, error) {
			if err := validateNodeAffinity(args); err != nil {
				return nil, err
			}
			a := args.(*NodeAffinityArgs)
			selected, err := a.Selector()
			return &nodeAffinity{args: a, handle: handle, selected: selected}, err
		},
	}
}

func validateNodeAffinity(args any) error {
	a, ok := args.(*NodeAffinityArgs)
	if !ok {
		return wrongType(NodeAffinity, args)
	}
	errs := []error{a.Pods.Validate(), selection.Listed("nodeAffinityType", a.NodeAffinityType, []string{required, preferred})}
	if len(a.NodeAffinityType) == 0 {
		errs = append(errs, errors.New("nodeAffinityType: it must be set"))
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
	run.Repeat(func() {
		for _, node := range nodes {
			pods := slices.DeleteFunc(run.PodsOn(node.Name), func(pod *v1.Pod) bool {
				return pod.Spec.Affinity == nil || !counts(pod) || !n.selected(pod)
			})
			for _, pod := range eviction.Sorted(n.handle, pods) {
				n.look(run, pod, node)
			}
		}
	})
	return run.Status()
}

// look moves a pod that another node matches, or matches better.
func (n *nodeAffinity) look(run *eviction.Run, pod *v1.Pod, node *v1.Node) {
	if slices.Contains(n.args.NodeAffinityType, required) && constraints.HasRequiredAffinity(pod) && !constraints.LabelsAllow(pod, node) {
		if run.Removable(pod) {
			run.Move(pod, "its required node affinity does not match its node any more", func(string) error { return nil })
		}
		return
	}
	if !slices.Contains(n.args.NodeAffinityType, preferred) {
		return
	}
	weight := weightsOf(pod)
	if weight == nil {
		return
	}
	here := weight(node)
	better := func(other *v1.Node) bool { return !other.Spec.Unschedulable && weight(other) > here }
	if !slices.ContainsFunc(run.Snapshot().Nodes(), better) || !run.Removable(pod) {
		return
	}
	run.Move(pod, "its preferred node affinity matches another node better", func(landing string) error {
		if there := weight(run.Snapshot().Node(landing)); there <= here {
			return fmt.Errorf("node %s, where its replacement would run, has weight %d, and its own has %d", landing, there, here)
		}
		return nil
	})
}

// weightsOf returns how much a pod prefers a node, or nil where it has no preference.
// Terms that cannot be read give no preference.
func weightsOf(pod *v1.Pod) func(*v1.Node) int64 {
	a := pod.Spec.Affinity.NodeAffinity
	if a == nil || len(a.PreferredDuringSchedulingIgnoredDuringExecution) == 0 {
		return nil
	}
	terms, err := nodeaffinity.NewPreferredSchedulingTerms(a.PreferredDuringSchedulingIgnoredDuringExecution)
	if err != nil {
		return nil
	}
	return func(node *v1.Node) int64 {
		if node == nil {
			return 0
		}
		return terms.Score(node)
	}
}
