package simulation

import (
	"fmt"
	"math/big"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	resourcehelper "k8s.io/component-helpers/resource"
	corev1 "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

// moving are the plugins that evict a pod only to have it run elsewhere.
var moving = []string{
	"RemoveDuplicates", "LowNodeUtilization", "HighNodeUtilization", "LowNodeLoad",
	"RemovePodsViolatingTopologySpreadConstraint", "RemovePodsViolatingNodeTaints",
	"RemovePodsViolatingNodeAffinity", "RemovePodsViolatingInterPodAntiAffinity",
}

// returns says whether a pod that is evicted is made anew.
func returns(p *v1.Pod) bool {
	_, owned := framework.WorkloadOf(p)
	return owned && p.Status.Phase == v1.PodRunning
}

// broken returns what is wrong with the evictions of a cycle, written in the plainest way and
// without the code that decided. Before is the cluster as the cycle found it, after is it
// when all replacements run.
func (w *world) broken(r *descheduler.Report, before, after framework.Objects) (wrong []string) {
	for _, check := range []func(*descheduler.Report, framework.Objects, framework.Objects) []string{
		places, protections, w.limits, budgets, gangs, w.guarantees,
	} {
		wrong = append(wrong, check(r, before, after)...)
	}
	return wrong
}

func byUID(pods []*v1.Pod) map[types.UID]*v1.Pod {
	m := make(map[types.UID]*v1.Pod, len(pods))
	for _, p := range pods {
		m[p.UID] = p
	}
	return m
}

// places: each pod that is made anew has a node, which takes it, and no node gets more than
// it has.
func places(r *descheduler.Report, before, after framework.Objects) (wrong []string) {
	old, nodes := byUID(before.Pods), map[string]*v1.Node{}
	for _, n := range before.Nodes {
		nodes[n.Name] = n
	}
	for _, e := range r.Evictions {
		p, to := old[e.UID], nodes[e.To]
		switch {
		case p == nil:
			wrong = append(wrong, fmt.Sprintf("%s is no pod of the cluster", e.Pod))
		case !returns(p):
		case to == nil:
			wrong = append(wrong, fmt.Sprintf("%s has no place", e.Pod))
		case slices.Contains(moving, e.Plugin) && e.To == e.From:
			wrong = append(wrong, fmt.Sprintf("%s comes back to %s, and %s moves pods", e.Pod, e.To, e.Plugin))
		default:
			wrong = append(wrong, refuses(to, p)...)
		}
	}
	fresh := byUID(before.Pods)
	for _, n := range after.Nodes {
		wrong = append(wrong, overfull(n, after.Pods)...)
		for _, p := range after.Pods {
			if p.Spec.NodeName == n.Name && fresh[p.UID] == nil {
				wrong = append(wrong, meets(n, p, after)...)
			}
		}
	}
	return wrong
}

// refuses says why a node does not take a pod by its labels and taints.
func refuses(n *v1.Node, p *v1.Pod) (wrong []string) {
	if n.Spec.Unschedulable {
		wrong = append(wrong, fmt.Sprintf("%s/%s goes to %s, which is cordoned", p.Namespace, p.Name, n.Name))
	}
	if taint, there := corev1.FindMatchingUntoleratedTaint(klog.Background(), n.Spec.Taints, p.Spec.Tolerations, func(t *v1.Taint) bool {
		return t.Effect != v1.TaintEffectPreferNoSchedule
	}, false); there {
		wrong = append(wrong, fmt.Sprintf("%s/%s goes to %s and does not tolerate %s", p.Namespace, p.Name, n.Name, taint.Key))
	}
	if a := p.Spec.Affinity; a != nil && a.NodeAffinity != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		for _, e := range a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchExpressions {
			if n.Labels[e.Key] != e.Values[0] {
				wrong = append(wrong, fmt.Sprintf("%s/%s goes to %s, and wants %s=%s", p.Namespace, p.Name, n.Name, e.Key, e.Values[0]))
			}
		}
	}
	return wrong
}

// overfull says of which kinds the pods of a node request more than it has.
func overfull(n *v1.Node, pods []*v1.Pod) (wrong []string) {
	sums := map[v1.ResourceName]*big.Int{v1.ResourcePods: new(big.Int)}
	for _, p := range pods {
		if p.Spec.NodeName != n.Name || p.Status.Phase != v1.PodRunning {
			continue
		}
		sums[v1.ResourcePods].Add(sums[v1.ResourcePods], big.NewInt(1000))
		for name, q := range resourcehelper.PodRequests(p, resourcehelper.PodResourcesOptions{}) {
			if sums[name] == nil {
				sums[name] = new(big.Int)
			}
			sums[name].Add(sums[name], big.NewInt(q.MilliValue()))
		}
	}
	for name, sum := range sums {
		has := n.Status.Allocatable[name]
		if sum.Cmp(big.NewInt(has.MilliValue())) > 0 {
			wrong = append(wrong, fmt.Sprintf("node %s gets %s of %s and has %s", n.Name, sum, name, has.String()))
		}
	}
	return wrong
}

// meets says which pods a new pod meets although one of the two does not want that.
func meets(n *v1.Node, p *v1.Pod, o framework.Objects) (wrong []string) {
	domain := map[string]map[string]string{}
	for _, node := range o.Nodes {
		domain[node.Name] = node.Labels
	}
	for _, other := range o.Pods {
		if other.UID == p.UID || other.Status.Phase != v1.PodRunning || domain[other.Spec.NodeName] == nil {
			continue
		}
		for _, pair := range [][2]*v1.Pod{{p, other}, {other, p}} {
			for _, term := range apartTerms(pair[0]) {
				s, err := metav1.LabelSelectorAsSelector(term.LabelSelector)
				here, there := domain[n.Name][term.TopologyKey], domain[other.Spec.NodeName][term.TopologyKey]
				if err == nil && pair[0].Namespace == pair[1].Namespace && here == there && s.Matches(labels.Set(pair[1].Labels)) {
					wrong = append(wrong, fmt.Sprintf("%s/%s on %s meets %s", p.Namespace, p.Name, n.Name, other.Name))
				}
			}
		}
	}
	return wrong
}

func apartTerms(p *v1.Pod) []v1.PodAffinityTerm {
	if a := p.Spec.Affinity; a != nil && a.PodAntiAffinity != nil {
		return a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	return nil
}

// protections: nothing goes that the default evictor protects in each of these policies.
func protections(r *descheduler.Report, before, _ framework.Objects) (wrong []string) {
	pods := byUID(before.Pods)
	for _, e := range r.Evictions {
		p := pods[e.UID]
		switch {
		case p == nil:
		case p.DeletionTimestamp != nil:
			wrong = append(wrong, e.Pod+" is ending already")
		case len(p.OwnerReferences) == 0:
			wrong = append(wrong, e.Pod+" has no owner")
		case p.OwnerReferences[0].Kind == "DaemonSet":
			wrong = append(wrong, e.Pod+" is of a DaemonSet")
		case p.Spec.Priority != nil && *p.Spec.Priority >= 2_000_000_000:
			wrong = append(wrong, e.Pod+" is critical for the system")
		case len(p.Spec.Volumes) > 0:
			wrong = append(wrong, e.Pod+" has local storage")
		}
	}
	return wrong
}

// limits: no limit of a cycle is exceeded, and no pod is evicted twice.
func (w *world) limits(r *descheduler.Report, before, _ framework.Objects) (wrong []string) {
	pods, counts := byUID(before.Pods), map[string]map[string]int{"node": {}, "namespace": {}, "workload": {}, "total": {}, "pod": {}}
	for _, e := range r.Evictions {
		p := pods[e.UID]
		counts["node"][e.From]++
		counts["namespace"][p.Namespace]++
		counts["total"][""]++
		counts["pod"][string(e.UID)]++
		if of, ok := framework.WorkloadOf(p); ok {
			counts["workload"][of.String()]++
		}
	}
	of, one := w.policy.Limits, 1
	for scope, most := range map[string]*int{
		"node": of.PerNode, "namespace": of.PerNamespace, "workload": of.PerWorkload, "total": of.Total, "pod": &one,
	} {
		for name, n := range counts[scope] {
			if most != nil && n > *most {
				wrong = append(wrong, fmt.Sprintf("%d evictions of %s %s, and %d are the most", n, scope, name, *most))
			}
		}
	}
	return wrong
}

// budgets: no more pods of a budget go than it allows.
func budgets(r *descheduler.Report, before, _ framework.Objects) (wrong []string) {
	pods := byUID(before.Pods)
	for _, b := range before.Budgets {
		n := 0
		for _, e := range r.Evictions {
			if p := pods[e.UID]; p.Namespace == b.Namespace && p.Labels["app"] == b.Name && p.Status.Phase == v1.PodRunning {
				n++
			}
		}
		if n > int(b.Spec.MaxUnavailable.IntVal) {
			wrong = append(wrong, fmt.Sprintf("%d pods of budget %s go", n, b.Name))
		}
	}
	return wrong
}
