package descheduler

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/policy"
)

// TestFailuresAreCounted: runs of plugins that fail, controllers that are started again, and cycles
// that are skipped.
func TestFailuresAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := prometheus.NewRegistry()
		w, _ := live(t)
		w.options.Metrics = NewMetrics(r)
		w.options.Interval = 10 * time.Second
		w.policy.Profiles[0].Plugins[framework.Controller] = []string{"All"}
		w.plugin("All").deschedule = func(context.Context, framework.Handle, []*v1.Node) error { return errors.New("no luck") }
		starts := 0
		w.plugin("All").run = func(ctx context.Context, _ framework.Handle) error {
			if starts++; starts <= 2 {
				return errors.New("no luck")
			}
			<-ctx.Done()
			return nil
		}
		stop := w.run()
		time.Sleep(25 * time.Second)
		synctest.Wait()
		assert.NilError(t, stop())
		w.nodes = w.nodes[:1]
		_, err := w.d.Cycle(t.Context())
		assert.NilError(t, err)
		got := counts(t, r)
		assert.Equal(t, got["descheduler_strategy_failures_total{profile=p,strategy=All}"], 3.0)
		assert.Equal(t, got["descheduler_controller_restarts_total{profile=p,strategy=All}"], 2.0)
		assert.Equal(t, got["descheduler_cycles_skipped_total{}"], 1.0)
	})
}

// TestPluginsAreBuiltOnce is D-FW-1: once for each profile, whatever the number of points.
func TestPluginsAreBuiltOnce(t *testing.T) {
	w := newWorld(t)
	built := map[string]int{}
	registry := &framework.Registry{}
	for _, p := range w.plugins {
		assert.NilError(t, registry.Register(framework.Definition{
			Name: p.name, Points: framework.Points(),
			New: func(_ context.Context, _ any, h framework.Handle) (framework.Plugin, error) {
				built[h.ProfileName()+"/"+p.name]++
				return instance{p, h}, nil
			},
		}))
	}
	second := profileOf("q", framework.Balance, "All")
	for _, point := range []framework.Point{framework.Deschedule, framework.Filter, framework.PreEvictionFilter, framework.Controller} {
		second.Plugins[point] = []string{"All"}
	}
	w.policy.Profiles = append(w.policy.Profiles, second)
	_, err := New(t.Context(), w.policy, registry, w.options)
	assert.NilError(t, err)
	assert.DeepEqual(t, built, map[string]int{"p/All": 1, "p/Evict": 1, "q/All": 1, "q/Evict": 1})
}

// TestTheWidestLimitIsTold: where several limits are reached, the error is the one after which a
// plugin stops furthest.
func TestTheWidestLimitIsTold(t *testing.T) {
	zero := 0
	narrower := []struct {
		scope framework.Scope
		set   func(*policy.Policy)
	}{
		{framework.ScopeWorkload, func(p *policy.Policy) { p.Limits.PerWorkload = &zero }},
		{framework.ScopeNamespace, func(p *policy.Policy) { p.Limits.PerNamespace = &zero }},
		{framework.ScopeNode, func(p *policy.Policy) { p.Limits.PerNode = &zero }},
		{framework.ScopePlugin, func(p *policy.Policy) { p.Profiles[0].Limit = map[string]int{"All": 0} }},
		{framework.ScopeTotal, func(p *policy.Policy) { p.Limits.Total = &zero }},
	}
	w := newWorld(t, podsOf(1, "a", "web")...)
	w.build()
	for _, c := range narrower {
		c.set(w.policy) // besides those before
		w.d.limits.set(w.policy)
		full := w.plugin("All").handle.Evictor().Full(w.pods[0])
		assert.Assert(t, full != nil, c.scope)
		assert.Equal(t, full.Scope, c.scope)
	}
}

// TestLimitsCountTheRealPlugin: a plugin that gives another name does not escape its limit.
func TestLimitsCountTheRealPlugin(t *testing.T) {
	w := newWorld(t, podsOf(3, "a", "web")...)
	w.policy.Profiles[0].Limit = map[string]int{"All": 1}
	w.plugin("All").deschedule = func(ctx context.Context, h framework.Handle, _ []*v1.Node) error {
		for _, p := range h.Snapshot().Pods() {
			_ = h.Evictor().EvictPod(ctx, p, framework.EvictOptions{PluginName: "Other"})
		}
		return nil
	}
	assert.DeepEqual(t, w.cycle(), []string{"team/web-a-0"})
}
