package plugins_test

import (
	"testing"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	ft "github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/frameworktest"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/selection"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/plugins/violations"
)

// selections say of two pods like each other, a/p with the label tier=front and b/p without it,
// which may go.
var selections = map[string]struct {
	of   selection.Pods
	want []string
}{
	"all":                {selection.Pods{}, []string{"a/p", "b/p"}},
	"included namespace": {selection.Pods{Namespaces: &selection.Names{Include: []string{"a"}}}, []string{"a/p"}},
	"excluded namespace": {selection.Pods{Namespaces: &selection.Names{Exclude: []string{"a"}}}, []string{"b/p"}},
	"labels":             {selection.Pods{LabelSelector: &metav1.LabelSelector{MatchLabels: ft.Labels("tier=front")}}, []string{"a/p"}},
}

// violators have, for each plugin, what makes a pod on n1 violate something; n1 has a taint, and the
// other pod of the namespace carries the label other=yes.
var violators = []struct {
	name   string
	plugin func(selection.Pods) (framework.Definition, any)
	edit   func(*v1.Pod)
}{
	{violations.NodeAffinity, func(s selection.Pods) (framework.Definition, any) {
		return violations.NodeAffinityDefinition(), &violations.NodeAffinityArgs{Pods: s, NodeAffinityType: []string{"requiredDuringSchedulingIgnoredDuringExecution"}}
	}, func(p *v1.Pod) { ft.OnNodes("disk", "ssd")(p); ft.Tolerates("unsafe")(p) }},
	{violations.NodeTaints, func(s selection.Pods) (framework.Definition, any) {
		return violations.NodeTaintsDefinition(), &violations.NodeTaintsArgs{Pods: s}
	}, func(*v1.Pod) {}},
	{violations.AntiAffinity, func(s selection.Pods) (framework.Definition, any) {
		return violations.AntiAffinityDefinition(), &violations.AntiAffinityArgs{Pods: s}
	}, func(p *v1.Pod) { ft.Apart("other=yes", v1.LabelHostname)(p); ft.Tolerates("unsafe")(p) }},
}

// TestOnlySelectedPodsGo: namespaces and labels of the arguments say which pods are looked at.
func TestOnlySelectedPodsGo(t *testing.T) {
	for _, c := range violators {
		for name, s := range selections {
			t.Run(c.name+" "+name, func(t *testing.T) {
				other := func(p *v1.Pod) { ft.Labelled("other=yes")(p); ft.Tolerates("unsafe")(p) }
				h := ft.NewHandle(t, framework.Objects{
					Nodes: nodes(noUnsafe(ft.Node("n1", "", "")), ft.Node("n2", "", "disk=ssd")),
					Pods: podList(
						ft.Pod("a/p", "n1", "cpu=100m", web, ft.Labelled("tier=front"), c.edit), ft.Pod("b/p", "n1", "cpu=100m", web, c.edit),
						ft.Pod("a/q", "n1", "cpu=100m", db, other), ft.Pod("b/q", "n1", "cpu=100m", db, other),
					),
				}, ft.Options{})
				of, args := c.plugin(s.of)
				assert.Assert(t, h.Run(t, of, args) == nil)
				assert.DeepEqual(t, h.Evicted(), s.want)
			})
		}
	}
}

// TestSpreadOfSelectedPods: a constraint counts if a selected pod has it, and only such pods go.
func TestSpreadOfSelectedPods(t *testing.T) {
	front := ft.Labelled("tier=front")
	args := &violations.TopologySpreadArgs{
		Pods:        selection.Pods{LabelSelector: &metav1.LabelSelector{MatchLabels: ft.Labels("tier=front")}},
		Constraints: []v1.UnsatisfiableConstraintAction{v1.DoNotSchedule},
	}
	for _, c := range []struct {
		name string
		pods []*v1.Pod
		want []string
	}{
		{"no pod that is selected has the constraint", join(many(2, "a/back", "n1", web, zoned), many(2, "a/front", "n1", web, front)), []string{}},
		{"all have it", join(many(2, "a/back", "n1", web, zoned), many(2, "a/front", "n1", web, zoned, front)), []string{"a/front-0 n1 -> n2", "a/front-1 n1 -> n2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.DeepEqual(t, spread(t, framework.Objects{Nodes: zones(), Pods: c.pods}, args).Moves(), c.want)
		})
	}
}

// TestSpreadOfSelectedNodes: pods on nodes that the policy does not select count, and stay.
func TestSpreadOfSelectedNodes(t *testing.T) {
	h := ft.NewHandle(t, framework.Objects{Nodes: zones(), Pods: many(4, "a/p", "n1", web, zoned)}, ft.Options{})
	plugin := h.Build(t, violations.TopologySpreadDefinition(), nil).(framework.BalancePlugin)
	assert.Assert(t, plugin.Balance(t.Context(), h.Snapshot().Nodes()[1:]) == nil)
	assert.DeepEqual(t, h.Moves(), []string{})
	assert.Assert(t, plugin.Balance(t.Context(), h.Snapshot().Nodes()[:1]) == nil)
	assert.DeepEqual(t, h.Moves(), []string{"a/p-0 n1 -> n2", "a/p-1 n1 -> n2"})
}
