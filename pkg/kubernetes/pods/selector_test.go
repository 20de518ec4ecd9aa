package pods_test

import (
	"testing"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

// TestNodeSelector: the labels that a pod needs, as the core reads them, and nothing of what it cannot read.
func TestNodeSelector(t *testing.T) {
	in := func(label string, operator v1.NodeSelectorOperator, values ...string) v1.NodeSelectorRequirement {
		return v1.NodeSelectorRequirement{Key: label, Operator: operator, Values: values}
	}
	terms := func(terms ...[]v1.NodeSelectorRequirement) *v1.Affinity {
		required := &v1.NodeSelector{}
		for _, term := range terms {
			required.NodeSelectorTerms = append(required.NodeSelectorTerms, v1.NodeSelectorTerm{MatchExpressions: term})
		}
		return &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required}}
	}
	tolerates := func(list ...v1.Toleration) v1.PodSpec { return v1.PodSpec{Tolerations: list} }
	for _, c := range []struct {
		name string
		spec v1.PodSpec
		want string
	}{
		{"nothing", v1.PodSpec{}, ""},
		{"a selector, by label", v1.PodSpec{NodeSelector: map[string]string{"zone": "a", "disk": "ssd"}}, "disk=ssd,zone=a"},
		{"an affinity, by value", v1.PodSpec{Affinity: terms([]v1.NodeSelectorRequirement{in("model", v1.NodeSelectorOpIn, "T4", "P100")})}, "model=P100|T4"},
		{"no such label", v1.PodSpec{Affinity: terms([]v1.NodeSelectorRequirement{in("spot", v1.NodeSelectorOpDoesNotExist)})}, "spot="},
		{"the selector is the narrower one", v1.PodSpec{
			NodeSelector: map[string]string{"model": "T4"}, Affinity: terms([]v1.NodeSelectorRequirement{in("model", v1.NodeSelectorOpIn, "T4", "P100")}),
		}, "model=T4"},
		{"two terms, of which any may hold", v1.PodSpec{Affinity: terms([]v1.NodeSelectorRequirement{in("a", v1.NodeSelectorOpIn, "1")}, nil)}, ""},
		{"other operators", v1.PodSpec{Affinity: terms([]v1.NodeSelectorRequirement{in("a", v1.NodeSelectorOpGt, "1"), in("b", v1.NodeSelectorOpExists)})}, ""},
		{"a taint of one value", tolerates(v1.Toleration{Key: "team", Value: "a"}), "si/taint/team=|a"},
		{"of two values", tolerates(v1.Toleration{Key: "team", Value: "b"}, v1.Toleration{Key: "team", Value: "a"}), "si/taint/team=|a|b"},
		{"without a value", tolerates(v1.Toleration{Key: "x.io/gpu", Operator: v1.TolerationOpEqual}), "si/taint/x.io/gpu=|true"},
		{"of any value", tolerates(v1.Toleration{Key: "x.io/gpu", Operator: v1.TolerationOpExists}), "si/taint/x.io/gpu=|*"},
		{"every taint", tolerates(v1.Toleration{Operator: v1.TolerationOpExists}), "si/taint/=|*"},
		{"taints that keep nothing away, or say how a node is", tolerates(
			v1.Toleration{Key: "soft", Effect: v1.TaintEffectPreferNoSchedule}, v1.Toleration{Key: v1.TaintNodeNotReady, Operator: v1.TolerationOpExists}), ""},
		{"the name of a node", v1.PodSpec{NodeSelector: map[string]string{v1.LabelHostname: "n1"}}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := &v1.Pod{Spec: c.spec}
			assert.Equal(t, pods.NodeSelector(pod), c.want)
			assert.Equal(t, pods.CreateTagsForTask(pod, false)[pods.TagNodeSelector], c.want)
			assert.Equal(t, pods.CreateTagsForTask(pod, true)[pods.TagNodeSelector], "", "another scheduler has placed it")
		})
	}
}
