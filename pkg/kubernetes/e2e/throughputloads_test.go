package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// A load is what the pods of TestThroughput are.
type load struct {
	apps int                  // deployments among which the pods are divided; 0 is bare pods
	pod  func(app string) Pod // what they ask for
	low  int                  // pods of low priority that fill each node before
	sees func(w *World) string
}

var small = Pod{CPU: "100m", Memory: "128Mi"}

// What is spread by default, by a constraint, by anti-affinity, or drawn to a zone, and what must evict one pod for each.
var loads = map[string]load{
	"bare":       {pod: func(string) Pod { return small }},
	"deployment": {apps: 1, pod: func(string) Pod { return small }},
	"zones": {apps: 1, pod: func(app string) Pod {
		return Pod{CPU: small.CPU, Memory: small.Memory, Spread: overZones(app, corev1.DoNotSchedule)}
	}},
	"apart": {apps: 10, pod: func(app string) Pod {
		return Pod{CPU: small.CPU, Memory: small.Memory, Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{awayFrom(app, corev1.LabelHostname)},
		}}}
	}},
	"preferred": {apps: 1, pod: func(string) Pod {
		return Pod{CPU: small.CPU, Memory: small.Memory, Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 100, Preference: inZone("zone-1")}},
		}}}
	}, sees: func(w *World) string {
		return fmt.Sprintf("%d of %d pods are in the zone that they prefer", w.zonesOf("load-0")["zone-1"], len(w.Pods("load-0")))
	}},
	"preemption": {
		apps: 1, low: 3, pod: func(string) Pod { return Pod{CPU: "10", Memory: "1Gi", PriorityClass: "high"} },
		sees: func(w *World) string {
			left := 0
			for _, count := range w.nodesOf("low") {
				left += count
			}
			return fmt.Sprintf("%d pods were evicted for %d", 3**throughputNodes-left, len(w.Pods("load-0")))
		},
	},
}

// inZone selects the nodes of a zone.
func inZone(zone string) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{zone}}}}
}

// app is the name of a deployment, and the first one that of bare pods.
func app(i int) string { return fmt.Sprint("load-", i) }

// prepare fills the nodes with what is to be evicted.
func (l load) prepare(w *World) {
	w.t.Helper()
	if l.low == 0 {
		return
	}
	w.CreatePriorityClass("high", 1000)
	count := l.low * *throughputNodes
	watch := watchPods(w, "low")
	createAtOnce(w, "low", 0, count, Pod{CPU: "10", Memory: "1Gi"})
	watch.await(w.t, "running", func(s *podWatch) int { return s.run }, count)
}

// create has there be so many pods of which some were created before.
func (l load) create(w *World, before, count int) {
	w.t.Helper()
	if l.apps == 0 {
		createAtOnce(w, app(0), before, count, l.pod(app(0)))
		return
	}
	for i := range l.apps {
		replicas := int32((count + l.apps - 1 - i) / l.apps)
		if before == 0 {
			w.CreateDeployment(app(i), replicas, l.pod(app(i)))
			continue
		}
		_, err := w.client.AppsV1().Deployments(namespace).Patch(w.ctx, app(i), types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas), metav1.PatchOptions{})
		w.check(err)
	}
}

// remove deletes all of them.
func (l load) remove(w *World) {
	w.t.Helper()
	if l.apps == 0 {
		w.check(w.client.CoreV1().Pods(namespace).DeleteCollection(w.ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: appLabel + "=" + app(0)}))
	}
	for i := range l.apps {
		w.DeleteDeployment(app(i))
	}
}

// look says where they are.
func (l load) look(t *testing.T, w *World) {
	t.Helper()
	least, most, apart := -1, 0, 0
	for i := range max(l.apps, 1) {
		on := w.nodesOf(app(i))
		for n := range *throughputNodes {
			if least < 0 || on[nodeName(n+1)] < least {
				least = on[nodeName(n+1)]
			}
		}
		most, apart = max(most, slices.Max(slices.Collect(maps.Values(on)))), max(apart, skew(w.zonesOf(app(i)), throughputZones))
	}
	t.Logf("spread: %d to %d pods of an application on each of %d nodes, and a skew of at most %d over zones", least, most, *throughputNodes, apart)
	if l.sees != nil {
		t.Log("seen: " + l.sees(w))
	}
}

// creators is how many clients create pods at once.
const creators = 32

// createAtOnce creates the bare pods of an application from one number to another, by several clients.
func createAtOnce(w *World, app string, from, to int, p Pod) {
	w.t.Helper()
	template := p.template(app, w.scheduler.Name())
	errs := make(chan error, creators)
	for first := range creators {
		go func() {
			for i := from + first; i < to; i += creators {
				if _, err := w.client.CoreV1().Pods(namespace).Create(w.ctx, pod(app, i, template), metav1.CreateOptions{}); err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	for range creators {
		w.check(<-errs)
	}
}

// A podWatch sees when pods of a load come, have a node, run and are gone.
type podWatch struct {
	mu      sync.Mutex
	changed chan struct{} // closed at the next change
	came    map[types.UID]time.Time
	bound   []time.Duration // how long each waited, in the order in which they came to have a node
	run     int
	gone    int
}

// watchPods sees those of applications with such names.
func watchPods(w *World, prefix string) *podWatch {
	w.t.Helper()
	s := &podWatch{changed: make(chan struct{}), came: map[types.UID]time.Time{}}
	note := func(object any, change func(*corev1.Pod)) {
		pod, ok := object.(*corev1.Pod)
		if !ok || !strings.HasPrefix(pod.Labels[appLabel], prefix) {
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		change(pod)
		close(s.changed)
		s.changed = make(chan struct{})
	}
	_, err := w.observer.factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(now any) { note(now, func(pod *corev1.Pod) { s.came[pod.UID] = time.Now() }) },
		UpdateFunc: func(before, now any) {
			if before.(*corev1.Pod).Spec.NodeName == "" && now.(*corev1.Pod).Spec.NodeName != "" {
				note(now, func(pod *corev1.Pod) { s.bound = append(s.bound, time.Since(s.came[pod.UID])) })
			}
			if !runs(before.(*corev1.Pod)) && runs(now.(*corev1.Pod)) {
				note(now, func(*corev1.Pod) { s.run++ })
			}
		},
		DeleteFunc: func(last any) { note(last, func(*corev1.Pod) { s.gone++ }) },
	})
	w.check(err)
	return s
}

// await waits until a number is reached.
func (s *podWatch) await(t testing.TB, what string, number func(*podWatch) int, wanted int) {
	t.Helper()
	timer := time.NewTimer(throughputMax)
	defer timer.Stop()
	for {
		s.mu.Lock()
		is, changed := number(s), s.changed
		s.mu.Unlock()
		if is >= wanted {
			return
		}
		select {
		case <-changed:
		case <-timer.C:
			t.Fatalf("%d of %d pods are %s after %v", is, wanted, what, throughputMax)
		}
	}
}

// waits are how long half, and 99 of 100, of those that were bound last waited at most.
func (s *podWatch) waits(last int) (half, most time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := slices.Sorted(slices.Values(s.bound[len(s.bound)-last:]))
	return of[len(of)/2], of[len(of)*99/100]
}
