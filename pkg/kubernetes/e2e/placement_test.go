package e2e

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/outoftree/example/licences"
)

// Of nine empty nodes in three zones each zone gets a third of 60 pods that must be spread over zones, within ten
// seconds. Then the nodes of one zone have so much else to do that those of the others are the emptiest: 60 pods that are
// only to be spread over zones are spread all the same, and pods that prefer to share no node have nine nodes before one of
// them has two. Of pods that may not share a zone one waits for a fourth zone.
func podsAreSpreadOverZones(w *World) {
	w.AddNodesInZones(3, 9, "32", "64Gi")
	begun := time.Now()
	w.CreateDeployment("hard", 60, Pod{CPU: "100m", Memory: "128Mi", Spread: overZones("hard", corev1.DoNotSchedule)})
	w.AwaitWithin(zonesMax, Bound("hard", 60))
	w.Step("60 pods are bound after %v", time.Since(begun).Round(time.Millisecond))
	assert.DeepEqual(w.t, w.zonesOf("hard"), map[string]int{"zone-1": 20, "zone-2": 20, "zone-3": 20})

	for i := range 3 {
		w.CreatePods(fmt.Sprint("busy-", i), 1, Pod{CPU: "4", Memory: "8Gi", Node: nodeName(1 + 3*i)})
		w.Await(Running(fmt.Sprint("busy-", i), 1))
	}
	w.CreateDeployment("soft", 60, Pod{CPU: "100m", Memory: "128Mi", Spread: overZones("soft", corev1.ScheduleAnyway)})
	w.AwaitWithin(zonesMax, Bound("soft", 60))
	w.Step("soft is spread as %v over zones", w.zonesOf("soft"))
	assert.Assert(w.t, skew(w.zonesOf("soft"), 3) <= 5, "%v", w.zonesOf("soft"))

	w.CreatePods("apart", 4, Pod{CPU: "100m", Memory: "128Mi", Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{awayFrom("apart", corev1.LabelTopologyZone)},
	}}})
	w.Await(Running("apart", 3))
	w.Await(Unschedulable("apart", 1))
	assert.Equal(w.t, len(w.zonesOf("apart")), 3)
	w.Middle()
	w.CreatePods("aside", 10, Pod{CPU: "100m", Memory: "128Mi", Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 100, PodAffinityTerm: awayFrom("aside", corev1.LabelHostname)}},
	}}})
	w.Await(Running("aside", 10))
	assert.Equal(w.t, len(w.nodesOf("aside")), 9, "%v", w.nodesOf("aside"))

	w.Await(Unschedulable("apart", 1))
	w.AddNodesInZones(4, 4, "32", "64Gi")
	w.Await(Running("apart", 4))
}

// zonesMax is how long 60 pods may take that are spread over zones.
const zonesMax = 10 * time.Second

// overZones has pods of an application differ by one between zones.
func overZones(app string, or corev1.UnsatisfiableConstraintAction) []corev1.TopologySpreadConstraint {
	return []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: or, LabelSelector: selector(app)}}
}

// awayFrom is about nodes, or zones, in which pods of an application are.
func awayFrom(app, topology string) corev1.PodAffinityTerm {
	return corev1.PodAffinityTerm{TopologyKey: topology, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{appLabel: app}}}
}

// nodesOf counts the pods of an application that have a node, by node.
func (w *World) nodesOf(app string) map[string]int {
	count := map[string]int{}
	for _, p := range w.Pods(app) {
		if p.Spec.NodeName != "" && p.DeletionTimestamp == nil {
			count[p.Spec.NodeName]++
		}
	}
	return count
}

// zonesOf counts them by the zone of their node.
func (w *World) zonesOf(app string) map[string]int {
	w.t.Helper()
	count := map[string]int{}
	for node, pods := range w.nodesOf(app) {
		of, err := w.observer.view.nodes.Get(node)
		w.check(err)
		count[of.Labels[corev1.LabelTopologyZone]] += pods
	}
	return count
}

// skew is how many more pods there are at the place with the most than at the one with the fewest, of so many places.
func skew(count map[string]int, places int) int {
	counts := slices.Collect(maps.Values(count))
	if len(counts) < places {
		counts = append(counts, 0)
	}
	return slices.Max(counts) - slices.Min(counts)
}

// Each of 20 replicas that fit no node says so within three seconds, in the way on which autoscalers act; those that only
// their quota holds back say something else. With each node that comes as many run as fit, and the others say it still. In the
// end none does.
func autoscalersAreTold(w *World) {
	w.AddNodes(1, "1", "16Gi")
	hasQueues := w.instance.REST() != ""
	if hasQueues {
		w.CreatePods("limited", 3, Pod{CPU: "100m", Memory: "1Gi", Labels: map[string]string{"applicationId": "limited", "queue": "root.small"}})
		w.Await(Running("limited", 1))
	}
	w.CreateDeployment("large", 20, Pod{CPU: "2", Memory: "1Gi"})
	w.Await(Waiting("large", 20))
	w.AwaitWithin(toldMax, Unschedulable("large", 20))
	if hasQueues {
		w.Await(waitsFor("limited", 2, "QuotaExceeded"))
		w.Await(Unschedulable("limited", 0))
	}
	w.Middle()

	w.AddNodes(1, "8", "16Gi")
	w.Await(Running("large", 4))
	w.Await(Unschedulable("large", 16))
	w.AddNodes(4, "8", "16Gi")
	w.Await(Running("large", 20))
	w.Await(Scheduled("large", 20))
	w.Await(Unschedulable("large", 0))
	if hasQueues {
		w.DeletePod(w.runningOf("limited"))
		w.Await(Running("limited", 1))
		w.Await(waitsFor("limited", 1, "QuotaExceeded"))
	}
}

// toldMax is how long 20 pods may take until they say that they fit no node.
const toldMax = 3 * time.Second

// waitsFor holds when exactly so many pods of an application say that they wait for a reason.
func waitsFor(app string, count int, reason string) Condition {
	return countIs(app, count, fmt.Sprintf("wait, and say %s", reason), func(p *corev1.Pod) bool {
		return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == reason
		})
	})
}

// Scheduled holds when exactly so many pods of an application say that they have a node.
func Scheduled(app string, count int) Condition {
	return countIs(app, count, "say that they are scheduled", func(p *corev1.Pod) bool {
		return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue
		})
	})
}

// runningOf is the first pod of an application that runs.
func (w *World) runningOf(app string) string {
	w.t.Helper()
	pods := w.Pods(app)
	i := slices.IndexFunc(pods, runs)
	assert.Assert(w.t, i >= 0, "no pod of %s runs", app)
	return pods[i].Name
}

// A plugin of the scheduling framework that is compiled in has three pods share two licences, on one node, since it prefers that.
// The third pod is told what it waits for, also by a scheduler that has started again, and runs when another one has ended.
func compiledInPluginActs(w *World) {
	w.AddNodes(3, "4", "16Gi")
	w.CreatePods("solve", 3, Pod{CPU: "100m", Memory: "128Mi", Labels: map[string]string{licences.PoolLabel: "simulator"}})
	w.CreatePods("other", 3, Pod{CPU: "100m", Memory: "128Mi"})
	w.Await(Running("other", 3))
	w.Await(Running("solve", 2))
	w.Await(Unschedulable("solve", 1))
	assert.Equal(w.t, len(w.nodesOf("solve")), 1, "%v", w.nodesOf("solve"))
	w.Middle()
	w.Await(Unschedulable("solve", 1))
	pods := w.Pods("solve")
	waits := pods[slices.IndexFunc(pods, func(p *corev1.Pod) bool { return p.Spec.NodeName == "" })]
	awaitEvent(w, waits.Name, "plugin Licences: all 2 licences of simulator are in use (3 nodes)")
	w.DeletePod(pods[slices.IndexFunc(pods, func(p *corev1.Pod) bool { return p.Spec.NodeName != "" })].Name)
	w.Await(Running("solve", 2))
}
