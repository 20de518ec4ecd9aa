package descheduler

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
	"go.opentelemetry.io/otel/trace/noop"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

// texts reads all events that were written.
func texts(r *events.FakeRecorder) (list []string) {
	for len(r.Events) > 0 {
		list = append(list, <-r.Events)
	}
	return list
}

// TestEvents is D-EV-2, and what an event says.
func TestEvents(t *testing.T) {
	two := 2
	recorder := events.NewFakeRecorder(10)
	w := newWorld(t, podsOf(4, "a", "web")...)
	w.options.Recorder = recorder
	w.policy.Limits.Total = &two
	w.plugin("All").deschedule = func(ctx context.Context, h framework.Handle, _ []*v1.Node) error {
		for i, p := range w.pods {
			reason := ""
			if i == 0 {
				reason = strings.Repeat("é", 10*reasonMax)
			}
			if i == 2 {
				reason = "its node is full"
			}
			for range 2 { // a warning is written once
				_ = h.Evictor().EvictPod(ctx, p, framework.EvictOptions{Reason: reason})
			}
		}
		return nil
	}
	w.cycle()
	assert.DeepEqual(t, texts(recorder), []string{
		"Normal " + strings.Repeat("é", 64) + " evicted from node a by the descheduler",
		"Normal All evicted from node a by the descheduler",
	})
	w.policy.FailureEvents = true
	w.cycle()
	assert.DeepEqual(t, texts(recorder), []string{
		"Normal All evicted from node a by the descheduler: its node is full",
		"Normal All evicted from node a by the descheduler",
	})
	w.policy.Limits.Total = nil
	refusing := &framework.RefusedError{By: "disruption budget", Reason: "none left", Err: errors.New("429")}
	w.pods = podsOf(3, "b", "web")
	w.plugin("Evict").evict = func(_ context.Context, pod *v1.Pod, _ framework.EvictOptions) error {
		switch pod.Name {
		case "web-b-0":
			return refusing
		case "web-b-1":
			return errors.New("500")
		}
		return &framework.RefusedError{By: "somewhere", Reason: "before the API server"}
	}
	w.cycle()
	assert.DeepEqual(t, texts(recorder), []string{
		"Warning EvictionFailed not evicted from node b: disruption budget: none left",
		"Warning EvictionFailed not evicted from node b: 500",
	})
	w.options.DryRun, w.d = true, nil
	w.cycle()
	assert.Equal(t, len(recorder.Events), 0)
}

// discard takes events and counts them.
type discard struct {
	events.EventRecorder
	n int
}

func (d *discard) Eventf(_, _ runtime.Object, _, _, _, _ string, _ ...any) { d.n++ }

// TestWarningsAreBounded is at ten times the bound.
func TestWarningsAreBounded(t *testing.T) {
	zero := 0
	w := newWorld(t, podsOf(5000, "a", "web")...)
	recorder := &discard{}
	w.options.Recorder = recorder
	core, log := observer.New(zap.WarnLevel)
	w.options.Log = zap.New(core)
	w.policy.FailureEvents = true
	w.policy.Limits.PerNode = &zero
	for cycle := range 2 {
		w.cycle()
		assert.Equal(t, recorder.n, (cycle+1)*500)
		assert.Equal(t, log.Len(), cycle+1, "that there were more is told once")
	}
}

// counts reads the counters of a registry as name{labels} value.
func counts(t *testing.T, r *prometheus.Registry) map[string]float64 {
	families, err := r.Gather()
	assert.NilError(t, err)
	found := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			value := m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			found[fmt.Sprintf("%s{%s}", f.GetName(), strings.Join(labels, ","))] = value
		}
	}
	return found
}

// TestMetrics: names and labels are upstream's, and so are the texts of D-EV-1.
func TestMetrics(t *testing.T) {
	one, two := 1, 2
	r := prometheus.NewRegistry()
	w := newWorld(t, append(append(podsOf(4, "a", "web"), podsOf(2, "b", "web")...), podsOf(2, "c", "gone")...)...)
	w.options.Metrics = NewMetrics(r)
	w.policy.Limits.PerNode = &two
	w.plugin("Evict").evict = func(_ context.Context, pod *v1.Pod, _ framework.EvictOptions) error {
		switch pod.Name {
		case "web-b-0":
			return &framework.RefusedError{By: "disruption budget", Reason: "none left", Err: errors.New("429")}
		case "gone-c-0":
			return framework.ErrGone
		}
		return nil
	}
	w.cycle()
	_, err := w.d.Cycle(t.Context())
	assert.NilError(t, err)
	w.policy.Limits.InFlight.Total = &one
	w.d.limits.set(w.policy)
	w.cycle()
	got := counts(t, r)
	of := func(result, namespace, node string) string {
		return fmt.Sprintf("descheduler_pods_evicted_total{namespace=%s,node=%s,profile=p,result=%s,strategy=All}", namespace, node, result)
	}
	for name, want := range map[string]float64{
		of("success", "team", "a"): 4,
		of("maximum number of evicted pods per node reached", "team", "a"): 2,
		of("success", "team", "b"):                                                                  1,
		of("error", "team", "b"):                                                                    2,
		of("success", "team", "c"):                                                                  1,
		of("limit of the total reached (in flight)", "team", "b"):                                   1,
		"descheduler_loop_duration_seconds{}":                                                       3,
		"descheduler_strategy_duration_seconds{profile=p,strategy=All}":                             3,
		"descheduler_evictions_in_flight{}":                                                         6,
		"descheduler_pods_refused_total{by=disruption budget,profile=p,strategy=All}":               2,
		"descheduler_pods_evicted{namespace=team,node=a,profile=p,result=success,strategy=All}":     4,
		"descheduler_pods_evicted_total{namespace=team,node=c,profile=p,result=error,strategy=All}": 0,
		"descheduler_strategy_failures_total{profile=p,strategy=All}":                               0,
		"descheduler_cycles_skipped_total{}":                                                        0,
	} {
		assert.Equal(t, got[name], want, name)
	}
	found := 0
	for name, value := range got {
		if strings.HasPrefix(name, "descheduler_build_info{goversion=go") {
			found += int(value)
		}
	}
	assert.Equal(t, found, 1)
	assert.Equal(t, limitResult(&framework.LimitError{Scope: framework.ScopeNamespace, Span: framework.PerCycle}), "maximum number of evicted pods per namespace reached")
	assert.Equal(t, limitResult(&framework.LimitError{Scope: framework.ScopeTotal, Span: framework.PerCycle}), "maximum number of evicted pods per a descheduling cycle reached")
}

// spans is a tracer provider that remembers the spans, as parent/name with a mark for
// errors.
type spans struct {
	embedded.TracerProvider
	ended []string
}

// spanner makes the spans.
type spanner struct {
	embedded.Tracer
	to *spans
}

type spanName struct{}

func (s *spans) Tracer(string, ...trace.TracerOption) trace.Tracer { return spanner{to: s} }

func (s spanner) Start(ctx context.Context, name string, o ...trace.SpanStartOption) (context.Context, trace.Span) {
	parent, _ := ctx.Value(spanName{}).(string)
	config := trace.NewSpanStartConfig(o...)
	for _, a := range config.Attributes() {
		name += fmt.Sprintf(" %s=%s", a.Key, a.Value.String())
	}
	name = parent + "/" + name
	return context.WithValue(ctx, spanName{}, name), &oneSpan{to: s.to, name: name}
}

type oneSpan struct {
	noop.Span
	to   *spans
	name string
}

func (o *oneSpan) SetStatus(code codes.Code, text string) {
	if code == codes.Error {
		o.name += " ERROR " + text
	}
}
func (o *oneSpan) RecordError(error, ...trace.EventOption) {}
func (o *oneSpan) SetAttributes(kv ...attribute.KeyValue)  {}
func (o *oneSpan) End(...trace.SpanEndOption)              { o.to.ended = append(o.to.ended, o.name) }

func TestSpans(t *testing.T) {
	s := &spans{}
	w := newWorld(t, podsOf(1, "a", "web")...)
	w.options.Tracing = s
	w.plugin("Evict").evict = func(context.Context, *v1.Pod, framework.EvictOptions) error { return errors.New("away") }
	assert.NilError(t, w.build().Run(t.Context()))
	const profile = "/Run/Cycle/Profile profile=p point=deschedule"
	const plugin = profile + "/Plugin profile=p plugin=All"
	assert.DeepEqual(t, s.ended, []string{
		plugin + "/EvictPod profile=p plugin=All namespace=team pod=web-a-0 node=a ERROR away",
		plugin, profile, "/Run/Cycle", "/Run",
	})
}

// TestTenTimesTheEvictionsThatAreRemembered: the last ones are, and the list stays short.
func TestTenTimesTheEvictionsThatAreRemembered(t *testing.T) {
	d := newDecisions(10)
	for i := range 10_000 {
		d.evicted(Eviction{Pod: fmt.Sprintf("a/p%d", i)})
		assert.Assert(t, len(d.evictions) < 2000)
	}
	assert.Equal(t, len(d.why("a", fmt.Sprintf("p%d", 9000)).Evictions), 1)
	assert.Equal(t, len(d.why("a", fmt.Sprintf("p%d", 9000-1)).Evictions), 0)
	assert.Equal(t, len(d.why("a", fmt.Sprintf("p%d", 10_000-1)).Evictions), 1)
}
