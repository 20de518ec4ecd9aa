package descheduler

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/policy"
)

// random is a cluster, a policy with limits, and plugins that ask for pods in an order of
// their own, twice for some, and do not stop at limits.
func random(t *testing.T, seed uint64, shuffle bool) *world {
	r := rand.New(rand.NewPCG(seed, 1))
	w := newWorld(t)
	w.nodes = nil
	for i := range 3 + r.IntN(4) {
		w.nodes = append(w.nodes, newNode(fmt.Sprint("n", i)))
	}
	for i := range 20 + r.IntN(60) {
		w.pods = append(w.pods, newPod(fmt.Sprint("ns", r.IntN(3)), fmt.Sprint("p", i), w.nodes[r.IntN(len(w.nodes))].Name, fmt.Sprint("w", r.IntN(6))))
	}
	limit := func(most int) *int {
		if r.IntN(2) == 0 {
			return nil
		}
		n := r.IntN(most + 1)
		return &n
	}
	w.policy.Limits = policy.Limits{
		Total: limit(30), PerNode: limit(6), PerNamespace: limit(10), PerWorkload: limit(4),
		InFlight:     policy.InFlight{Total: limit(40), PerNode: limit(8), PerNamespace: limit(14), PerWorkload: limit(6)},
		WorkloadRate: policy.Rate{Max: r.IntN(5), Window: 3 * time.Minute},
		CoolDown:     policy.CoolDown{Initial: 2 * time.Minute, Max: time.Hour},
	}
	w.withRooms(10 + r.IntN(20))
	w.policy.Profiles = nil
	for i := range 1 + r.IntN(3) {
		name := fmt.Sprint("Random", i)
		p := &scripted{name: name, deschedule: randomPlugin(seed, uint64(i)), balance: randomPlugin(seed, uint64(i+10))}
		w.plugins = append(w.plugins, p)
		profile := profileOf(fmt.Sprint("p", i), []framework.Point{framework.Deschedule, framework.Balance}[r.IntN(2)], name)
		profile.Limit = map[string]int{name: r.IntN(20)}
		w.policy.Profiles = append(w.policy.Profiles, profile)
	}
	failing := seed % 3
	evict := w.plugin("Evict").evict
	w.plugin("Evict").evict = func(ctx context.Context, pod *v1.Pod, o framework.EvictOptions) error {
		if failing == 0 && len(pod.Name)%2 == 0 {
			return errors.New("not now")
		}
		return evict(ctx, pod, o)
	}
	if shuffle {
		list := w.options.Objects
		w.options.Objects = func() (framework.Objects, error) {
			o, err := list()
			o.Pods, o.Nodes = slices.Clone(o.Pods), slices.Clone(o.Nodes)
			rand.Shuffle(len(o.Pods), func(i, j int) { o.Pods[i], o.Pods[j] = o.Pods[j], o.Pods[i] })
			rand.Shuffle(len(o.Nodes), func(i, j int) { o.Nodes[i], o.Nodes[j] = o.Nodes[j], o.Nodes[i] })
			return o, err
		}
	}
	return w
}

func randomPlugin(seed, which uint64) func(context.Context, framework.Handle, []*v1.Node) error {
	r := rand.New(rand.NewPCG(seed, which+2))
	return func(ctx context.Context, h framework.Handle, _ []*v1.Node) error {
		pods := h.Snapshot().Pods()
		for range 2 * len(pods) {
			_ = h.Evictor().EvictPod(ctx, pods[r.IntN(len(pods))], framework.EvictOptions{Reason: "chance"})
		}
		return nil
	}
}

// history plays some cycles. Pods that were evicted end after a while, and are made anew.
func history(t *testing.T, w *world, seed uint64) (log []string) {
	r := rand.New(rand.NewPCG(seed, 99))
	byName := map[string]*v1.Pod{}
	for cycle := range 6 {
		for _, p := range w.pods {
			byName[p.Namespace+"/"+p.Name] = p
		}
		report, err := w.build().Cycle(t.Context())
		assert.NilError(t, err)
		for _, e := range report.Evictions {
			log = append(log, fmt.Sprint(e.Cycle, " ", e.Pod, " ", e.Profile, " ", e.Plugin, " ", e.From, " ", e.To))
		}
		checkLimits(t, w, report, byName)
		w.clock.Step(time.Minute)
		for i, p := range w.pods {
			if begun, _ := w.d.limits.state(p.UID); begun && r.IntN(2) == 0 {
				w.pods[i] = newPod(p.Namespace, fmt.Sprint(p.Name, "x", cycle), w.nodes[r.IntN(len(w.nodes))].Name,
					p.OwnerReferences[0].Name, createdAt(w.clock.Now()))
			}
		}
	}
	return log
}

// checkLimits counts again, in the simplest way.
func checkLimits(t *testing.T, w *world, report *Report, pods map[string]*v1.Pod) {
	t.Helper()
	count := map[string]int{}
	for _, e := range report.Evictions {
		workload, _ := framework.WorkloadOf(pods[e.Pod])
		for _, k := range []string{"total", "node " + e.From, "namespace " + pods[e.Pod].Namespace, "workload " + workload.String(), "plugin " + e.Plugin, "pod " + e.Pod} {
			count[k]++
		}
		assert.Assert(t, e.To != "")
	}
	of := w.policy.Limits
	for k, n := range count {
		limit := map[string]*int{"total": of.Total, "node": of.PerNode, "namespace": of.PerNamespace, "workload": of.PerWorkload}[scopeOf(k)]
		assert.Assert(t, limit == nil || n <= *limit, "%s: %d of %v", k, n, limit)
		assert.Assert(t, scopeOf(k) != "pod" || n == 1, k)
		for _, p := range w.policy.Profiles {
			if most, ok := p.Limit[k[min(len(k), len("plugin ")):]]; ok && scopeOf(k) == "plugin" {
				assert.Assert(t, n <= most, "%s: %d of %d", k, n, most)
			}
		}
	}
	for _, scope := range []struct {
		limit *int
		of    func(place) string
	}{
		{of.InFlight.Total, func(place) string { return "" }},
		{of.InFlight.PerNode, func(p place) string { return p.node }},
		{of.InFlight.PerNamespace, func(p place) string { return p.workload.Namespace }},
		{of.InFlight.PerWorkload, func(p place) string { return p.workload.String() }},
	} {
		flying := map[string]int{}
		for _, p := range w.pods {
			if begun, _ := w.d.limits.state(p.UID); begun {
				at, _ := placeOf(p)
				flying[scope.of(at)]++
			}
		}
		for k, n := range flying {
			assert.Assert(t, scope.limit == nil || n <= *scope.limit, "in flight %q: %d", k, n)
		}
	}
}

func scopeOf(k string) string {
	for i := range k {
		if k[i] == ' ' {
			return k[:i]
		}
	}
	return k
}

// TestLimitsHoldForAnyPlugins plays random histories. No limit is ever exceeded, no pod is
// evicted twice in a cycle or without a place, and the order of the input changes nothing.
func TestLimitsHoldForAnyPlugins(t *testing.T) {
	evictions := 0
	for seed := range uint64(100) {
		w := random(t, seed, false)
		log := history(t, w, seed)
		assert.DeepEqual(t, history(t, random(t, seed, true), seed), log)
		evictions += len(log)
	}
	assert.Assert(t, evictions > 2000, "%d evictions", evictions)
}

// TestHostilePlugin asks for the same pod a thousand times, for pods that are not there,
// in the names of others, and after its run; then it blocks and panics.
func TestHostilePlugin(t *testing.T) {
	three := 3
	w := newWorld(t, podsOf(20, "a", "web")...)
	w.policy.Limits.Total = &three
	ctx, cancel := context.WithCancel(t.Context())
	var kept framework.Handle
	w.plugins = append(w.plugins, &scripted{name: "Hostile", deschedule: func(ctx context.Context, h framework.Handle, nodes []*v1.Node) error {
		kept = h
		for range 1000 {
			_ = h.Evictor().EvictPod(ctx, w.pods[0], framework.EvictOptions{PluginName: "All", ProfileName: "other"})
		}
		_ = h.Evictor().EvictPod(ctx, &v1.Pod{}, framework.EvictOptions{})
		for _, p := range h.Snapshot().Pods() {
			_ = h.Evictor().EvictPod(ctx, p, framework.EvictOptions{})
		}
		cancel()
		<-ctx.Done()
		for _, p := range h.Snapshot().Pods() {
			assert.ErrorIs(t, h.Evictor().EvictPod(ctx, p, framework.EvictOptions{}), context.Canceled)
		}
		panic("and a fault")
	}})
	w.policy.Profiles[0].Plugins[framework.Deschedule] = []string{"Hostile", "All"}
	report, err := w.build().Cycle(ctx)
	assert.ErrorContains(t, err, "plugin Hostile at deschedule: panic: and a fault")
	assert.ErrorContains(t, err, "plugin All at deschedule: not run: context canceled")
	assert.DeepEqual(t, w.evicted, []string{"team/web-a-0", "team/web-a-1", "team/web-a-10"})
	assert.Equal(t, len(report.Evictions), 3)
	for _, p := range w.pods {
		_ = kept.Evictor().EvictPod(t.Context(), p, framework.EvictOptions{})
	}
	assert.Equal(t, len(w.evicted), 3) // the limits of the last cycle hold until the next
}

// TestEvictPluginThatHangs: one pod whose eviction never ends costs a minute, is told, counts for no
// limit, and keeps no other pod. The end of the cycle is not taken for that.
func TestEvictPluginThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		two := 2
		w, _ := live(t, podsOf(3, "a", "web")...)
		w.policy.Limits.Total = &two
		w.plugin("Evict").evict = func(ctx context.Context, pod *v1.Pod, _ framework.EvictOptions) error {
			if pod.Name == "web-a-0" {
				<-ctx.Done()
				return ctx.Err()
			}
			w.evicted = append(w.evicted, pod.Name)
			return nil
		}
		began := time.Now()
		report, err := w.build().Cycle(t.Context())
		assert.NilError(t, err)
		assert.Equal(t, time.Since(began), evictMax)
		assert.DeepEqual(t, w.evicted, []string{"web-a-1", "web-a-2"})
		assert.Equal(t, report.Kept[Failed], 1)
		why := w.d.Why("team", "web-a-0").Decisions
		assert.Equal(t, why[len(why)-1].Reason, "evict plugin Evict did not end in 1m0s: context deadline exceeded")

		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		w = newWorld(t, w.pods...)
		w.plugin("Evict").evict = func(ctx context.Context, _ *v1.Pod, _ framework.EvictOptions) error {
			<-ctx.Done()
			return ctx.Err()
		}
		_, _ = w.build().Cycle(ctx) // it says that it was ended
		why = w.d.Why("team", "web-a-0").Decisions
		assert.Equal(t, why[len(why)-1].Reason, "context canceled")
	})
}

// TestConcurrentEvictions is for the race detector: limits hold among goroutines too.
func TestConcurrentEvictions(t *testing.T) {
	seven := 7
	w := newWorld(t, podsOf(200, "a", "web")...)
	w.policy.Limits.Total = &seven
	evicted := make(chan string, 200)
	w.plugin("Evict").evict = func(_ context.Context, pod *v1.Pod, _ framework.EvictOptions) error {
		evicted <- pod.Name
		return nil
	}
	w.plugin("All").deschedule = func(ctx context.Context, h framework.Handle, _ []*v1.Node) error {
		done := make(chan struct{})
		for part := range 8 {
			go func() {
				defer func() { done <- struct{}{} }()
				for i := range 200 {
					pod := w.pods[(i+25*part)%200]
					h.Evictor().Filter(pod)
					_ = h.Evictor().EvictPod(ctx, pod, framework.EvictOptions{})
					w.d.Why("team", pod.Name)
				}
			}()
		}
		for range 8 {
			<-done
		}
		return nil
	}
	w.cycle()
	assert.Equal(t, len(evicted), 7)
}
