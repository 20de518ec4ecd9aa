package plugins_test

import (
	"fmt"
	"slices"
	"testing"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	ft "github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/frameworktest"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/duplicates"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/selection"
)

func TestDuplicates(t *testing.T) {
	unschedulable := func(n *v1.Node) *v1.Node {
		n.Spec.Unschedulable = true
		return n
	}
	cordoned := func(n *v1.Node) *v1.Node {
		return ft.Taint(unschedulable(n), v1.TaintNodeUnschedulable, "", v1.TaintEffectNoSchedule)
	}
	two := []*v1.Node{ft.Node("n1", "", ""), ft.Node("n2", "", "")}
	image := func(p *v1.Pod) { p.Spec.Containers[0].Image = p.Name }
	for name, c := range map[string]struct {
		nodes []*v1.Node
		here  int
		there int
		edits []func(*v1.Pod)
		args  *duplicates.Args
		want  int
	}{
		"five on one of two nodes": {here: 5, want: 2},
		"even":                     {here: 2, there: 2},
		"one more is no reason":    {here: 2, there: 1},
		"two more":                 {here: 3, there: 1, want: 1},
		"three nodes":              {here: 5, nodes: append(two[:2:2], ft.Node("n3", "", "")), want: 3},
		"other images":             {here: 5, edits: []func(*v1.Pod){image}},
		"excluded kind":            {here: 5, args: &duplicates.Args{ExcludeOwnerKinds: []string{"ReplicaSet"}}},
		"excluded namespace":       {here: 5, args: &duplicates.Args{Namespaces: &selection.Names{Exclude: []string{"a"}}}},
		"one node":                 {here: 5, nodes: two[:1]},
		"the other is cordoned":    {here: 5, nodes: []*v1.Node{two[0], cordoned(ft.Node("n2", "", ""))}},
		"a share of the nodes that let the pods in, without a taint": {
			here: 6, want: 3, nodes: append(two[:2:2], ft.Taint(ft.Node("n3", "", ""), "x", "", v1.TaintEffectNoSchedule)),
		},
		"a share of the nodes that are not cordoned": {here: 6, want: 3, nodes: append(two[:2:2], unschedulable(ft.Node("n3", "", "")))},
		"a share of the nodes that have the labels": {
			here: 6, want: 3, edits: []func(*v1.Pod){ft.OnNodes("disk", "ssd")},
			nodes: []*v1.Node{ft.Node("n1", "", "disk=ssd"), ft.Node("n2", "", "disk=ssd"), ft.Node("n3", "", "")},
		},
		"the other has a taint":      {here: 5, nodes: []*v1.Node{two[0], ft.Taint(ft.Node("n2", "", ""), "x", "", v1.TaintEffectNoSchedule)}},
		"the other has room for one": {here: 5, nodes: []*v1.Node{two[0], ft.Node("n2", "cpu=150m", "")}, want: 1},
		"the only one with room has its share": {
			here: 3, there: 2, nodes: []*v1.Node{ft.Node("n1", "cpu=1", ""), two[1], ft.Node("n3", "cpu=50m", "")},
		},
		"the labels match one node only": {here: 5, nodes: []*v1.Node{ft.Node("n1", "", "disk=ssd"), two[1]}, edits: []func(*v1.Pod){ft.OnNodes("disk", "ssd")}},
		"bare pods have no owner": {here: 5, edits: []func(*v1.Pod){func(p *v1.Pod) {
			p.OwnerReferences = nil
		}}},
		"pods that have ended do not count": {here: 5, edits: []func(*v1.Pod){ft.Phase(v1.PodSucceeded)}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.nodes == nil {
				c.nodes = two
			}
			if c.args == nil {
				c.args = &duplicates.Args{}
			}
			var pods []*v1.Pod
			edits := append([]func(*v1.Pod){ft.Owned("ReplicaSet/web")}, c.edits...)
			for i := range c.here {
				pods = append(pods, ft.Pod(fmt.Sprintf("a/p%d", i), "n1", "cpu=100m", edits...))
			}
			for i := range c.there {
				pods = append(pods, ft.Pod(fmt.Sprintf("a/q%d", i), "n2", "cpu=100m", edits...))
			}
			o := framework.Objects{Nodes: c.nodes, Pods: pods}
			h := ft.NewHandle(t, o, ft.Options{})
			assert.Assert(t, h.Run(t, duplicates.Definition(), c.args) == nil)
			assert.Equal(t, len(h.Moves()), c.want, "%v %v", h.Moves(), h.Declined())
			next := ft.NewHandle(t, h.Replaced(), ft.Options{})
			next.Run(t, duplicates.Definition(), c.args)
			assert.DeepEqual(t, next.Moves(), []string{})
		})
	}
}

// The least important go first, and not those that come first in a list.
func TestLeastImportantGoFirst(t *testing.T) {
	owned := ft.Owned("ReplicaSet/web")
	h := ft.NewHandle(t, framework.Objects{
		Nodes: []*v1.Node{ft.Node("n1", "", ""), ft.Node("n2", "", "")},
		Pods: []*v1.Pod{
			ft.Pod("a/p1", "n1", "cpu=100m", owned, ft.Priority(3)),
			ft.Pod("a/p2", "n1", "cpu=100m", owned, ft.Priority(1)),
			ft.Pod("a/p3", "n1", "cpu=100m", owned, ft.Priority(2)),
		},
	}, ft.Options{})
	h.Run(t, duplicates.Definition(), nil)
	assert.DeepEqual(t, h.Moves(), []string{"a/p2 n1 -> n2"})
}

// A scheduler that would put the pod back is not asked to: the node that is used more
// is better for it.
func TestNothingComesBack(t *testing.T) {
	owned := ft.Owned("ReplicaSet/web")
	h := ft.NewHandle(t, framework.Objects{
		Nodes: []*v1.Node{ft.Node("n1", "", ""), ft.Node("n2", "", "")},
		Pods: []*v1.Pod{
			ft.Pod("a/p1", "n1", "cpu=100m", owned),
			ft.Pod("a/p2", "n1", "cpu=100m", owned),
			ft.Pod("a/p3", "n1", "cpu=100m", owned),
		},
	}, ft.Options{Packing: true})
	h.Run(t, duplicates.Definition(), nil)
	assert.DeepEqual(t, h.Moves(), []string{})
	assert.Equal(t, h.Declined()[0], "a/p1: RemoveDuplicates: its replacement would come back to node n1")
}

func TestValidate(t *testing.T) {
	both := &selection.Names{Include: []string{"a"}, Exclude: []string{"b"}}
	assert.ErrorContains(t, duplicates.Definition().Validate(&duplicates.Args{Namespaces: both}), "namespaces:")
	assert.ErrorContains(t, duplicates.Definition().Validate(1), "int")
}

// Pods are of one group whatever the order of their owners and containers, and however often an image is there.
func TestGroupsWithoutAnOrder(t *testing.T) {
	one := ft.Pod("a/p", "n1", "cpu=100m", ft.Owned("ReplicaSet/x"), ft.Owned("ReplicaSet/y"))
	one.Spec.Containers = append(one.Spec.Containers, one.Spec.Containers...)
	one.Spec.Containers[1].Image = "second"
	reversed := one.DeepCopy()
	slices.Reverse(reversed.OwnerReferences)
	slices.Reverse(reversed.Spec.Containers)
	other := reversed.DeepCopy()
	other.Spec.Containers[0].Image = "third"
	single := one.DeepCopy()
	single.OwnerReferences, single.Spec.Containers = one.OwnerReferences[:1], one.Spec.Containers[:1]
	twice := single.DeepCopy()
	twice.Spec.Containers = append(twice.Spec.Containers, single.Spec.Containers...)
	for _, c := range []struct {
		a, b *v1.Pod
		same bool
	}{{one, reversed, true}, {one, other, false}, {single, twice, true}, {one, single, false}} {
		a, b := c.a.DeepCopy(), c.b.DeepCopy()
		a.Name, b.Name, a.UID, b.UID = "a", "b", "a", "b"
		h := ft.NewHandle(t, framework.Objects{Nodes: []*v1.Node{ft.Node("n1", "", ""), ft.Node("n2", "", "")}, Pods: []*v1.Pod{a, b}}, ft.Options{})
		h.Run(t, duplicates.Definition(), nil)
		assert.Equal(t, len(h.Moves()) == 1, c.same, "%v %v", h.Moves(), h.Declined())
	}
}
