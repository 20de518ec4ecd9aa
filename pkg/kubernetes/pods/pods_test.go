package pods_test

import (
	"testing"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
)

func TestIsOurs(t *testing.T) {
	rules := pods.Rules{SchedulerNames: []string{"narwhal", "yunikorn"}}
	for name, want := range map[string]bool{"narwhal": true, "yunikorn": true, "": false, "default-scheduler": false} {
		assert.Equal(t, rules.IsOurs(&v1.Pod{Spec: v1.PodSpec{SchedulerName: name}}), want, name)
	}
	assert.Assert(t, !pods.Rules{}.IsOurs(&v1.Pod{}))
}

func TestIsStatic(t *testing.T) {
	owned := func(version, kind string) *v1.Pod {
		return &v1.Pod{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{APIVersion: version, Kind: kind}}}}
	}
	assert.Assert(t, pods.IsStatic(owned("v1", "Node")))
	assert.Assert(t, !pods.IsStatic(owned("apps/v1", "DaemonSet")))
	assert.Assert(t, !pods.IsStatic(owned("example.com/v1", "Node")))
	assert.Assert(t, !pods.IsStatic(&v1.Pod{}))
}

func TestRequiredNode(t *testing.T) {
	name := func(key string, operator v1.NodeSelectorOperator, nodes ...string) v1.NodeSelectorTerm {
		return v1.NodeSelectorTerm{MatchFields: []v1.NodeSelectorRequirement{{Key: key, Operator: operator, Values: nodes}}}
	}
	in := func(nodes ...string) v1.NodeSelectorTerm { return name("metadata.name", v1.NodeSelectorOpIn, nodes...) }
	label := v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "zone", Operator: v1.NodeSelectorOpExists}}}
	for what, c := range map[string]struct {
		controller string
		terms      []v1.NodeSelectorTerm
		want       string
	}{
		"as the daemonset controller writes it": {"DaemonSet", []v1.NodeSelectorTerm{in("n1")}, "n1"},
		"in every term":                         {"DaemonSet", []v1.NodeSelectorTerm{in("n1"), in("n1")}, "n1"},
		"of another controller":                 {"ReplicaSet", []v1.NodeSelectorTerm{in("n1")}, ""},
		"of no controller":                      {"", []v1.NodeSelectorTerm{in("n1")}, ""},
		"two nodes":                             {"DaemonSet", []v1.NodeSelectorTerm{in("n1", "n2")}, ""},
		"a node or another":                     {"DaemonSet", []v1.NodeSelectorTerm{in("n1"), in("n2")}, ""},
		"a node or a label":                     {"DaemonSet", []v1.NodeSelectorTerm{in("n1"), label}, ""},
		"a label or a node":                     {"DaemonSet", []v1.NodeSelectorTerm{label, in("n1")}, ""},
		"any node but one":                      {"DaemonSet", []v1.NodeSelectorTerm{name("metadata.name", v1.NodeSelectorOpNotIn, "n1")}, ""},
		"another field":                         {"DaemonSet", []v1.NodeSelectorTerm{name("spec.x", v1.NodeSelectorOpIn, "n1")}, ""},
		"no terms":                              {"DaemonSet", nil, ""},
	} {
		t.Run(what, func(t *testing.T) {
			pod := &v1.Pod{Spec: v1.PodSpec{Affinity: &v1.Affinity{NodeAffinity: &v1.NodeAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: c.terms},
			}}}}
			if c.controller != "" {
				yes := true
				pod.OwnerReferences = []metav1.OwnerReference{{Kind: c.controller, Controller: &yes}}
			}
			assert.Equal(t, pods.RequiredNode(pod), c.want)
		})
	}
	plain := &v1.Pod{}
	assert.Equal(t, pods.RequiredNode(plain), "")
}

func TestOwnerPods(t *testing.T) {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "Pod", UID: "driver"}, {APIVersion: "apps/v1", Kind: "ReplicaSet", UID: "set"},
	}}}
	assert.DeepEqual(t, pods.OwnerPods(pod), []string{"driver"})
}
