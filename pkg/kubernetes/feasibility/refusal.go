package feasibility

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/outoftree"
)

// ErrUnknownNode answers for a node that was not set, or was removed.
var ErrUnknownNode = errors.New("node is not known")

// A Refusal says why a pod may not run on a node. Its text is that of the plugins, for
// people, and names neither the pod nor the node, so that equal refusals of many nodes
// can be counted.
type Refusal struct {
	Plugin  string   // which refused first
	Reasons []string // in order of the alphabet, as plugins give theirs in any order

	unresolvable bool
	outOfTree    bool // the plugin is none of kube-scheduler's
}

// Error is the reasons.
func (r *Refusal) Error() string { return r.nameOf(strings.Join(r.Reasons, ", ")) }

// Unresolvable says that the pod may not run there whichever pods are removed.
func (r *Refusal) Unresolvable() bool { return r.unresolvable }

// errorOf is what a status of the plugins says: nil, a Refusal, or that a plugin failed.
func errorOf(status *fwk.Status) error {
	switch {
	case status.IsSuccess(), status.IsSkip():
		return nil
	case status.IsRejected():
		reasons := slices.Clone(status.Reasons())
		slices.Sort(reasons)
		return &Refusal{
			Plugin:       status.Plugin(),
			Reasons:      reasons,
			unresolvable: status.Code() == fwk.UnschedulableAndUnresolvable,
		}
	default:
		err := status.AsError()
		var failure *outoftree.Failure
		if errors.As(err, &failure) {
			return failure
		}
		return fmt.Errorf("plugins of kube-scheduler: %w", err)
	}
}

// Lasting says that the labels, taints and name of the node decide: the answer is the same for
// all pods of the class, whatever runs anywhere, until the node changes.
func (r *Refusal) Lasting() bool {
	switch r.Plugin {
	case names.NodeAffinity, names.NodeName, names.NodeUnschedulable, names.TaintToleration:
		return true
	}
	return false
}
