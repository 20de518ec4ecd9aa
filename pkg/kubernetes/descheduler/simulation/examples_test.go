package simulation

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	ft "github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/frameworktest"
)

// packed is a queue, in a partition that fills one node after the other.
const packed = `partitions:
- name: default
  nodesortpolicy: {type: binpacking}
  queues: [{name: root, queues: [{name: a}]}]
`

// alike makes pods of one workload on a node, ns0/NAME-0 and so on.
func alike(n int, name, node, requests string, edits ...func(*v1.Pod)) (list []*v1.Pod) {
	for i := range n {
		list = append(list, running(fmt.Sprintf("ns0/%s-%d", name, i), node, requests, append([]func(*v1.Pod){ft.Owned("ReplicaSet/" + name)}, edits...)...))
	}
	return list
}

func inNamespace(name string) func(*v1.Pod) { return func(p *v1.Pod) { p.Namespace = name } }

// two are nodes of ten processors.
func two(labels string) []*v1.Node {
	const size = "cpu=10 memory=10Gi pods=10"
	return []*v1.Node{ft.Node("n0", size, labels), ft.Node("n1", size, labels)}
}

// examples are the policies of the document with clusters in which they evict some pods, and
// spare others that are like them but for one thing.
var examples = []struct {
	file    string
	objects func() framework.Objects
	queues  string // of the scheduler; empty is one that has no limits
	cycles  int    // in which nothing is evicted
	want    []string
}{
	{
		file: "high-node-utilization",
		objects: func() framework.Objects {
			return framework.Objects{Nodes: two(""), Pods: slices.Concat(
				alike(1, "few", "n0", "cpu=1 memory=1Gi"), alike(1, "none", "n0", ""), alike(6, "many", "n1", "cpu=1 memory=1Gi"))}
		},
		want: []string{"HighNodeUtilization ns0/few-0 n0 n1"},
	},
	{
		file: "life-time",
		objects: func() framework.Objects {
			old, worker := ft.Aged(8*24*time.Hour), ft.Labelled("tier=worker")
			failed := func(reason string) func(*v1.Pod) {
				return func(p *v1.Pod) { p.Status.Phase, p.Status.Reason = v1.PodFailed, reason }
			}
			return framework.Objects{Nodes: two(""), Pods: slices.Concat(
				alike(1, "old", "n0", "cpu=1", old, worker, inNamespace("batch")), alike(1, "young", "n0", "cpu=1", worker, inNamespace("batch")),
				alike(1, "elsewhere", "n0", "cpu=1", old, worker), alike(1, "unlabelled", "n0", "cpu=1", old, inNamespace("batch")),
				alike(1, "failed", "n0", "cpu=1", ft.Aged(2*time.Hour), failed("OutOfcpu")), alike(1, "other", "n0", "cpu=1", ft.Aged(2*time.Hour), failed("Evicted")),
				alike(1, "late", "n0", "cpu=1", ft.Aged(time.Minute), failed("OutOfcpu")),
				alike(1, "restarts", "n0", "cpu=1", ft.Restarts(101)), alike(1, "seldom", "n0", "cpu=1", ft.Restarts(99)),
			)}
		},
		want: []string{
			"PodLifeTime batch/old-0 n0 n1", "RemoveFailedPods ns0/failed-0 n0 ", "RemovePodsHavingTooManyRestarts ns0/restarts-0 n0 n1",
		},
	},
	{
		file: "limits",
		objects: func() framework.Objects {
			return framework.Objects{Nodes: two(""), Pods: alike(6, "web", "n0", "cpu=1")}
		},
		want: []string{"RemoveDuplicates ns0/web-0 n0 n1"},
	},
	{
		file: "low-node-load",
		objects: func() framework.Objects {
			return framework.Objects{Nodes: two(""), Pods: slices.Concat(
				alike(8, "shop", "n0", "cpu=1 memory=500Mi"), alike(1, "system", "n0", "cpu=1", inNamespace("kube-system")))}
		},
		cycles: 4,
		want: []string{
			"LowNodeLoad ns0/shop-0 n0 n1",
			"LowNodeLoad ns0/shop-1 n0 n1",
		},
	},
	{
		file: "low-node-utilization",
		objects: func() framework.Objects {
			return framework.Objects{Nodes: two(""), Pods: slices.Concat(
				alike(6, "shop", "n0", "cpu=1"), alike(1, "system", "n0", "cpu=1", inNamespace("kube-system"), ft.Priority(-1)))}
		},
		want: []string{
			"LowNodeUtilization ns0/shop-0 n0 n1",
			"LowNodeUtilization ns0/shop-1 n0 n1",
		},
	},
	{
		file: "measured-utilization",
		objects: func() framework.Objects {
			return framework.Objects{Nodes: two(""), Pods: alike(6, "shop", "n0", "cpu=1")}
		},
		want: []string{
			"LowNodeUtilization ns0/shop-0 n0 n1",
			"LowNodeUtilization ns0/shop-1 n0 n1",
		},
	},
	{
		file: "prometheus-utilization",
		objects: func() framework.Objects {
			return framework.Objects{Nodes: two(""), Pods: alike(8, "shop", "n0", "cpu=1")}
		},
		want: []string{
			"LowNodeUtilization ns0/shop-0 n0 n1",
			"LowNodeUtilization ns0/shop-1 n0 n1",
		},
	},
	{
		file: "protections",
		objects: func() framework.Objects {
			old := ft.Aged(time.Hour)
			one := intstr.FromInt32(1)
			budget := &policyv1.PodDisruptionBudget{
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns0", Name: "all"},
				Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &one, Selector: &metav1.LabelSelector{}},
			}
			return framework.Objects{
				Nodes:   append(two("pool=general"), ft.Node("n2", "cpu=10 memory=10Gi pods=10", "pool=other")),
				Budgets: []*policyv1.PodDisruptionBudget{budget},
				Pods: slices.Concat(
					alike(3, "web", "n0", "cpu=500m", old), alike(3, "young", "n0", "cpu=500m", ft.Aged(time.Minute)),
					alike(3, "important", "n0", "cpu=500m", old, ft.Priority(10_000)), alike(3, "no", "n0", "cpu=500m", old, ft.Labelled("evictable=no"))),
			}
		},
		want: []string{
			"RemoveDuplicates ns0/web-0 n0 n1",
		},
	},
	{
		file: "several-profiles",
		objects: func() framework.Objects {
			nodes := append(two("pool=batch"), ft.Node("n2", "cpu=10 memory=10Gi pods=10", "pool=web"), ft.Node("n3", "cpu=10 memory=10Gi pods=10", "pool=web"))
			return framework.Objects{Nodes: nodes, Pods: slices.Concat(
				alike(1, "job", "n0", "cpu=1", ft.Aged(48*time.Hour), ft.OnNodes("pool", "batch")),
				alike(1, "old", "n2", "cpu=1", ft.Aged(48*time.Hour), ft.OnNodes("pool", "web")),
				alike(2, "web", "n2", "cpu=1", ft.OnNodes("pool", "web")))}
		},
		want: []string{
			"PodLifeTime ns0/job-0 n0 n1",
			"RemoveDuplicates ns0/web-0 n2 n3",
		},
	},
	{
		file: "violations",
		objects: func() framework.Objects {
			nodes := two("disk=a zone=x")
			ft.Taint(nodes[0], "slow", "", v1.TaintEffectPreferNoSchedule)
			ft.Taint(nodes[0], "reserved", "", v1.TaintEffectNoSchedule)
			nodes = append(nodes, ft.Node("n2", "cpu=10 memory=10Gi pods=10", "disk=b zone=y"))
			return framework.Objects{Nodes: nodes, Pods: slices.Concat(
				alike(1, "slow", "n0", "cpu=1"), alike(1, "tolerates", "n0", "cpu=1", ft.Tolerates("slow")),
				alike(1, "disk", "n1", "cpu=1", ft.OnNodes("disk", "b")),
				alike(2, "apart", "n1", "cpu=1", ft.Apart("app=apart", v1.LabelHostname)),
				alike(3, "spread", "n1", "cpu=2", ft.Spread("app=spread", "zone", 1, v1.ScheduleAnyway)))}
		},
		want: []string{
			"RemovePodsViolatingNodeAffinity ns0/disk-0 n1 n2",
			"RemovePodsViolatingNodeTaints ns0/slow-0 n0 n2",
			"RemovePodsViolatingInterPodAntiAffinity ns0/apart-0 n1 n2",
			"RemovePodsViolatingTopologySpreadConstraint ns0/spread-0 n1 n2",
		},
	},
}

// TestExamplesAct: the policies of the document do what their comments say.
func TestExamplesAct(t *testing.T) {
	for _, e := range examples {
		t.Run(e.file, func(t *testing.T) {
			text, err := os.ReadFile("../../../../docs/examples/descheduler/" + e.file + ".yaml")
			assert.NilError(t, err)
			w := newWorld(t, e.objects(), cmp.Or(e.queues, unlimited), load(t, string(text)))
			w.allow()
			for range e.cycles {
				report, _ := w.cycle(w.d)
				assert.Equal(t, len(report.Evictions), 0)
				w.clock.Step(time.Minute)
			}
			report, _ := w.cycle(w.d)
			assert.DeepEqual(t, movesOf(report), e.want)
		})
	}
}

// TestOrderOfNodes: whether nodes are emptied depends on which nodes the scheduler prefers. The policy says
// that, or else the queues of our scheduler do, and the plugin warns where it is of no use.
func TestOrderOfNodes(t *testing.T) {
	text, err := os.ReadFile("../../../../docs/examples/descheduler/high-node-utilization.yaml")
	assert.NilError(t, err)
	without := strings.ReplaceAll(string(text), "nodeOrder: MostAllocated\n", "")
	for _, c := range []struct {
		name, policy, queues, scheduler string
		evictions, warnings             int
	}{
		{"by the policy", string(text), unlimited, schedulerName, 1, 0},
		{"by the queues", without, packed, schedulerName, 1, 0},
		{"ours fills empty nodes", without, unlimited, schedulerName, 0, 1},
		{"another one fills empty nodes", without, unlimited, "default-scheduler", 1, 1},
		{"against the queues", strings.ReplaceAll(string(text), "MostAllocated", "LeastAllocated"), packed, schedulerName, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := framework.Objects{Nodes: two(""), Pods: append(alike(1, "few", "n0", "cpu=1 memory=1Gi"), alike(6, "many", "n1", "cpu=1 memory=1Gi")...)}
			for _, p := range o.Pods {
				ours("few", "a")(p)
				p.Spec.SchedulerName = c.scheduler
			}
			w := newWorld(t, o, c.queues, load(t, c.policy))
			report, _ := w.cycle(w.d)
			assert.Equal(t, len(report.Evictions), c.evictions, "%v", report.Reasons)
			assert.Equal(t, len(report.Warnings), c.warnings)
		})
	}
}
