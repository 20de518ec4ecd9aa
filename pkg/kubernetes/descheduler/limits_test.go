package descheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/policy"
)

// TestLimitsOfACycle is D-EV-1: of eight pods, two
// for each of two nodes, namespaces and workloads, as many go as one limit lets.
func TestLimitsOfACycle(t *testing.T) {
	two := 2
	var pods []*v1.Pod
	for i, c := range []string{"a/x/s", "a/x/t", "a/y/s", "a/y/t", "b/x/s", "b/x/t", "b/y/s", "b/y/t"} {
		of := strings.Split(c, "/")
		pods = append(pods, newPod(of[1], fmt.Sprint("p", i), of[0], of[2]))
	}
	one := 1
	for _, c := range []struct {
		name  string
		set   func(*policy.Policy)
		want  []string
		limit framework.LimitError // of the last pod
		text  string
	}{
		{
			"none", func(*policy.Policy) {},
			[]string{"x/p0", "x/p1", "y/p2", "y/p3", "x/p4", "x/p5", "y/p6", "y/p7"},
			framework.LimitError{},
			"",
		},
		{
			"total", func(p *policy.Policy) { p.Limits.Total = &two },
			[]string{"x/p0", "x/p1"},
			framework.LimitError{Scope: framework.ScopeTotal, Span: framework.PerCycle, Max: 2},
			"limit of 2 evictions in a cycle reached for total",
		},
		{
			"node", func(p *policy.Policy) { p.Limits.PerNode = &two },
			[]string{"x/p0", "x/p1", "x/p4", "x/p5"},
			framework.LimitError{Scope: framework.ScopeNode, Span: framework.PerCycle, Name: "b", Max: 2},
			"limit of 2 evictions in a cycle reached for node b",
		},
		{
			"namespace", func(p *policy.Policy) { p.Limits.PerNamespace = &two },
			[]string{"x/p0", "x/p1", "y/p2", "y/p3"},
			framework.LimitError{Scope: framework.ScopeNamespace, Span: framework.PerCycle, Name: "y", Max: 2},
			"limit of 2 evictions in a cycle reached for namespace y",
		},
		{
			"workload", func(p *policy.Policy) { p.Limits.PerWorkload = &one },
			[]string{"x/p0", "x/p1", "y/p2", "y/p3"},
			framework.LimitError{Scope: framework.ScopeWorkload, Span: framework.PerCycle, Name: "y/ReplicaSet/t", Max: 1},
			"limit of 1 eviction in a cycle reached for workload y/ReplicaSet/t",
		},
		{
			"plugin", func(p *policy.Policy) { p.Profiles[0].Limit = map[string]int{"All": 3} },
			[]string{"x/p0", "x/p1", "y/p2"},
			framework.LimitError{Scope: framework.ScopePlugin, Span: framework.PerCycle, Name: "All", Max: 3},
			"limit of 3 evictions in a cycle reached for plugin All",
		},
		{
			"total in flight", func(p *policy.Policy) { p.Limits.InFlight.Total = &two },
			[]string{"x/p0", "x/p1"},
			framework.LimitError{Scope: framework.ScopeTotal, Span: framework.InFlight, Max: 2},
			"limit of 2 evictions in flight reached for total",
		},
		{
			"node in flight", func(p *policy.Policy) { p.Limits.InFlight.PerNode = &one },
			[]string{"x/p0", "x/p4"},
			framework.LimitError{Scope: framework.ScopeNode, Span: framework.InFlight, Name: "b", Max: 1},
			"limit of 1 eviction in flight reached for node b",
		},
		{
			"namespace in flight", func(p *policy.Policy) { p.Limits.InFlight.PerNamespace = &one },
			[]string{"x/p0", "y/p2"},
			framework.LimitError{Scope: framework.ScopeNamespace, Span: framework.InFlight, Name: "y", Max: 1},
			"limit of 1 eviction in flight reached for namespace y",
		},
		{
			"workload in flight", func(p *policy.Policy) { p.Limits.InFlight.PerWorkload = &one },
			[]string{"x/p0", "x/p1", "y/p2", "y/p3"},
			framework.LimitError{Scope: framework.ScopeWorkload, Span: framework.InFlight, Name: "y/ReplicaSet/t", Max: 1},
			"limit of 1 eviction in flight reached for workload y/ReplicaSet/t",
		},
		{
			"rate", func(p *policy.Policy) { p.Limits.WorkloadRate = policy.Rate{Max: 1, Window: time.Minute} },
			[]string{"x/p0", "x/p1", "y/p2", "y/p3"},
			framework.LimitError{Scope: framework.ScopeWorkload, Span: framework.Window, Name: "y/ReplicaSet/t", Max: 1},
			"limit of 1 eviction in its time reached for workload y/ReplicaSet/t",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, pods...)
			c.set(w.policy)
			assert.DeepEqual(t, w.cycle(), c.want)
			full := w.plugin("All").handle.Evictor().Full(pods[len(pods)-1])
			if c.text == "" {
				assert.Assert(t, full == nil)
				return
			}
			assert.DeepEqual(t, *full, c.limit)
			assert.Error(t, full, c.text)
		})
	}
}

// TestLimitsOfPlugins: each plugin of each profile has a count of its own.
func TestLimitsOfPlugins(t *testing.T) {
	w := newWorld(t, podsOf(9, "a", "web")...)
	w.plugins = append(w.plugins, &scripted{name: "Other", deschedule: evictAll})
	two := profileOf("q", framework.Deschedule, "All")
	two.Plugins[framework.Deschedule] = []string{"All", "Other"}
	w.policy.Profiles = append(w.policy.Profiles, two)
	w.policy.Profiles[0].Limit = map[string]int{"All": 1}
	w.policy.Profiles[1].Limit = map[string]int{"All": 2, "Other": 3}
	report, err := w.build().Cycle(t.Context())
	assert.NilError(t, err)
	count := map[string]int{}
	for _, e := range report.Evictions {
		count[e.Profile+"/"+e.Plugin]++
	}
	assert.DeepEqual(t, count, map[string]int{"p/All": 1, "q/All": 2, "q/Other": 3})
}

// TestLimitsStartAnew is D-CYC-3: counts of a cycle begin with it, those in flight end
// with their pods.
func TestLimitsStartAnew(t *testing.T) {
	one := 1
	w := newWorld(t, podsOf(3, "a", "web")...)
	w.policy.Limits.Total = &one
	assert.DeepEqual(t, w.cycle(), []string{"team/web-a-0"})
	assert.DeepEqual(t, w.cycle(), []string{"team/web-a-1"}) // the first is in flight

	w = newWorld(t, podsOf(3, "a", "web")...)
	w.policy.Limits.InFlight.Total = &one
	assert.DeepEqual(t, w.cycle(), []string{"team/web-a-0"})
	assert.Equal(t, len(w.cycle()), 0)
	w.remove("team/web-a-0")
	assert.DeepEqual(t, w.cycle(), []string{"team/web-a-1"})
	// A pod that does not terminate is not in flight for ever.
	w.clock.Step(10 * time.Minute)
	assert.DeepEqual(t, w.cycle(), []string{"team/web-a-1"})
}

// TestInFlightAfterRestart: pods that the API server is ending after an eviction count,
// whatever process asked for it.
func TestInFlightAfterRestart(t *testing.T) {
	one := 1
	ending := newPod("team", "ending", "b", "web", func(p *v1.Pod) {
		p.DeletionTimestamp = &metav1.Time{Time: start}
		p.Status.Conditions = append(p.Status.Conditions, v1.PodCondition{
			Type: v1.DisruptionTarget, Status: v1.ConditionTrue, Reason: evictedByAPI,
		})
	})
	w := newWorld(t, newPod("team", "p", "a", "web"), ending)
	w.policy.Limits.InFlight.PerWorkload = &one
	assert.Equal(t, len(w.cycle()), 0)
	w.remove("team/ending")
	assert.DeepEqual(t, w.cycle(), []string{"team/p"})
}

func TestRateOfAWorkloadSlides(t *testing.T) {
	w := newWorld(t, podsOf(5, "a", "web")...)
	w.policy.Limits.WorkloadRate = policy.Rate{Max: 2, Window: time.Minute}
	assert.Equal(t, len(w.cycle()), 2)
	w.clock.Step(time.Minute - 1)
	assert.Equal(t, len(w.cycle()), 0)
	w.clock.Step(1)
	assert.Equal(t, len(w.cycle()), 2)
	w.clock.Step(2 * time.Minute)
	w.pods = nil
	w.cycle()
	assert.Equal(t, len(w.d.limits.rate), 0) // nothing is kept for workloads that are over
}

// TestControllersHaveAWindow: limits of a cycle hold for controllers in any window.
func TestControllersHaveAWindow(t *testing.T) {
	for given, window := range map[time.Duration]time.Duration{time.Minute: time.Minute, 0: 5 * time.Minute} {
		two := 2
		w := newWorld(t, podsOf(6, "a", "web")...)
		w.options.ControllerWindow = given
		w.policy.Limits.Total = &two
		w.policy.Profiles = []policy.Profile{profileOf("p", framework.Controller, "All")}
		w.build()
		h := w.plugin("All").handle
		turn := func() int {
			before := len(w.evicted)
			assert.NilError(t, evictAll(t.Context(), h, w.nodes))
			return len(w.evicted) - before
		}
		assert.Equal(t, turn(), 2)
		w.cycle() // a cycle does not begin the window anew
		assert.Equal(t, turn(), 0)
		w.clock.Step(window - 1)
		assert.Assert(t, h.Evictor().Full(w.pods[5]) != nil)
		w.clock.Step(1)
		assert.Assert(t, h.Evictor().Full(w.pods[5]) == nil)
		assert.Equal(t, turn(), 2)
	}
}

// TestFailedEvictionCountsNothing: what did not happen leaves room for others.
func TestFailedEvictionCountsNothing(t *testing.T) {
	one := 1
	for name, fail := range map[string]func() error{
		"error": func() error { return errors.New("the API server is away") },
		"gone":  func() error { return fmt.Errorf("not found: %w", framework.ErrGone) },
		"panic": func() error { panic("a fault of the evict plugin") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, podsOf(3, "a", "web")...)
			w.policy.Limits = policy.Limits{
				Total: &one, PerNode: &one, InFlight: policy.InFlight{Total: &one}, WorkloadRate: policy.Rate{Max: 1, Window: time.Hour},
			}
			evict := w.plugin("Evict").evict
			w.plugin("Evict").evict = func(ctx context.Context, pod *v1.Pod, o framework.EvictOptions) error {
				if pod.Name == "web-a-0" {
					return fail()
				}
				return evict(ctx, pod, o)
			}
			_, err := w.build().Cycle(t.Context())
			assert.NilError(t, err) // also a panic keeps one pod and not its plugin
			assert.DeepEqual(t, w.evicted, []string{"team/web-a-1"})
		})
	}
}

// TestFailedEvictionOfAController: what did not happen leaves room in the window too.
func TestFailedEvictionOfAController(t *testing.T) {
	one := 1
	w := newWorld(t, podsOf(3, "a", "web")...)
	w.options.ControllerWindow = time.Minute
	w.policy.Limits.Total = &one
	w.policy.Profiles = []policy.Profile{profileOf("p", framework.Controller, "All")}
	evict, failed := w.plugin("Evict").evict, false
	w.plugin("Evict").evict = func(ctx context.Context, pod *v1.Pod, o framework.EvictOptions) error {
		if !failed {
			failed = true
			return errors.New("the API server is away")
		}
		return evict(ctx, pod, o)
	}
	w.build()
	assert.NilError(t, evictAll(t.Context(), w.plugin("All").handle, w.nodes))
	assert.DeepEqual(t, w.evicted, []string{"team/web-a-1"})
}

// TestCoolDown: a workload whose replacements come
// back to the same node is evicted from there less and less often.
func TestCoolDown(t *testing.T) {
	w := newWorld(t, newPod("team", "web-0", "a", "web"))
	w.policy.Limits.CoolDown = policy.CoolDown{Initial: time.Minute, Max: 4 * time.Minute}
	var at []string
	for step := range 60 { // half a minute each
		if evicted := w.cycle(); len(evicted) > 0 {
			at = append(at, fmt.Sprint(w.clock.Since(start)))
			w.pods = []*v1.Pod{newPod("team", fmt.Sprint("web-", step+1), "a", "web", createdAt(w.clock.Now()))}
		}
		w.clock.Step(30 * time.Second)
	}
	assert.DeepEqual(t, at, []string{"0s", "1m30s", "4m0s", "8m30s", "13m0s", "17m30s", "22m0s", "26m30s"})
	assert.Assert(t, strings.Contains(w.d.Why("team", w.pods[0].Name).String(), "so team/ReplicaSet/web is not evicted from there for 4m0s"),
		w.d.Why("team", w.pods[0].Name).String())
}

// TestCoolDownOnlyWhereItCameBack: other nodes, other workloads, and pods that were there
// before or came late are no reason.
func TestCoolDownOnlyWhereItCameBack(t *testing.T) {
	for _, c := range []struct {
		name string
		next *v1.Pod
		want int // evictions of the second cycle
	}{
		{"back", newPod("team", "next", "a", "web", createdAt(start.Add(30*time.Second))), 0},
		{"another node", newPod("team", "next", "b", "web", createdAt(start.Add(30*time.Second))), 2},
		{"another workload", newPod("team", "next", "a", "db", createdAt(start.Add(30*time.Second))), 2},
		{"late", newPod("team", "next", "a", "web", createdAt(start.Add(time.Minute))), 2},
		{"old", newPod("team", "next", "a", "web", createdAt(start.Add(-time.Second))), 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, newPod("team", "first", "a", "web"), newPod("team", "mate", "a", "web", createdAt(start)))
			w.policy.Limits.CoolDown = policy.CoolDown{Initial: time.Minute, Max: time.Hour}
			w.plugin("All").filter = func(pod *v1.Pod) error {
				if w.clock.Now().Equal(start) && pod.Name == "mate" {
					return errors.New("not yet")
				}
				return nil
			}
			w.policy.Profiles[0].Plugins[framework.Filter] = []string{"All"}
			assert.DeepEqual(t, w.cycle(), []string{"team/first"})
			w.remove("team/first")
			w.pods = append(w.pods, c.next)
			w.clock.Step(time.Minute)
			assert.Equal(t, len(w.cycle()), c.want)
		})
	}
}

// TestNoPluginMovesAPodToAndFro: what balances nodes brings no pod of a workload to a node from which one
// was moved, as long as the longest cool-down. Others may, and so may what runs for another reason.
func TestNoPluginMovesAPodToAndFro(t *testing.T) {
	for _, c := range []struct {
		name          string
		first, second framework.Point
		after         time.Duration
		workload      string
		want          string // node
	}{
		{"moved, and moved again", framework.Balance, framework.Balance, time.Minute, "web", "c"},
		{"much later", framework.Balance, framework.Balance, time.Hour, "web", "a"},
		{"another workload", framework.Balance, framework.Balance, time.Minute, "db", "a"},
		{"made anew, and moved", framework.Deschedule, framework.Balance, time.Minute, "web", "a"},
		{"moved, and made anew", framework.Balance, framework.Deschedule, time.Minute, "web", "a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, newPod("team", "first", "a", "web"))
			w.policy.Limits.CoolDown = policy.CoolDown{Initial: time.Minute, Max: time.Hour}
			w.plugins = append(w.plugins, &scripted{name: "Other", deschedule: evictAll, balance: evictAll})
			w.policy.Profiles = []policy.Profile{profileOf("p", c.first, "All"), profileOf("q", c.second, "Other")}
			w.plugin("Other").filter = func(pod *v1.Pod) error {
				if pod.Name == "first" {
					return errors.New("not this one")
				}
				return nil
			}
			w.plugin("All").filter = func(pod *v1.Pod) error {
				if pod.Name != "first" {
					return errors.New("not this one")
				}
				return nil
			}
			for i, plugin := range []string{"All", "Other"} {
				w.policy.Profiles[i].Plugins[framework.Filter] = []string{plugin}
			}
			w.withRooms(5)
			assert.DeepEqual(t, w.cycle(), []string{"team/first"})
			w.clock.Step(c.after)
			w.pods = []*v1.Pod{newPod("team", "next", "b", c.workload, createdAt(start.Add(time.Second)))}
			report, err := w.d.Cycle(t.Context())
			assert.NilError(t, err)
			assert.Equal(t, len(report.Evictions), 1)
			assert.Equal(t, report.Evictions[0].To, c.want)
		})
	}
}

// TestCoolDownForgets: what is remembered is bounded by what happened lately.
func TestCoolDownForgets(t *testing.T) {
	w := newWorld(t)
	w.policy.Limits.CoolDown = policy.CoolDown{Initial: time.Minute, Max: time.Hour}
	for i := range 300 {
		w.pods = slices.Concat(w.pods, podsOf(1, "a", fmt.Sprint("w", i)))
	}
	w.cycle()
	assert.Equal(t, len(w.d.limits.coolDown.watched), 300)
	for i, p := range w.pods {
		w.pods[i] = newPod("team", p.Name+"-next", "a", fmt.Sprint("w", i), createdAt(start))
	}
	w.cycle()
	assert.Equal(t, len(w.d.limits.coolDown.cooling), 300)
	w.pods = nil
	w.clock.Step(2 * time.Hour)
	w.cycle()
	assert.Equal(t, len(w.d.limits.coolDown.watched)+len(w.d.limits.coolDown.cooling)+len(w.d.limits.flight.entries), 0)
	assert.Equal(t, len(w.d.limits.flight.counts.counts), 0)
}
