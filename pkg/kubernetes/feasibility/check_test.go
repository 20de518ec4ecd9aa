package feasibility

import (
	"errors"
	"testing"

	v1 "k8s.io/api/core/v1"
)

// answer is how a test writes an answer: "yes", the reason, or the reason after
// "never: " if it is unresolvable.
func answer(err error) string {
	var refusal interface{ Unresolvable() bool }
	switch {
	case err == nil:
		return "yes"
	case errors.As(err, &refusal) && refusal.Unresolvable():
		return "never: " + err.Error()
	default:
		return err.Error()
	}
}

// TestFilters asks each filter of the default profile that needs no other objects about
// one node it accepts and one it refuses.
func TestFilters(t *testing.T) {
	nodes := func() []*v1.Node {
		a, b := aNode("a", "zone-1", "disk=ssd"), aNode("b", "zone-2")
		b.Status.Allocatable = amounts("cpu=8 memory=32Gi pods=110 example.com/gpu=2 ephemeral-storage=1Gi")
		return []*v1.Node{a, b}
	}
	tests := []struct {
		name string
		on   []*v1.Pod      // what runs
		edit func(*v1.Node) // changes node a
		pod  *v1.Pod
		a, b string
	}{
		{name: "nothing in the way", pod: aPod("x"), a: "yes", b: "yes"},
		{
			name: "NodeUnschedulable", edit: func(n *v1.Node) { n.Spec.Unschedulable = true },
			pod: aPod("x"), a: "never: node(s) were unschedulable", b: "yes",
		},
		{
			name: "NodeUnschedulable tolerated", edit: func(n *v1.Node) { n.Spec.Unschedulable = true },
			pod: aPod("x", tolerating(v1.TaintNodeUnschedulable)), a: "yes", b: "yes",
		},
		{
			name: "NodeName", pod: aPod("x", placedOn("b")),
			a: "never: node(s) are not those that the pod names", b: "yes",
		},
		{
			name: "TaintToleration",
			edit: func(n *v1.Node) { n.Spec.Taints = []v1.Taint{{Key: "k", Value: "v", Effect: v1.TaintEffectNoSchedule}} },
			pod:  aPod("x"), a: "never: node(s) had untolerated taint(s)", b: "yes",
		},
		{
			name: "TaintToleration tolerated",
			edit: func(n *v1.Node) { n.Spec.Taints = []v1.Taint{{Key: "k", Effect: v1.TaintEffectNoExecute}} },
			pod:  aPod("x", tolerating("k")), a: "yes", b: "yes",
		},
		{
			name: "NodeAffinity by selector", pod: aPod("x", selecting("disk", "ssd")),
			a: "yes", b: "never: node(s) didn't match Pod's node affinity/selector",
		},
		{
			name: "NodeAffinity by terms",
			pod: aPod("x", onNodes(v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{
				{Key: "disk", Operator: v1.NodeSelectorOpDoesNotExist},
			}})),
			a: "never: node(s) didn't match Pod's node affinity/selector", b: "yes",
		},
		{
			name: "NodeAffinity by name, which PreFilter answers",
			pod:  aPod("x", onNodes(named("b"))),
			a:    "never: node(s) are not those that the pod names", b: "yes",
		},
		{
			name: "NodeAffinity by names that no node can have",
			pod: aPod("x", onNodes(v1.NodeSelectorTerm{MatchFields: []v1.NodeSelectorRequirement{
				{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{"a"}},
				{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{"b"}},
			}})),
			a: "never: pod affinity terms conflict", b: "never: pod affinity terms conflict",
		},
		{
			name: "NodePorts", on: []*v1.Pod{aPod("p", placedOn("a"), hostPorts(80))},
			pod: aPod("x", hostPorts(80)), a: "node(s) didn't have free ports for the requested pod ports", b: "yes",
		},
		{
			name: "NodeResourcesFit", on: []*v1.Pod{aPod("p", placedOn("a"), requests("cpu=7 memory=31Gi"))},
			pod: aPod("x", requests("cpu=2 memory=2Gi")), a: "Insufficient cpu, Insufficient memory", b: "yes",
		},
		{
			name: "NodeResourcesFit, more than the node has", pod: aPod("x", requests("cpu=9")),
			a: "never: Insufficient cpu", b: "never: Insufficient cpu",
		},
		{
			name: "NodeResourcesFit, extended resources", pod: aPod("x", requests("example.com/gpu=1")),
			a: "never: Insufficient example.com/gpu", b: "yes",
		},
		{
			name: "NodeResourcesFit, ephemeral storage", pod: aPod("x", requests("ephemeral-storage=1Gi")),
			a: "never: Insufficient ephemeral-storage", b: "yes",
		},
		{
			name: "NodeResourcesFit, number of pods",
			edit: func(n *v1.Node) { n.Status.Allocatable = amounts("cpu=8 memory=32Gi pods=1") },
			on:   []*v1.Pod{aPod("p", placedOn("a"))},
			pod:  aPod("x"), a: "Too many pods", b: "yes",
		},
		{
			name: "a pod that has ended counts no more", on: []*v1.Pod{aPod("p", placedOn("a"), requests("cpu=8"), func(p *v1.Pod) { p.Status.Phase = v1.PodSucceeded })},
			pod: aPod("x", requests("cpu=1")), a: "yes", b: "yes",
		},
		{
			name: "InterPodAffinity", on: []*v1.Pod{aPod("p", placedOn("a"), labelled("app", "web"))},
			pod: aPod("x", near("app", "web", v1.LabelTopologyZone)),
			a:   "yes", b: "never: node(s) didn't match pod affinity rules",
		},
		{
			name: "InterPodAffinity, the first of its kind",
			pod:  aPod("x", labelled("app", "web"), near("app", "web", v1.LabelTopologyZone)),
			a:    "yes", b: "yes",
		},
		{
			name: "InterPodAffinity, another namespace", on: []*v1.Pod{aPod("p", placedOn("a"), labelled("app", "web"), inNamespace("other"))},
			pod: aPod("x", near("app", "web", v1.LabelTopologyZone)),
			a:   "never: node(s) didn't match pod affinity rules", b: "never: node(s) didn't match pod affinity rules",
		},
		{
			name: "anti-affinity of the pod", on: []*v1.Pod{aPod("p", placedOn("a"), labelled("app", "web"))},
			pod: aPod("x", apart("app", "web", v1.LabelTopologyZone)),
			a:   "node(s) didn't match pod anti-affinity rules", b: "yes",
		},
		{
			name: "anti-affinity of a pod that runs", on: []*v1.Pod{aPod("p", placedOn("a"), apart("app", "web", v1.LabelHostname))},
			pod: aPod("x", labelled("app", "web")),
			a:   "node(s) didn't satisfy existing pods anti-affinity rules", b: "yes",
		},
		{
			name: "PodTopologySpread", on: []*v1.Pod{aPod("p", placedOn("a"), labelled("app", "web"))},
			pod: aPod("x", labelled("app", "web"), spread("app", "web", v1.LabelTopologyZone)),
			a:   "node(s) didn't match pod topology spread constraints", b: "yes",
		},
		{
			name: "PodTopologySpread, label missing", edit: func(n *v1.Node) { delete(n.Labels, v1.LabelTopologyZone) },
			pod: aPod("x", labelled("app", "web"), spread("app", "web", v1.LabelTopologyZone)),
			a:   "never: node(s) didn't match pod topology spread constraints (missing required label)", b: "yes",
		},
		{
			name: "VolumeRestrictions", on: []*v1.Pod{aPod("p", placedOn("a"), disk("d"))},
			pod: aPod("x", disk("d")), a: "node(s) had no available disk", b: "yes",
		},
		{
			name: "NodeDeclaredFeatures", edit: func(n *v1.Node) { n.Status.DeclaredFeatures = []string{"UserNamespacesHostNetworkSupport"} },
			pod: aPod("x", func(p *v1.Pod) { p.Spec.HostNetwork = true; p.Spec.HostUsers = new(bool) }),
			a:   "yes", b: "never: node(s) didn't match Pod's required features",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, _ := newChecker(t, Options{})
			for i, node := range nodes() {
				if i == 0 && test.edit != nil {
					test.edit(node)
				}
				c.SetNode(node)
			}
			for _, pod := range test.on {
				c.SetPod(pod)
			}
			answers := c.CheckNodes(test.pod, []string{"a", "b"})
			if a, b := answer(answers[0]), answer(answers[1]); a != test.a || b != test.b {
				t.Errorf("a: %s; b: %s\nwant a: %s; b: %s", a, b, test.a, test.b)
			}
		})
	}
}

// disk is a volume that can be attached to one node for one pod.
func disk(id string) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{Name: id, VolumeSource: v1.VolumeSource{
			AWSElasticBlockStore: &v1.AWSElasticBlockStoreVolumeSource{VolumeID: id},
		}})
	}
}
