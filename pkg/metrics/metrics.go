package metrics

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"

	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// scrapesMax is the most scrapes at the same time; more are answered with 503.
// It bounds the memory that scrapes take.
const scrapesMax = 4

// Metrics is everything a scrape of one process returns: what Count and Observe
// counted, what the watched views say, and how the process does. Several may
// live in one process; they share nothing. All methods may be called from any
// goroutine.
type Metrics struct {
	registry  *prometheus.Registry
	counters  *counterSet
	panics    *prometheus.CounterVec
	latencies *latencies
	source    atomic.Pointer[source] // nil while nothing is watched
}

var _ prometheus.Gatherer = (*Metrics)(nil)

// New makes metrics that watch nothing yet.
func New() *Metrics {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		collectors.NewBuildInfoCollector(),
	)
	return &Metrics{registry: registry, counters: newCounterSet(registry), panics: newPanics(registry), latencies: newLatencies(registry)}
}

// Register has a scrape return what another part of the program counts, too. It panics with names that there are already.
func (m *Metrics) Register(collector prometheus.Collector) { m.registry.MustRegister(collector) }

// Watch has views asked for at every scrape from now on, in place of those
// watched before. Kinds is the table of the resource kinds in them.
func (m *Metrics) Watch(views Views, kinds *resources.Kinds) {
	m.source.Store(&source{views: views, kinds: kinds})
}

// Gather implements prometheus.Gatherer: all there is now, sorted by name. It
// asks for views, and waits four seconds at most for all of them. What it returns
// must not be changed: series share labels.
// With an error, it returns what could be gathered.
func (m *Metrics) Gather() ([]*dto.MetricFamily, error) {
	families, err := m.registry.Gather()
	if s := m.source.Load(); s != nil {
		families = append(families, s.read().families()...)
		slices.SortFunc(families, func(a, b *dto.MetricFamily) int { return strings.Compare(a.GetName(), b.GetName()) })
	}
	return families, err
}

// Handler answers scrapes. It compresses the answer if the client takes that,
// so it must not be mounted behind anything that compresses: an answer that is
// compressed twice cannot be read. A scrape in which something could not be
// gathered is answered with the rest.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m, promhttp.HandlerOpts{
		ErrorHandling:       promhttp.ContinueOnError,
		MaxRequestsInFlight: scrapesMax,
	})
}
