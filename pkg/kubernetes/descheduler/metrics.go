package descheduler

import (
	"errors"
	"runtime/debug"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/framework"
)

// Results of evictions in metrics. Limits of a cycle have the texts of the descheduler of
// Kubernetes, so that its dashboards can be used.
const (
	resultSuccess    = "success"
	resultBackground = "background"
	resultError      = "error"
	resultNode       = "maximum number of evicted pods per node reached"
	resultNamespace  = "maximum number of evicted pods per namespace reached"
	resultTotal      = "maximum number of evicted pods per a descheduling cycle reached"
)

// Metrics count what a descheduler does, under the names of the descheduler of
// Kubernetes.
type Metrics struct {
	evicted      *prometheus.CounterVec
	evictedOld   *prometheus.CounterVec
	loop         prometheus.Histogram
	strategy     *prometheus.HistogramVec
	failures     *prometheus.CounterVec
	restarts     *prometheus.CounterVec
	inFlight     prometheus.Gauge
	refused      *prometheus.CounterVec
	skippedCount prometheus.Counter
	overdue      *prometheus.GaugeVec
	drains       drainCollector
}

// NewMetrics makes the metrics, and registers them where a registerer is given. Names that
// are taken there are a fault of the program, and panic.
func NewMetrics(registerer prometheus.Registerer) *Metrics {
	const prefix = "descheduler"
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: prefix, Name: name, Help: help}, labels)
	}
	seconds := []float64{0.01, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1200}
	m := &Metrics{
		evicted: counter("pods_evicted_total", "Pods whose eviction was asked for, by result.",
			"result", "strategy", "profile", "namespace", "node"),
		evictedOld: counter("pods_evicted", "The same as pods_evicted_total. Deprecated.",
			"result", "strategy", "profile", "namespace", "node"),
		loop: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: prefix, Name: "loop_duration_seconds", Help: "Duration of a cycle.", Buckets: seconds,
		}),
		strategy: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: prefix, Name: "strategy_duration_seconds", Help: "Duration of one run of a plugin.", Buckets: seconds,
		}, []string{"strategy", "profile"}),
		failures: counter("strategy_failures_total", "Runs of plugins that failed or panicked.", "strategy", "profile"),
		restarts: counter("controller_restarts_total", "Controllers that failed and were started again.", "strategy", "profile"),
		refused: counter("pods_refused_total", "Pods that were not evicted although a plugin asked, by what refused.",
			"by", "strategy", "profile"),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: prefix, Name: "evictions_in_flight", Help: "Evictions whose pod has not ended.",
		}),
		overdue: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: prefix, Name: "strategy_overdue_seconds", Help: "How long a plugin has not answered, of those that take too long.",
		}, []string{"strategy", "profile"}),
		skippedCount: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: prefix, Name: "cycles_skipped_total", Help: "Cycles in which no plugin ran.",
		}),
	}
	if registerer != nil {
		registerer.MustRegister(buildInfo(prefix), m.evicted, m.evictedOld, m.loop, m.strategy, m.failures, m.restarts, m.refused, m.inFlight, m.skippedCount, m.overdue, &m.drains)
	}
	return m
}

// buildInfo is a metric that is always one, with the version of the program as labels.
func buildInfo(prefix string) prometheus.Collector {
	labels := prometheus.Labels{"version": "", "revision": "", "goversion": ""}
	if info, ok := debug.ReadBuildInfo(); ok {
		labels["version"], labels["goversion"] = info.Main.Version, info.GoVersion
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				labels["revision"] = s.Value
			}
		}
	}
	g := prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: prefix, Name: "build_info", Help: "The version of the program.", ConstLabels: labels,
	})
	g.Set(1)
	return g
}

// text is a value of a label that a plugin gave: one that is no text would panic.
func text(of string) string { return strings.ToValidUTF8(of, "?") }

// asked counts an eviction that a plugin asked for.
func (m *Metrics) asked(r request, result string) {
	labels := []string{text(result), r.plugin, r.profile, r.pod.Namespace, r.pod.Spec.NodeName}
	m.evicted.WithLabelValues(labels...).Inc()
	m.evictedOld.WithLabelValues(labels...).Inc()
}

// kept counts an eviction that did not happen.
func (m *Metrics) kept(r request, err error) {
	var limit *framework.LimitError
	var refused *framework.RefusedError
	switch {
	case errors.As(err, &limit):
		m.asked(r, limitResult(limit))
	case errors.As(err, &refused):
		m.refused.WithLabelValues(text(refused.By), r.plugin, r.profile).Inc()
		if refused.Err != nil {
			m.asked(r, resultError) // the API server was asked
		}
	default:
		m.asked(r, resultError)
	}
}

// limitResult names a limit without the node or namespace, of which there are many.
func limitResult(limit *framework.LimitError) string {
	if limit.Span == framework.PerCycle {
		switch limit.Scope {
		case framework.ScopeNode:
			return resultNode
		case framework.ScopeNamespace:
			return resultNamespace
		case framework.ScopeTotal:
			return resultTotal
		}
	}
	return "limit of the " + string(limit.Scope) + " reached (" + string(limit.Span) + ")"
}
