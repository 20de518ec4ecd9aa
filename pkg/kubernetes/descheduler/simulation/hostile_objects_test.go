package simulation

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	ft "github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/frameworktest"
)

// hostilePods are pods of which each has something that no user means.
func hostilePods(node string) []*v1.Pod {
	var pods []*v1.Pod
	add := func(what string, edit func(p *v1.Pod)) {
		pods = append(pods, ft.Pod("team/"+node+"-"+what, node, "cpu=10m", ft.Aged(2*time.Hour), ft.Owned("ReplicaSet/"+what), ft.Labelled("app=app1"), edit))
	}
	for i, value := range []string{"", "NaN", "1e400", "99999999999999999999", "-99999999999999999999", "\x00\xff", strings.Repeat("é", 10_000), "true", "{}"} {
		add(fmt.Sprint("noted-", i), func(p *v1.Pod) {
			for _, key := range []string{
				"descheduler.alpha.kubernetes.io/evict", "descheduler.alpha.kubernetes.io/prefer-no-eviction", "descheduler.alpha.kubernetes.io/request-evict-only",
				"descheduler.alpha.kubernetes.io/eviction-in-progress", "controller.kubernetes.io/pod-deletion-cost", "scheduling.koordinator.sh/eviction-cost",
				"descheduler.narwhal-scheduler.io/eviction-cost", "descheduler.narwhal-scheduler.io/soft-eviction", "descheduler.narwhal-scheduler.io/reserved-for",
				"yunikorn.apache.org/task-groups", "yunikorn.apache.org/user.info",
			} {
				p.Annotations[key] = value
			}
			p.Labels["koordinator.sh/priority-class"], p.Labels["descheduler.narwhal-scheduler.io/evict-policy"] = value, value
		})
	}
	add(strings.Repeat("x", 200), func(p *v1.Pod) { p.Name = strings.Repeat("y", 253) + node })
	add("owns-itself", func(p *v1.Pod) {
		p.OwnerReferences[0].Kind, p.OwnerReferences[0].Name, p.OwnerReferences[0].UID = "Pod", p.Name, p.UID
	})
	add("many-owners", func(p *v1.Pod) {
		for i := range 1000 {
			p.OwnerReferences = append(p.OwnerReferences, metav1.OwnerReference{Kind: "Gone", Name: fmt.Sprint(i), Controller: new(true)})
		}
	})
	add("an-owner-without-a-name", func(p *v1.Pod) { p.OwnerReferences = []metav1.OwnerReference{{}} })
	for _, priority := range []int32{math.MinInt32, math.MaxInt32} {
		add(fmt.Sprint("priority", priority), func(p *v1.Pod) { p.Spec.Priority, p.Labels["app"] = new(priority), "app3" })
	}
	for _, skew := range []int32{math.MinInt32, -1, math.MaxInt32} {
		for _, key := range []string{"", "no/such", v1.LabelHostname} {
			add(fmt.Sprint("skew", skew, len(key)), func(p *v1.Pod) {
				ft.Spread("app=app1", key, skew, v1.DoNotSchedule)(p)
				p.Spec.TopologySpreadConstraints[0].MinDomains = new(skew)
			})
		}
	}
	add("a-selector-that-is-none", func(p *v1.Pod) {
		ft.Spread("app=app1", v1.LabelHostname, 1, v1.DoNotSchedule)(p)
		p.Spec.TopologySpreadConstraints[0].LabelSelector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "??", Operator: "Of"}}
	})
	add("times", func(p *v1.Pod) {
		p.CreationTimestamp = metav1.Time{Time: time.Unix(1<<40, 0)}
		p.Status.StartTime = &p.CreationTimestamp
		p.Status.ContainerStatuses = []v1.ContainerStatus{{RestartCount: math.MinInt32, Name: "none"}, {RestartCount: math.MaxInt32}, {RestartCount: math.MaxInt32}}
	})
	add("tolerations", func(p *v1.Pod) {
		for i := range 1000 {
			p.Spec.Tolerations = append(p.Spec.Tolerations, v1.Toleration{Key: fmt.Sprint(i), Operator: "Lt", Value: "9e999", TolerationSeconds: new(int64(math.MinInt64))})
		}
	})
	return pods
}

// hostile is a cluster of such pods, with nodes and budgets of the same kind.
func hostile() framework.Objects {
	o := framework.Objects{Nodes: []*v1.Node{ft.Node("n1", "", ""), ft.Node("n2", "", ""), ft.Node("n3", "", ""), ft.Node("n4", "", "")}}
	for i := range 5000 {
		o.Nodes[2].Spec.Taints = append(o.Nodes[2].Spec.Taints, v1.Taint{Key: fmt.Sprint("k", i), Value: "\x00", Effect: v1.TaintEffect([]string{"Absurd", "PreferNoSchedule", ""}[i%3])})
	}
	o.Nodes[3].Labels[v1.LabelHostname] = "n1" // as another one has it
	for _, node := range []string{"n1", "n3", "n4"} {
		o.Pods = append(o.Pods, hostilePods(node)...)
	}
	for i, amount := range []intstr.IntOrString{intstr.FromString("-1%"), intstr.FromString("1000000000%"), intstr.FromString("NaN"), intstr.FromInt32(math.MinInt32), intstr.FromInt32(math.MaxInt32)} {
		o.Budgets = append(o.Budgets, &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: fmt.Sprint("b", i), UID: types.UID(fmt.Sprint(i))},
			Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &amount, MaxUnavailable: &amount, Selector: &metav1.LabelSelector{MatchLabels: ft.Labels("app=app3")}},
			Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: math.MinInt32, CurrentHealthy: math.MaxInt32, DesiredHealthy: math.MinInt32},
		})
	}
	return o
}

// TestHostileObjects: no plugin fails on what users may write, and a workload beside that is looked at.
func TestHostileObjects(t *testing.T) {
	o := hostile()
	o.Pods = append(o.Pods, ft.Pod("other/old", "n1", "cpu=10m", ft.Aged(2*time.Hour), ft.Owned("ReplicaSet/other"), ft.Labelled("app=app2")))
	w := newWorld(t, o, fixedQueues, load(t, everyPlugin("")))
	for range 2 {
		report, _ := w.cycle(w.d)
		assert.Equal(t, len(report.Failures), 0, "%v", report.Failures)
		assert.Equal(t, report.Cycle == 1, slices.ContainsFunc(report.Evictions, func(e descheduler.Eviction) bool { return e.Pod == "other/old" }))
		w.settle(report)
	}
}
