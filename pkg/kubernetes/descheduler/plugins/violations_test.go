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

var (
	web      = ft.Owned("ReplicaSet/web")
	db       = ft.Owned("ReplicaSet/db")
	isWeb    = ft.Labelled("app=web")
	noUnsafe = func(n *v1.Node) *v1.Node { return ft.Taint(n, "unsafe", "yes", v1.TaintEffectNoSchedule) }
	perhaps  = func(n *v1.Node) *v1.Node { return ft.Taint(n, "slow", "", v1.TaintEffectPreferNoSchedule) }
)

func affinityArgs(kinds ...string) *violations.NodeAffinityArgs {
	return &violations.NodeAffinityArgs{NodeAffinityType: kinds}
}

func nodes(n ...*v1.Node) []*v1.Node { return n }
func podList(p ...*v1.Pod) []*v1.Pod { return p }

// cases of plugins that look at pods one by one: the moves that they make.
var cases = []struct {
	name  string
	of    framework.Definition
	args  any
	nodes []*v1.Node
	pods  []*v1.Pod
	want  []string
}{
	{
		"the node lost its label", violations.NodeAffinityDefinition(), affinityArgs("requiredDuringSchedulingIgnoredDuringExecution"),
		nodes(ft.Node("n1", "", ""), ft.Node("n2", "", "disk=ssd")),
		podList(ft.Pod("a/p", "n1", "cpu=1", web, ft.OnNodes("disk", "ssd"))),
		[]string{"a/p n1 -> n2"},
	},
	{
		"no node has the label", violations.NodeAffinityDefinition(), affinityArgs("requiredDuringSchedulingIgnoredDuringExecution"),
		nodes(ft.Node("n1", "", ""), ft.Node("n2", "", "")),
		podList(ft.Pod("a/p", "n1", "cpu=1", web, ft.OnNodes("disk", "ssd"))), nil,
	},
	{
		"the only node with the label is full", violations.NodeAffinityDefinition(), affinityArgs("requiredDuringSchedulingIgnoredDuringExecution"),
		nodes(ft.Node("n1", "", ""), ft.Node("n2", "cpu=1", "disk=ssd")),
		podList(ft.Pod("a/p", "n1", "cpu=1", web, ft.OnNodes("disk", "ssd")), ft.Pod("a/q", "n2", "cpu=1", db)), nil,
	},
	{
		"the kind is not looked at", violations.NodeAffinityDefinition(), affinityArgs("preferredDuringSchedulingIgnoredDuringExecution"),
		nodes(ft.Node("n1", "", ""), ft.Node("n2", "", "disk=ssd")),
		podList(ft.Pod("a/p", "n1", "cpu=1", web, ft.OnNodes("disk", "ssd"))), nil,
	},
	{
		"a better node", violations.NodeAffinityDefinition(), affinityArgs("preferredDuringSchedulingIgnoredDuringExecution"),
		nodes(ft.Node("n1", "", "disk=hdd"), ft.Node("n2", "", "disk=ssd")),
		podList(ft.Pod("a/p", "n1", "cpu=1", web, ft.Prefers("disk", "ssd", 5), ft.Prefers("disk", "hdd", 4))),
		[]string{"a/p n1 -> n2"},
	},
	{
		"no better node", violations.NodeAffinityDefinition(), affinityArgs("preferredDuringSchedulingIgnoredDuringExecution"),
		nodes(ft.Node("n1", "", "disk=hdd"), ft.Node("n2", "", "disk=ssd")),
		podList(ft.Pod("a/p", "n1", "cpu=1", web, ft.Prefers("disk", "ssd", 5), ft.Prefers("disk", "hdd", 5))), nil,
	},
	{
		"the better node is full", violations.NodeAffinityDefinition(), affinityArgs("preferredDuringSchedulingIgnoredDuringExecution"),
		nodes(ft.Node("n1", "", ""), ft.Node("n2", "cpu=1", "disk=ssd"), ft.Node("n3", "", "")),
		podList(ft.Pod("a/p", "n1", "cpu=1", web, ft.Prefers("disk", "ssd", 5)), ft.Pod("a/q", "n2", "cpu=1", db)), nil,
	},
	{
		"two want the room of one", violations.NodeAffinityDefinition(), affinityArgs("preferredDuringSchedulingIgnoredDuringExecution"),
		nodes(ft.Node("n1", "", ""), ft.Node("n2", "cpu=1", "disk=ssd")),
		podList(
			ft.Pod("a/p", "n1", "cpu=1", web, ft.Prefers("disk", "ssd", 5), ft.Priority(2)),
			ft.Pod("a/q", "n1", "cpu=1", db, ft.Prefers("disk", "ssd", 5), ft.Priority(1)),
		),
		[]string{"a/q n1 -> n2"},
	},
	{
		"other labels are not selected", violations.NodeAffinityDefinition(),
		&violations.NodeAffinityArgs{NodeAffinityType: []string{"requiredDuringSchedulingIgnoredDuringExecution"}, Pods: selection.Pods{LabelSelector: &metav1.LabelSelector{MatchLabels: ft.Labels("x=y")}}},
		nodes(ft.Node("n1", "", ""), ft.Node("n2", "", "disk=ssd")),
		podList(ft.Pod("a/p", "n1", "cpu=1", web, ft.OnNodes("disk", "ssd"))), nil,
	},

	{
		"a taint", violations.NodeTaintsDefinition(), nil,
		nodes(noUnsafe(ft.Node("n1", "", "")), ft.Node("n2", "", "")),
		podList(ft.Pod("a/p", "n1", "cpu=1", web), ft.Pod("a/q", "n1", "cpu=1", db, ft.Tolerates("unsafe"))),
		[]string{"a/p n1 -> n2"},
	},
	{
		"a taint everywhere", violations.NodeTaintsDefinition(), nil,
		nodes(noUnsafe(ft.Node("n1", "", "")), noUnsafe(ft.Node("n2", "", ""))),
		podList(ft.Pod("a/p", "n1", "cpu=1", web)), nil,
	},
	{
		"a taint of the taint manager", violations.NodeTaintsDefinition(), nil,
		nodes(ft.Taint(ft.Node("n1", "", ""), "gone", "", v1.TaintEffectNoExecute), ft.Node("n2", "", "")),
		podList(ft.Pod("a/p", "n1", "cpu=1", web)), nil,
	},
	{
		"a preference is not looked at", violations.NodeTaintsDefinition(), nil,
		nodes(perhaps(ft.Node("n1", "", "")), ft.Node("n2", "", "")),
		podList(ft.Pod("a/p", "n1", "cpu=1", web)), nil,
	},
	{
		"a preference", violations.NodeTaintsDefinition(), &violations.NodeTaintsArgs{IncludePreferNoSchedule: true},
		nodes(perhaps(ft.Node("n1", "", "")), ft.Node("n2", "", "")),
		podList(ft.Pod("a/p", "n1", "cpu=1", web)),
		[]string{"a/p n1 -> n2"},
	},
	{
		"a preference that the other node has, too", violations.NodeTaintsDefinition(), &violations.NodeTaintsArgs{IncludePreferNoSchedule: true},
		nodes(perhaps(ft.Node("n1", "", "")), perhaps(ft.Node("n2", "", ""))),
		podList(ft.Pod("a/p", "n1", "cpu=1", web)), nil,
	},
	{
		"a preference that the emptier node has, too", violations.NodeTaintsDefinition(), &violations.NodeTaintsArgs{IncludePreferNoSchedule: true},
		nodes(perhaps(ft.Node("n1", "", "")), perhaps(ft.Node("n2", "", ""))),
		podList(ft.Pod("a/p", "n1", "cpu=1", web), ft.Pod("a/q", "n1", "cpu=1", db, ft.Tolerates("slow"))), nil,
	},
	{
		"excluded by key", violations.NodeTaintsDefinition(), &violations.NodeTaintsArgs{ExcludedTaints: []string{"unsafe"}},
		nodes(noUnsafe(ft.Node("n1", "", "")), ft.Node("n2", "", "")), podList(ft.Pod("a/p", "n1", "cpu=1", web)), nil,
	},
	{
		"excluded by key and value", violations.NodeTaintsDefinition(), &violations.NodeTaintsArgs{ExcludedTaints: []string{"unsafe=yes"}},
		nodes(noUnsafe(ft.Node("n1", "", "")), ft.Node("n2", "", "")), podList(ft.Pod("a/p", "n1", "cpu=1", web)), nil,
	},
	{
		"excluded with another value", violations.NodeTaintsDefinition(), &violations.NodeTaintsArgs{ExcludedTaints: []string{"unsafe=no"}},
		nodes(noUnsafe(ft.Node("n1", "", "")), ft.Node("n2", "", "")),
		podList(ft.Pod("a/p", "n1", "cpu=1", web)),
		[]string{"a/p n1 -> n2"},
	},
	{
		"not included", violations.NodeTaintsDefinition(), &violations.NodeTaintsArgs{IncludedTaints: []string{"other"}},
		nodes(noUnsafe(ft.Node("n1", "", "")), ft.Node("n2", "", "")), podList(ft.Pod("a/p", "n1", "cpu=1", web)), nil,
	},
	{
		"included", violations.NodeTaintsDefinition(), &violations.NodeTaintsArgs{IncludedTaints: []string{"unsafe=yes"}},
		nodes(noUnsafe(ft.Node("n1", "", "")), ft.Node("n2", "", "")),
		podList(ft.Pod("a/p", "n1", "cpu=1", web)),
		[]string{"a/p n1 -> n2"},
	},

	{
		"the node that it prefers is full, and another one is no better", violations.NodeAffinityDefinition(), affinityArgs("preferredDuringSchedulingIgnoredDuringExecution"),
		nodes(ft.Node("n1", "", ""), ft.Node("n2", "", ""), ft.Node("n3", "cpu=500m", "disk=a")),
		podList(ft.Pod("a/p", "n1", "cpu=1", web, ft.Prefers("disk", "a", 5)), ft.Pod("a/q", "n1", "cpu=1", db)), nil,
	},

	{
		"its node matches, and an emptier one does too", violations.NodeAffinityDefinition(), affinityArgs("requiredDuringSchedulingIgnoredDuringExecution"),
		nodes(ft.Node("n1", "", "disk=a"), ft.Node("n2", "", "disk=a")),
		podList(ft.Pod("a/p", "n1", "cpu=1", web, ft.OnNodes("disk", "a")), ft.Pod("a/q", "n1", "cpu=1", db)), nil,
	},

	{
		"against each other: the less important goes", violations.AntiAffinityDefinition(), nil,
		nodes(ft.Node("n1", "", ""), ft.Node("n2", "", "")),
		podList(
			ft.Pod("a/p", "n1", "cpu=1", web, isWeb, ft.Apart("app=web", v1.LabelHostname), ft.Priority(2)),
			ft.Pod("a/q", "n1", "cpu=1", web, isWeb, ft.Apart("app=web", v1.LabelHostname), ft.Priority(1)),
		),
		[]string{"a/q n1 -> n2"},
	},
	{
		"on two nodes of one zone: the less important goes", violations.AntiAffinityDefinition(), nil,
		nodes(ft.Node("n1", "", "zone=a"), ft.Node("n2", "", "zone=a"), ft.Node("n3", "", "zone=b")),
		podList(
			ft.Pod("a/p", "n1", "cpu=1", web, isWeb, ft.Apart("app=web", "zone"), ft.Priority(2)),
			ft.Pod("a/q", "n2", "cpu=1", web, isWeb, ft.Apart("app=web", "zone"), ft.Priority(1)),
		),
		[]string{"a/q n2 -> n3"},
	},
	{
		"only its own terms count", violations.AntiAffinityDefinition(), nil,
		nodes(ft.Node("n1", "", ""), ft.Node("n2", "", "")),
		podList(
			ft.Pod("a/p", "n1", "cpu=1", db, ft.Apart("app=web", v1.LabelHostname), ft.Priority(9)),
			ft.Pod("a/q", "n1", "cpu=1", web, isWeb),
		),
		[]string{"a/p n1 -> n2"},
	},
	{
		"another namespace", violations.AntiAffinityDefinition(), nil,
		nodes(ft.Node("n1", "", ""), ft.Node("n2", "", "")),
		podList(
			ft.Pod("a/p", "n1", "cpu=1", db, ft.Apart("app=web", v1.LabelHostname)),
			ft.Pod("b/q", "n1", "cpu=1", web, isWeb),
		), nil,
	},
	{
		"the other one ends by itself", violations.AntiAffinityDefinition(), nil,
		nodes(ft.Node("n1", "", ""), ft.Node("n2", "", "")),
		podList(
			ft.Pod("a/p", "n1", "cpu=1", db, ft.Apart("app=web", v1.LabelHostname)),
			ft.Pod("a/q", "n1", "cpu=1", web, isWeb, func(p *v1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: ft.Now} }),
		), nil,
	},
	{
		"no other place", violations.AntiAffinityDefinition(), nil,
		nodes(ft.Node("n1", "", "zone=a"), ft.Node("n2", "", "zone=a")),
		podList(
			ft.Pod("a/p", "n1", "cpu=1", web, isWeb, ft.Apart("app=web", "zone")),
			ft.Pod("a/q", "n2", "cpu=1", web, isWeb, ft.Apart("app=web", "zone")),
		), nil,
	},
}

func TestMoves(t *testing.T) {
	for _, c := range cases {
		t.Run(c.of.Name+" "+c.name, func(t *testing.T) {
			if c.want == nil {
				c.want = []string{}
			}
			h := ft.NewHandle(t, framework.Objects{Nodes: c.nodes, Pods: c.pods}, ft.Options{})
			assert.Assert(t, h.Run(t, c.of, c.args) == nil)
			assert.DeepEqual(t, h.Moves(), c.want)
			h.Step(t, 0, h.Replaced())
			h.Run(t, c.of, c.args)
			assert.DeepEqual(t, h.Moves(), []string{})
		})
	}
}

func TestViolationsNameAllMistakes(t *testing.T) {
	for _, m := range []mistake{
		{violations.NodeAffinityDefinition(), &violations.NodeAffinityArgs{Pods: unselectable}, []string{"namespaces:", "labelSelector:", "nodeAffinityType must be set"}},
		{violations.NodeAffinityDefinition(), affinityArgs("requiredDuring"), []string{`"requiredDuring"`}},
		{violations.NodeTaintsDefinition(), &violations.NodeTaintsArgs{Pods: unselectable, IncludedTaints: []string{"a"}, ExcludedTaints: []string{"b"}}, []string{"namespaces:", "labelSelector:", "includedTaints"}},
		{violations.NodeTaintsDefinition(), &violations.NodeTaintsArgs{IncludedTaints: []string{"a", "", "a=b=c", "a b", "a=b c", "=x", "a=b:NoSchedule"}}, []string{
			"includedTaints[1]: must not be empty; write KEY or KEY=VALUE",
			`includedTaints[2]: must be KEY or KEY=VALUE, not "a=b=c", which has more than one =`,
			`includedTaints[3]: must begin with the key of a taint such as dedicated or example.org/dedicated, not "a b"`,
			`includedTaints[4]: must end with the value of a taint such as gpu, not "b c"`,
			`includedTaints[5]: must begin with the key of a taint`,
			`includedTaints[6]: must be KEY or KEY=VALUE without an effect, not "a=b:NoSchedule"`,
		}},
		{violations.NodeTaintsDefinition(), &violations.NodeTaintsArgs{ExcludedTaints: []string{""}}, []string{"excludedTaints[0]: must not be empty"}},
		{violations.AntiAffinityDefinition(), &violations.AntiAffinityArgs{Pods: unselectable}, []string{"namespaces:", "labelSelector:"}},
		{violations.TopologySpreadDefinition(), &violations.TopologySpreadArgs{Pods: unselectable, Constraints: []v1.UnsatisfiableConstraintAction{"Never"}}, []string{"namespaces:", "labelSelector:", `"Never"`}},
		{violations.NodeAffinityDefinition(), 1, []string{"int"}},
		{violations.NodeTaintsDefinition(), 1, []string{"int"}},
		{violations.AntiAffinityDefinition(), 1, []string{"int"}},
		{violations.TopologySpreadDefinition(), 1, []string{"int"}},
	} {
		m.isNamed(t)
	}
}
