package violations

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/constraints"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/eviction"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/selection"
)

// NodeTaints is the name of the plugin.
const NodeTaints = "RemovePodsViolatingNodeTaints"

// NodeTaintsArgs select pods that do not tolerate a taint of their node.
type NodeTaintsArgs struct {
	metav1.TypeMeta `json:",inline"`
	selection.Pods  `json:",inline"`

	// IncludePreferNoSchedule looks at these taints, too.
	IncludePreferNoSchedule bool `json:"includePreferNoSchedule,omitempty"`
	// ExcludedTaints, key or key=value, are not looked at.
	ExcludedTaints []string `json:"excludedTaints,omitempty"`
	// IncludedTaints, key or key=value, are all that are looked at.
	IncludedTaints []string `json:"includedTaints,omitempty"`
}

// NodeTaintsDefinition is RemovePodsViolatingNodeTaints.
func NodeTaintsDefinition() framework.Definition {
	return framework.Typed(framework.Definition{
		Name:   NodeTaints,
		Points: []framework.Point{framework.Deschedule},
		Args:   func() any { return &NodeTaintsArgs{} },
	}, validateNodeTaints, func(a *NodeTaintsArgs, handle framework.Handle) (framework.Plugin, error) {
		selected, err := a.Selector()
		return &nodeTaints{args: a, handle: handle, selected: selected}, err
	})
}

func validateNodeTaints(a *NodeTaintsArgs) error {
	errs := []error{a.Pods.Validate(), validateTaints("excludedTaints", a.ExcludedTaints), validateTaints("includedTaints", a.IncludedTaints)}
	if len(a.ExcludedTaints) > 0 && len(a.IncludedTaints) > 0 {
		errs = append(errs, errors.New("includedTaints: cannot be set together with excludedTaints"))
	}
	return errors.Join(errs...)
}

// validateTaints says which entries can be no taint.
func validateTaints(what string, taints []string) error {
	var errs []error
	for i, taint := range taints {
		if problem := problemOfTaint(taint); problem != "" {
			errs = append(errs, fmt.Errorf("%s[%d]: %s", what, i, problem))
		}
	}
	return errors.Join(errs...)
}

func problemOfTaint(taint string) string {
	key, value, _ := strings.Cut(taint, "=")
	switch {
	case taint == "":
		return "must not be empty; write KEY or KEY=VALUE"
	case strings.Contains(value, "="):
		return fmt.Sprintf("must be KEY or KEY=VALUE, not %q, which has more than one =", taint)
	case strings.Contains(value, ":"):
		return fmt.Sprintf("must be KEY or KEY=VALUE without an effect, not %q", taint)
	case len(validation.IsQualifiedName(key)) > 0:
		return fmt.Sprintf("must begin with the key of a taint such as dedicated or example.org/dedicated, not %q", key)
	case len(validation.IsValidLabelValue(value)) > 0:
		return fmt.Sprintf("must end with the value of a taint such as gpu, not %q", value)
	}
	return ""
}

type nodeTaints struct {
	args     *NodeTaintsArgs
	handle   framework.Handle
	selected func(*v1.Pod) bool
}

// Name implements framework.Plugin.
func (n *nodeTaints) Name() string { return NodeTaints }

// Deschedule implements framework.DeschedulePlugin.
func (n *nodeTaints) Deschedule(ctx context.Context, nodes []*v1.Node) *framework.Status {
	run := eviction.Start(ctx, n.handle, NodeTaints)
	run.Repeat(func() {
		for _, node := range nodes {
			if len(node.Spec.Taints) == 0 {
				continue
			}
			pods := slices.DeleteFunc(run.PodsOn(node.Name), func(pod *v1.Pod) bool {
				return !counts(pod) || !n.selected(pod)
			})
			for _, pod := range eviction.Sorted(n.handle, pods) {
				n.look(run, pod, node)
			}
		}
	})
	return run.Status()
}

// look moves a pod to a node without taints that it does not tolerate.
func (n *nodeTaints) look(run *eviction.Run, pod *v1.Pod, node *v1.Node) {
	taint := n.violated(pod, node)
	if taint == nil || !run.Removable(pod) {
		return
	}
	run.Move(pod, fmt.Sprintf("it does not tolerate the taint %s of its node", taint.ToString()), func(landing string) error {
		if t := n.violated(pod, run.Snapshot().Node(landing)); t != nil {
			return fmt.Errorf("node %s, where its replacement would run, has the taint %s", landing, t.ToString())
		}
		return nil
	})
}

// violated is a taint that the pod does not tolerate, of those that are looked at.
// NoExecute is the business of the taint manager.
func (n *nodeTaints) violated(pod *v1.Pod, node *v1.Node) *v1.Taint {
	if node == nil {
		return nil
	}
	for i := range node.Spec.Taints {
		t := &node.Spec.Taints[i]
		looked := t.Effect == v1.TaintEffectNoSchedule || n.args.IncludePreferNoSchedule && t.Effect == v1.TaintEffectPreferNoSchedule
		if !looked || listed(t, n.args.ExcludedTaints) || len(n.args.IncludedTaints) > 0 && !listed(t, n.args.IncludedTaints) {
			continue
		}
		if !constraints.Tolerates(pod, t) {
			return t
		}
	}
	return nil
}

func listed(t *v1.Taint, taints []string) bool {
	return slices.Contains(taints, t.Key) || slices.Contains(taints, t.Key+"="+t.Value)
}
