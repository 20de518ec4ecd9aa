// Package openroom has OpenRoom, which moves a few pods so that one that waits has room, or all that start together.
package openroom

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/eviction"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/selection"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// Name of the plugin.
const Name = "OpenRoom"

// Args select the pods for which others move.
type Args struct {
	metav1.TypeMeta `json:",inline"`

	// Namespaces includes or excludes namespaces of pods that wait.
	Namespaces *selection.Names `json:"namespaces,omitempty"`
	// WaitsFor is how long a pod waits before others move for it.
	WaitsFor metav1.Duration `json:"waitsFor"`
}

// Definition is OpenRoom.
func Definition() framework.Definition {
	return framework.Typed(framework.Definition{
		Name:   Name,
		Points: []framework.Point{framework.Balance},
		Args:   func() any { return &Args{WaitsFor: metav1.Duration{Duration: 5 * time.Minute}} },
	}, validate, func(a *Args, handle framework.Handle) (framework.Plugin, error) {
		return &plugin{args: a, handle: handle}, nil
	})
}

func validate(a *Args) error {
	err := a.Namespaces.Validate("namespaces")
	if a.WaitsFor.Duration < 0 {
		err = errors.Join(err, fmt.Errorf("waitsFor: %s is less than nothing", a.WaitsFor.Duration))
	}
	return err
}

type plugin struct {
	args   *Args
	handle framework.Handle
}

// Name implements framework.Plugin.
func (p *plugin) Name() string { return Name }

// triesMax is for how many pods that wait, or groups, it is found out in a cycle what may move.
const triesMax = 10

// Balance implements framework.BalancePlugin. What waits longest comes first, and one is helped in a cycle: it should have its room before
// others are looked at.
func (p *plugin) Balance(ctx context.Context, _ []*v1.Node) *framework.Status {
	opener, knows := p.handle.Landing().(framework.Opener)
	together, can := p.handle.Evictor().(framework.GroupEvictor)
	if !knows || !can {
		return &framework.Status{Err: errors.New("nothing says what may move: the landing and the evictor of the program do not")}
	}
	waiting := p.waiting()
	for _, pod := range waiting[:min(len(waiting), triesMax)] {
		moves, opens := p.opening(ctx, opener, pod)
		if len(moves) == 0 {
			continue
		}
		all, from := make([]*v1.Pod, len(moves)), map[string]bool{}
		for i, m := range moves {
			all[i], from[m.Pod.Spec.NodeName] = m.Pod, true
		}
		options := framework.EvictOptions{PluginName: Name, ProfileName: p.handle.ProfileName(), Reason: reason(pod, opens)}
		for _, n := range p.handle.Snapshot().Nodes() {
			if !from[n.Name] {
				options.Nodes = append(options.Nodes, n.Name)
			}
		}
		if kept := together.EvictTogether(ctx, all, options); len(kept) < len(all) {
			break
		}
	}
	return nil
}

// plansMax is how many plans are made for a pod, of which each has pods that the profile keeps.
const plansMax = 5

// opening is what moves for a pod that waits: pods that the filters of the profile let go.
func (p *plugin) opening(ctx context.Context, opener framework.Opener, waiting *v1.Pod) (moves []framework.Booking, opens string) {
	kept := map[types.UID]bool{}
	for range plansMax {
		if ctx.Err() != nil {
			return nil, ""
		}
		moves, opens = opener.Opening(ctx, waiting, func(pod *v1.Pod) bool { return kept[pod.UID] })
		before := len(kept)
		for _, m := range moves {
			if eviction.Ended(m.Pod) || !p.handle.Evictor().Filter(m.Pod) {
				kept[m.Pod.UID] = true
			}
		}
		if len(kept) == before {
			return moves, opens
		}
	}
	return nil, ""
}

// reason is why pods move.
func reason(waiting *v1.Pod, opens string) string {
	if opens == "" {
		return fmt.Sprintf("it makes room for pod %s/%s, which waits", waiting.Namespace, waiting.Name)
	}
	return fmt.Sprintf("it opens %s for pod %s/%s and all that must start with it", opens, waiting.Namespace, waiting.Name)
}

// waiting are pods that have waited long enough, of each group and each owner one, the longest first.
func (p *plugin) waiting() (list []*v1.Pod) {
	type alike struct {
		namespace, group string
		owner            types.UID
	}
	seen := map[alike]bool{}
	snapshot := p.handle.Snapshot()
	all := slices.SortedStableFunc(slices.Values(snapshot.Pods()), func(a, b *v1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	for _, pod := range all {
		if pods.IsBound(pod) || pods.IsTerminal(pod) || pods.IsGated(pod) || pod.DeletionTimestamp != nil || !p.args.Namespaces.Has(pod.Namespace) ||
			snapshot.Now().Sub(pod.CreationTimestamp.Time) < p.args.WaitsFor.Duration {
			continue
		}
		of := alike{namespace: pod.Namespace, group: pods.GroupName(pod)}
		if owner := metav1.GetControllerOf(pod); owner != nil && of.group == "" {
			of.owner = owner.UID
		} else if of.group == "" {
			of.owner = pod.UID
		}
		if !seen[of] {
			seen[of], list = true, append(list, pod)
		}
	}
	return list
}
