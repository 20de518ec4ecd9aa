// Package duplicates has RemoveDuplicates, which spreads pods of one owner that run on
// one node over more nodes.
package duplicates

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/constraints"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/eviction"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/selection"
)

// Name of the plugin.
const Name = "RemoveDuplicates"

// Args select pods of which several of one owner run on a node.
type Args struct {
	metav1.TypeMeta `json:",inline"`

	// Namespaces includes or excludes namespaces.
	Namespaces *selection.Names `json:"namespaces,omitempty"`
	// ExcludeOwnerKinds are kinds whose pods stay.
	ExcludeOwnerKinds []string `json:"excludeOwnerKinds,omitempty"`
}

// Definition is RemoveDuplicates.
func Definition() framework.Definition {
	return framework.Typed(framework.Definition{
		Name:   Name,
		Points: []framework.Point{framework.Balance},
		Args:   func() any { return &Args{} },
	}, validate, func(a *Args, handle framework.Handle) (framework.Plugin, error) {
		return &plugin{args: a, handle: handle}, nil
	})
}

func validate(a *Args) error {
	return errors.Join(a.Namespaces.Validate("namespaces"))
}

type plugin struct {
	args   *Args
	handle framework.Handle
}

// A group is pods that are equal in namespace, owners and images.
type group struct {
	key    string
	pods   []*v1.Pod
	onNode map[string]int
}

// Name implements framework.Plugin.
func (p *plugin) Name() string { return Name }

// Repeats implements framework.Repeater.
func (p *plugin) Repeats() bool { return true }

// Balance implements framework.BalancePlugin. No node should have more pods of a group
// than its share of them, over the nodes where they can run.
func (p *plugin) Balance(ctx context.Context, nodes []*v1.Node) *framework.Status {
	run := eviction.Start(ctx, p.handle, Name)
	targets := &targets{nodes: nodes, known: map[string][]int{}}
	run.Repeat(func() {
		for _, g := range p.groups(run, nodes) {
			if run.Stopped() {
				return
			}
			p.balance(run, g, targets)
		}
	})
	return run.Status()
}

// groups are those with more than one pod on some node, in the order of their keys.
func (p *plugin) groups(run *eviction.Run, nodes []*v1.Node) []*group {
	byKey := map[string]*group{}
	var found []*group
	for _, node := range nodes {
		for _, pod := range run.PodsOn(node.Name) {
			if !p.looksAt(pod) {
				continue
			}
			key := keyOf(pod)
			g := byKey[key]
			if g == nil {
				g = &group{key: key, onNode: map[string]int{}}
				byKey[key] = g
				found = append(found, g)
			}
			g.pods = append(g.pods, pod)
			g.onNode[node.Name]++
		}
	}
	found = slices.DeleteFunc(found, func(g *group) bool { return len(g.onNode) == len(g.pods) })
	slices.SortFunc(found, func(a, b *group) int { return strings.Compare(a.key, b.key) })
	return found
}

// looksAt says whether a pod counts. Those that may not be evicted count, too, since
// they take their share of the nodes.
func (p *plugin) looksAt(pod *v1.Pod) bool {
	return len(pod.OwnerReferences) > 0 && pod.DeletionTimestamp == nil && !eviction.Ended(pod) &&
		p.args.Namespaces.Has(pod.Namespace) && !selection.HasOwnerKind(pod, p.args.ExcludeOwnerKinds)
}

// keyOf is equal for pods of one group. Most pods have one owner and one container.
func keyOf(pod *v1.Pod) string {
	if len(pod.OwnerReferences) == 1 && len(pod.Spec.Containers) == 1 {
		o := &pod.OwnerReferences[0]
		return pod.Namespace + "\n" + o.Kind + "/" + o.Name + "\n\n" + pod.Spec.Containers[0].Image
	}
	var owners, images []string
	for _, o := range pod.OwnerReferences {
		owners = append(owners, o.Kind+"/"+o.Name)
	}
	for i := range pod.Spec.Containers {
		images = append(images, pod.Spec.Containers[i].Image)
	}
	slices.Sort(owners)
	slices.Sort(images)
	parts := append([]string{pod.Namespace}, slices.Compact(owners)...)
	return strings.Join(append(append(parts, ""), slices.Compact(images)...), "\n")
}

// balance moves pods from nodes that have more than their share to such that have less
// afterwards.
func (p *plugin) balance(run *eviction.Run, g *group, targets *targets) {
	among := targets.of(g)
	if among < 2 {
		return
	}
	share := (len(g.pods) + among - 1) / among
	for _, pod := range eviction.Sorted(p.handle, slices.Clone(g.pods)) {
		here := pod.Spec.NodeName
		if g.onNode[here] <= share || !run.Removable(pod) {
			continue
		}
		reason := fmt.Sprintf("its node has %d pods of its owner, and its share of them is %d", g.onNode[here], share)
		to := ""
		moved := run.Move(pod, reason, func(landing string) error {
			to = landing
			if g.onNode[landing] >= share {
				return fmt.Errorf("has %d pods of its owner", g.onNode[landing])
			}
			return nil
		})
		if moved {
			g.onNode[here]--
			g.onNode[to]++
		}
	}
}

// targets says on how many nodes the pods of a group can run.
type targets struct {
	nodes []*v1.Node
	known map[string][]int // indices of the nodes that pods with these demands match
}

// of counts the nodes that match some of the pods. Pods that match one node only do not
// add it, as they cannot leave it.
func (t *targets) of(g *group) int {
	seen := map[string]bool{}
	var lists [][]int
	for _, pod := range g.pods {
		key := constraints.Key(pod, true)
		if seen[key] {
			continue
		}
		seen[key] = true
		if nodes := t.matching(key, pod); len(nodes) > 1 {
			lists = append(lists, nodes)
		}
	}
	switch len(lists) {
	case 0:
		return 0
	case 1: // that of nearly all groups, of which no node is looked at
		return len(lists[0])
	}
	match := map[int]bool{}
	for _, n := range slices.Concat(lists...) {
		match[n] = true
	}
	return len(match)
}

// matching are the nodes that take new pods and whose labels and taints let a pod in.
func (t *targets) matching(key string, pod *v1.Pod) []int {
	found, ok := t.known[key]
	if ok {
		return found
	}
	for i, node := range t.nodes {
		if !node.Spec.Unschedulable && constraints.LabelsAllow(pod, node) && constraints.TaintsAllow(pod, node) {
			found = append(found, i)
		}
	}
	t.known[key] = found
	return found
}
